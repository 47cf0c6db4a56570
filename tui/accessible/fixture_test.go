package accessible_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
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
	"example.com/perks/tui/theme"
	"example.com/perks/tui/tuitest"
)

// scriptedUser answers each question, once it has been read, with the next line of a script. Output and answers are in
// one transcript.
type scriptedUser struct {
	mu      sync.Mutex
	written *sync.Cond
	script  []string
	text    bytes.Buffer
}

func newScriptedUser(script ...string) *scriptedUser {
	p := &scriptedUser{script: script}
	p.written = sync.NewCond(&p.mu)
	return p
}

func (p *scriptedUser) Read(into []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for !bytes.HasSuffix(p.text.Bytes(), []byte(": ")) {
		p.written.Wait()
	}
	if len(p.script) == 0 {
		return 0, io.EOF
	}
	answer := p.script[0] + "\n"
	p.script = p.script[1:]
	p.text.WriteString("«" + strings.TrimSuffix(answer, "\n") + "»\n")
	return copy(into, answer), nil
}

func (p *scriptedUser) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.written.Broadcast()
	return p.text.Write(text)
}

func (p *scriptedUser) transcript() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// testService is a real server at Noon, and the credentials of a client.
type testService struct {
	*servertest.Server
	id, secret string
}

// service starts a server whose ids are the same in every run. Its client lacks these scopes.
func service(t *testing.T, lacks ...api.Scope) *testService {
	t.Helper()
	clock := servertest.NewClock(tuitest.Noon)
	var n atomic.Int64
	s := servertest.Start(t, servertest.WithClock(clock), func(c *server.Config) {
		c.NewID = func() string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n.Add(1)) }
	})
	id, secret := s.ClientWith(func(c *store.Client) {
		c.ID = "acme"
		c.Scopes = slices.DeleteFunc(c.Scopes, func(one api.Scope) bool { return slices.Contains(lacks, one) })
	})
	s.ImportUsers("alice", "bob")
	end := tuitest.Noon.Add(72 * time.Hour)
	merchant, discount := "Café Schön", "2 for 1"
	lat, lng := 52.52, 13.405
	s.ImportPerks(
		store.PerkRecord{Perk: api.Perk{ID: "coffee", Title: "Coffee for two", City: "Berlin", MerchantName: &merchant,
			DiscountText: &discount, ValidTo: &end}, Lat: &lat, Lng: &lng},
		store.PerkRecord{Perk: api.Perk{ID: "museum", Title: "An hour in the museum", City: "Hamburg", ValidTo: &end}},
		store.PerkRecord{Perk: api.Perk{ID: "spa", Title: "A day at the spa", City: "Wien"},
			Approval: store.ApprovalManual},
		store.PerkRecord{Perk: api.Perk{ID: "evil", Title: "red \x1b[31m\u202etitle", City: "Berlin"}},
	)
	s.ImportProperties("acme", api.Property{ID: 7, Title: "Loft by the river", Address: "Uferstr. 1", City: "Berlin",
		Postcode: "10115", Bedrooms: 2, Bathrooms: 1})
	return &testService{s, id, secret}
}

type settings struct {
	ctx        context.Context
	interrupts chan os.Signal
	options    tui.Options
}

func defaults(t *testing.T) *settings {
	t.Helper()
	var n atomic.Int64
	return &settings{ctx: t.Context(), options: tui.Options{
		Memory: &tuitest.Memory{}, Desktop: &tuitest.Desktop{},
		Theme: theme.None, Colours: termenv.Ascii,
		Now:   func() time.Time { return tuitest.Noon },
		After: func(time.Duration, tea.Msg) tea.Cmd { return nil },
		NewID: func() string { return fmt.Sprintf("key-%d", n.Add(1)) },
	}}
}

// runScript runs a session, and returns its transcript. It fails if the transcript has control characters.
func runScript(t *testing.T, change func(*settings), script ...string) string {
	t.Helper()
	p := newScriptedUser(script...)
	s := defaults(t)
	change(s)
	done := make(chan error, 1)
	go func() { done <- accessible.Run(s.ctx, p, p, s.interrupts, s.options) }()
	select {
	case err := <-done:
		if err != nil {
			t.Fatalf("Run returned %v:\n%s", err, p.transcript())
		}
	case <-time.After(20 * time.Second):
		t.Fatalf("the session does not end:\n%s", p.transcript())
	}
	transcript := p.transcript()
	for _, r := range transcript {
		if r == 0x1b || r < ' ' && r != '\n' {
			t.Fatalf("the transcript has %q:\n%q", r, transcript)
		}
	}
	return transcript
}

// loggedIn logs in, and starts on the given screen.
func loggedIn(t *testing.T, w *testService, start screen.Route) func(*settings) {
	return func(s *settings) {
		accounts := tuitest.NewAccounts(t, nil)
		accounts.Add(screen.Profile{Name: "test", APIURL: w.URL, ClientID: w.id}, w.secret)
		s.options.Accounts, s.options.Start = accounts, start
	}
}
