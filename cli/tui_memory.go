package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"example.com/perks/cli/command"
	"example.com/perks/cli/session"
	"example.com/perks/tui/screen"
)

// How much is saved. What has not been used for longest is dropped first.
const (
	maxRecent = 20      // ids of a kind at a service
	maxLists  = 60      // lists of recent ids
	maxDrafts = 30      // of all services
	maxDraft  = 1 << 18 // bytes of one draft, or of what can be undone of a record
	maxUndos  = 30      // records of all services whose last edit can be undone

	maxSettings = 100
)

// memory implements screen.Memory with files beside the configuration.
type memory struct {
	recent   listFile[recent]
	drafts   listFile[draft]
	undos    listFile[draft]
	settings listFile[kept]

	owner     sync.Mutex // guards the next two
	ownerName string     // of this process; "" before it has a draft
	alive     *flock.Flock
}

// service is what one client sees of one address, live or in the sandbox: elsewhere the same id is another record.
type service struct {
	APIURL   string `json:"api_url"`
	ClientID string `json:"client_id"`
	Sandbox  bool   `json:"sandbox,omitempty"`
}

func serviceOf(p screen.Profile) service { return service{p.APIURL, p.ClientID, p.Sandbox} }

type recent struct {
	service
	Kind string   `json:"kind"`
	IDs  []string `json:"ids"` // the latest first
}

type draft struct {
	service
	Name   string            `json:"name"`
	Values map[string]string `json:"values"`
	Owner  string            `json:"owner,omitempty"` // the process that types it, by the name of its lock
}

// kept is a setting that the terminal UI keeps by itself.
type kept struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// newMemory uses files in the directory; with "" nothing is saved.
func newMemory(dir string, messages io.Writer) *memory {
	m := &memory{
		recent:   listFile[recent]{messages: messages, most: maxLists},
		drafts:   listFile[draft]{messages: messages, most: maxDrafts},
		undos:    listFile[draft]{messages: messages, most: maxUndos},
		settings: listFile[kept]{messages: messages, most: maxSettings},
	}
	if dir != "" {
		m.recent.path, m.drafts.path = filepath.Join(dir, "recent.json"), filepath.Join(dir, "drafts.json")
		m.undos.path, m.settings.path = filepath.Join(dir, "undo.json"), filepath.Join(dir, "tui.json")
	}
	return m
}

func recentOf(p screen.Profile, kind string) func(recent) bool {
	return func(r recent) bool { return r.service == serviceOf(p) && r.Kind == kind }
}

// draftOf finds the drafts of a form that are not being typed in another process.
func (m *memory) draftOf(p screen.Profile, name string) func(draft) bool {
	return func(d draft) bool { return d.service == serviceOf(p) && d.Name == name && !m.isElsewhere(d.Owner) }
}

// ownerLock is the lock that a process holds while it runs, so that its drafts are offered to others only after its
// end, however it ended.
func (m *memory) ownerLock(owner string, flags int) *flock.Flock {
	path := filepath.Join(filepath.Dir(m.drafts.path), "draft-"+filepath.Base(owner)+".lock")
	return flock.New(path, flock.SetFlag(flags), flock.SetPermissions(0o600))
}

// owns returns the name of this process as an owner of drafts, and takes its lock the first time.
func (m *memory) owns() (string, error) {
	m.owner.Lock()
	defer m.owner.Unlock()
	if m.alive != nil || m.drafts.path == "" {
		return m.ownerName, nil
	}
	name := rand.Text()
	lock := m.ownerLock(name, os.O_CREATE|os.O_RDWR)
	if locked, err := lock.TryLock(); !locked {
		return "", fmt.Errorf("%s cannot be locked: %w", lock.Path(), err)
	}
	m.ownerName, m.alive = name, lock
	return name, nil
}

// isElsewhere tells whether another process that runs owns a draft.
func (m *memory) isElsewhere(owner string) bool {
	m.owner.Lock()
	defer m.owner.Unlock()
	if owner == "" || owner == m.ownerName {
		return false
	}
	lock := m.ownerLock(owner, os.O_RDONLY)
	locked, err := lock.TryLock()
	if locked {
		discard(lock)
	}
	return !locked && err == nil
}

// close lets others have the drafts of this process. Call it when the process ends.
func (m *memory) close() {
	m.owner.Lock()
	defer m.owner.Unlock()
	if m.alive != nil {
		discard(m.alive)
	}
}

func discard(lock *flock.Flock) {
	_ = lock.Unlock()
	_ = os.Remove(lock.Path())
}

// Recent returns the ids that were opened last.
func (m *memory) Recent(profile screen.Profile, kind string) []string {
	return m.recent.find(recentOf(profile, kind)).IDs
}

// Remember puts an id first. Without a directory it does nothing: nobody asked to save this.
func (m *memory) Remember(profile screen.Profile, kind, id string) error {
	if m.recent.path == "" {
		return nil
	}
	return m.recent.update(recentOf(profile, kind), func(old recent) (recent, bool) {
		ids := slices.DeleteFunc(old.IDs, func(other string) bool { return other == id })
		ids = slices.Insert(ids, 0, id)
		return recent{serviceOf(profile), kind, ids[:min(len(ids), maxRecent)]}, true
	})
}

// Draft returns the draft of a form.
func (m *memory) Draft(profile screen.Profile, name string) map[string]string {
	return m.drafts.find(m.draftOf(profile, name)).Values
}

// SaveDraft saves the draft of a form; nil discards it.
func (m *memory) SaveDraft(profile screen.Profile, name string, values map[string]string) error {
	if values == nil && m.drafts.path == "" {
		return nil
	}
	if isTooLong(values) {
		return errors.New("the draft is too long to save")
	}
	owner := ""
	if values != nil {
		var err error
		if owner, err = m.owns(); err != nil {
			return err
		}
	}
	return m.drafts.update(m.draftOf(profile, name), func(draft) (draft, bool) {
		return draft{serviceOf(profile), name, maps.Clone(values), owner}, values != nil
	})
}

func isTooLong(values map[string]string) bool {
	size := 0
	for field, text := range values {
		size += len(field) + len(text)
	}
	return size > maxDraft
}

func undoOf(p screen.Profile, name string) func(draft) bool {
	return func(d draft) bool { return d.service == serviceOf(p) && d.Name == name }
}

// Undo returns the last saved edit of a record.
func (m *memory) Undo(profile screen.Profile, name string) map[string]string {
	return m.undos.find(undoOf(profile, name)).Values
}

// SaveUndo saves the last saved edit of a record. Without a directory it does nothing, like Remember. One that is too
// long replaces the one before all the same: that can no longer be undone.
func (m *memory) SaveUndo(profile screen.Profile, name string, values map[string]string) error {
	if m.undos.path == "" {
		return nil
	}
	return m.undos.update(undoOf(profile, name), func(draft) (draft, bool) {
		return draft{service: serviceOf(profile), Name: name, Values: maps.Clone(values)}, !isTooLong(values)
	})
}

// Setting returns a setting that was kept.
func (m *memory) Setting(name string) string {
	return m.settings.find(func(k kept) bool { return k.Name == name }).Value
}

// Settings returns all settings that were kept.
func (m *memory) Settings() map[string]string {
	settings := map[string]string{}
	all, _ := m.settings.read()
	for _, k := range all {
		settings[k.Name] = k.Value
	}
	return settings
}

// KeepSetting saves a setting. Without a directory it does nothing, like Remember.
func (m *memory) KeepSetting(name, value string) error {
	if m.settings.path == "" {
		return nil
	}
	return m.settings.update(func(k kept) bool { return k.Name == name },
		func(kept) (kept, bool) { return kept{name, value}, true })
}

// lockTime is how long another process may take that changes the same file.
const lockTime = 3 * time.Second

// listFile is a list in a private file, what was used last first. A file that cannot be read is an empty list, and is
// renamed before a new one is written, because it may have a draft.
type listFile[T any] struct {
	path     string // "" if there is no directory
	most     int
	messages io.Writer

	warned sync.Once
}

func (l *listFile[T]) read() (list []T, readable bool) {
	err := command.ReadPrivateJSON(l.path, &list)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, true
	}
	if err != nil {
		l.warned.Do(func() {
			fmt.Fprintf(l.messages, "warning: %s cannot be read; starting a new one: %s.\n", filepath.Base(l.path),
				command.Plain(err))
		})
		return nil, false
	}
	return list, true
}

func (l *listFile[T]) find(is func(T) bool) T {
	list, _ := l.read()
	return entry(list, is)
}

func entry[T any](list []T, is func(T) bool) (found T) {
	if i := slices.IndexFunc(list, is); i >= 0 {
		found = list[i]
	}
	return found
}

// update replaces an entry, or removes it if change returns false. Updates of other processes come before or after.
func (l *listFile[T]) update(is func(T) bool, change func(T) (T, bool)) error {
	if l.path == "" {
		return errors.New("there is no home directory to save it in: set " + session.EnvConfigDir)
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockTime)
	defer cancel()
	unlock, err := command.LockFile(ctx, l.path)
	if err != nil {
		return err
	}
	defer unlock()
	list, readable := l.read()
	if !readable {
		if err := os.Rename(l.path, l.path+".unreadable"); err != nil {
			return err
		}
	}
	changed, remains := change(entry(list, is))
	if list = slices.DeleteFunc(list, is); remains {
		list = slices.Insert(list, 0, changed)
	}
	if len(list) == 0 {
		if err := os.Remove(l.path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	return command.WritePrivateJSON(l.path, list[:min(len(list), l.most)])
}
