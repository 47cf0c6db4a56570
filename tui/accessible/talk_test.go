package accessible_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/muesli/termenv"

	"example.com/perks/api"
	"example.com/perks/server"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
	"example.com/perks/tui"
	"example.com/perks/tui/accessible"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/tuitest"
	"example.com/perks/tui/widget"
)

// person answers each question with the next line of a script. What is said and answered ends up in one transcript.
type person struct {
	mu     sync.Mutex
	script []string
	said   bytes.Buffer
}

func (p *person) Read(into []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.script) == 0 {
		return 0, io.EOF
	}
	answer := p.script[0] + "\n"
	p.script = p.script[1:]
	p.said.WriteString("«" + strings.TrimSuffix(answer, "\n") + "»\n")
	return copy(into, answer), nil
}

func (p *person) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.said.Write(text)
}

func (p *person) transcript() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.said.String()
}

// world is a real server at Noon, and a client of it.
type world struct {
	*servertest.Server
	id, secret string
}

// service starts a server whose ids are the same in every run.
func service(t *testing.T) *world {
	t.Helper()
	clock := servertest.NewClock(tuitest.Noon)
	var n atomic.Int64
	s := servertest.Start(t, servertest.WithClock(clock), func(c *server.Config) {
		c.NewID = func() string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n.Add(1)) }
	})
	id, secret := s.ClientWith(func(c *store.Client) { c.ID = "acme" })
	s.ImportUsers("alice", "bob")
	end := tuitest.Noon.Add(72 * time.Hour)
	merchant, discount := "Café Schön", "2 for 1"
	s.ImportPerks(
		store.PerkRecord{Perk: api.Perk{ID: "coffee", Title: "Coffee for two", City: "Berlin", MerchantName: &merchant, DiscountText: &discount, ValidTo: &end}},
		store.PerkRecord{Perk: api.Perk{ID: "museum", Title: "An hour in the museum", City: "Hamburg", ValidTo: &end}},
		store.PerkRecord{Perk: api.Perk{ID: "evil", Title: "red \x1b[31m\u202etitle", City: "Berlin"}},
	)
	s.ImportProperties("acme", api.Property{ID: 7, Title: "Loft by the river", Address: "Uferstr. 1", City: "Berlin", Postcode: "10115", Bedrooms: 2, Bathrooms: 1})
	return &world{s, id, secret}
}

type setting struct {
	ctx        context.Context
	interrupts chan os.Signal
	options    tui.Options
}

func defaults(t *testing.T) *setting {
	t.Helper()
	var n atomic.Int64
	return &setting{ctx: t.Context(), options: tui.Options{
		Memory: &tuitest.Memory{}, Desktop: &tuitest.Desktop{},
		Theme: widget.NoTheme, Colours: termenv.Ascii,
		Now:   func() time.Time { return tuitest.Noon },
		After: func(time.Duration, tea.Msg) tea.Cmd { return nil },
		NewID: func() string { return fmt.Sprintf("key-%d", n.Add(1)) },
	}}
}

// talk holds a whole talk, and returns its transcript. It checks that nothing in it steers a terminal.
func talk(t *testing.T, change func(*setting), script ...string) string {
	t.Helper()
	p := &person{script: script}
	s := defaults(t)
	change(s)
	done := make(chan error, 1)
	go func() { done <- accessible.Run(s.ctx, p, p, s.interrupts, s.options) }()
	select {
	case err := <-done:
		if err != nil {
			t.Fatalf("it ended with %v:\n%s", err, p.transcript())
		}
	case <-time.After(20 * time.Second):
		t.Fatalf("it does not end:\n%s", p.transcript())
	}
	said := p.transcript()
	for _, r := range said {
		if r == 0x1b || r < ' ' && r != '\n' {
			t.Fatalf("%q was said:\n%q", r, said)
		}
	}
	return said
}

// as logs in, and begins with another screen than the list of perks.
func as(t *testing.T, w *world, start screen.Route) func(*setting) {
	return func(s *setting) {
		accounts := tuitest.NewAccounts(t, nil)
		accounts.Add(screen.Profile{Name: "test", APIURL: w.URL, ClientID: w.id}, w.secret)
		s.options.Accounts, s.options.Start = accounts, start
	}
}
