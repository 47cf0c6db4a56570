package tuitest

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"example.com/perks/tui/screen"
)

// Memory remembers in memory.
type Memory struct {
	mu     sync.Mutex
	recent map[string][]string
	drafts map[string]map[string]string
}

// Recent returns the ids of a kind, the latest first.
func (m *Memory) Recent(_ screen.Profile, kind string) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.recent[kind])
}

// Remember puts an id first.
func (m *Memory) Remember(_ screen.Profile, kind, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.recent == nil {
		m.recent = map[string][]string{}
	}
	ids := slices.DeleteFunc(slices.Clone(m.recent[kind]), func(other string) bool { return other == id })
	m.recent[kind] = append([]string{id}, ids...)
	return nil
}

// Draft returns what was kept.
func (m *Memory) Draft(_ screen.Profile, name string) map[string]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.drafts[name])
}

// KeepDraft keeps values, or drops them.
func (m *Memory) KeepDraft(_ screen.Profile, name string, values map[string]string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.drafts == nil {
		m.drafts = map[string]map[string]string{}
	}
	if m.drafts[name] = maps.Clone(values); values == nil {
		delete(m.drafts, name)
	}
	return nil
}

// Desktop notes what would have left the terminal.
type Desktop struct {
	mu     sync.Mutex
	copied string
	opened string
}

// Copy notes the text.
func (d *Desktop) Copy(text string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.copied = text
	return nil
}

// Open notes the address.
func (d *Desktop) Open(address string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.opened = address
	return nil
}

// Copied returns what was copied last.
func (d *Desktop) Copied() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.copied
}

// Opened returns the address that was opened last.
func (d *Desktop) Opened() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.opened
}

// ids makes idempotency keys that are the same in every run.
func ids() func() string {
	n := 0
	return func() string {
		n++
		return fmt.Sprintf("key-%d", n)
	}
}
