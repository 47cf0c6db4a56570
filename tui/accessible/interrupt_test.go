package accessible_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/tui/accessible"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/tuitest"
)

// live is a talk in which a test waits for what is said before it answers.
type live struct {
	t     *testing.T
	input *io.PipeWriter
	heard chan string
	said  strings.Builder
	from  int // where the next See looks
	done  chan error
	set   *setting
}

type speaker struct{ heard chan string }

func (s speaker) Write(text []byte) (int, error) {
	s.heard <- string(text)
	return len(text), nil
}

func begin(t *testing.T, change func(*setting)) *live {
	t.Helper()
	in, input := io.Pipe()
	l := &live{t: t, input: input, heard: make(chan string, 10_000), done: make(chan error, 1)}
	l.set = defaults(t)
	l.set.interrupts = make(chan os.Signal, 1)
	change(l.set)
	go func() { l.done <- accessible.Run(l.set.ctx, in, speaker{l.heard}, l.set.interrupts, l.set.options) }()
	return l
}

func (l *live) see(texts ...string) {
	l.t.Helper()
	deadline := time.After(20 * time.Second)
	for _, text := range texts {
		for {
			if at := strings.Index(l.said.String()[l.from:], text); at >= 0 {
				l.from += at + len(text)
				break
			}
			select {
			case more := <-l.heard:
				l.said.WriteString(more)
			case <-deadline:
				l.t.Fatalf("%q was not said:\n%s", text, l.said.String())
			}
		}
	}
}

func (l *live) answer(line string) { _, _ = io.WriteString(l.input, line+"\n") }

func (l *live) interrupt() { l.set.interrupts <- os.Interrupt }

func (l *live) ends() error {
	l.t.Helper()
	select {
	case err := <-l.done:
		return err
	case <-time.After(20 * time.Second):
		l.t.Fatalf("it does not end:\n%s", l.said.String())
		return nil
	}
}

func TestAnInterruptLeavesTheQuestionAndTwoQuit(t *testing.T) {
	l := begin(t, as(t, service(t), screen.ToProperty{ID: 7}))
	l.see("? for help: ")
	l.answer("edit")
	l.see("Title (now")
	l.interrupt()
	l.see("Cancelled.", "Property 7: Loft by the river. Command, or ? for help: ")
	l.answer("delete")
	l.see("Type 7 or delete to delete it.")
	l.interrupt()
	l.see("No.", "? for help: ")
	l.answer("")
	l.see("Live, as acme", "? for help: ")
	l.interrupt()
	l.see("Nothing to cancel.", "? for help: ")
	l.interrupt()
	if err := l.ends(); err != nil {
		t.Error(err)
	}
}

// forgetful is a memory that keeps no draft.
type forgetful struct{ *tuitest.Memory }

func (forgetful) SaveDraft(screen.Profile, string, map[string]string) error {
	return errors.New("the disk is full")
}

func TestTheEndOfTheInputSaysWhatIsKeptAndWhatIsLost(t *testing.T) {
	memory := &tuitest.Memory{}
	for _, test := range []struct {
		memory screen.Memory
		to     screen.Route
		script []string
		want   string
	}{
		{memory, screen.ToProperty{ID: 7}, []string{"edit", "A better loft"}, "\nThe changes to property 7 are not saved: title. A draft is saved.\n"},
		{memory, screen.ToProperty{ID: 7}, []string{"edit", "1"}, "\nThe changes to property 7 are not saved: title. A draft is saved.\n"}, // resumed
		{forgetful{&tuitest.Memory{}}, screen.ToProperty{ID: 7}, []string{"edit", "A better loft"}, "\nLost: The changes to property 7 are not saved: title.\n"},
		{memory, screen.ToPerk{ID: "coffee"}, []string{"redeem", "alice"}, "\nLost: What was typed was not sent.\n"},
	} {
		server := service(t)
		said := talk(t, func(s *setting) { as(t, server, test.to)(s); s.options.Memory = test.memory }, test.script...)
		if !strings.HasSuffix(said, test.want+"End of input.\n") {
			t.Errorf("it ends so:\n%s", said)
		}
		if draft := memory.Draft(screen.Profile{}, "property-7"); draft["title"] != "A better loft" {
			t.Errorf("the draft is %v", draft)
		}
	}
}

func TestTheEndOfTheContextEndsTheTalk(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	l := begin(t, func(s *setting) { as(t, service(t), nil)(s); s.ctx = ctx })
	l.see("? for help: ")
	cancel()
	if err := l.ends(); !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
}

func TestALoginIsAskedForWhereTheSessionHasExpired(t *testing.T) {
	w := service(t)
	var accounts *tuitest.Accounts
	l := begin(t, func(s *setting) {
		as(t, w, screen.ToUser{ID: "alice"})(s)
		accounts = s.options.Accounts.(*tuitest.Accounts)
	})
	l.see("Available 3", "? for help: ")
	accounts.Expire()
	l.answer("reload")
	l.see("Log in.", "Your session has expired.", "Secret (hidden): ")
	l.answer(w.secret)
	l.see("User alice.", "? for help: ")
	l.answer("q")
	if err := l.ends(); err != nil {
		t.Error(err)
	}
}

func TestAServiceThatIsAwayIsSaidAndThatItIsBack(t *testing.T) {
	var gone sync.Map
	var ring tea.Msg
	rings := make(chan struct{})
	l := begin(t, func(s *setting) {
		accounts := tuitest.NewAccounts(t, transport(func(r *http.Request) (*http.Response, error) {
			if _, away := gone.Load("away"); away {
				return nil, errors.New("connection refused")
			}
			return answerWith(r, `{"data":[],"meta":{"page":1,"per_page":50,"total":0,"total_pages":0}}`), nil
		}))
		accounts.Add(screen.Profile{Name: "test", APIURL: "http://127.0.0.1:9/v2", ClientID: "acme"}, "secret")
		s.options.Accounts, s.options.Start = accounts, screen.ToUser{ID: "alice"}
		s.options.After = func(pause time.Duration, msg tea.Msg) tea.Cmd {
			if pause != 2*time.Second {
				return nil
			}
			ring = msg
			return func() tea.Msg { <-rings; return ring }
		}
	})
	l.see("alice can redeem nothing now.", "? for help: ")
	gone.Store("away", true)
	l.answer("reload")
	l.see("Offline since 12:00:00", "Last loaded", "? for help: ")
	gone.Delete("away")
	rings <- struct{}{}
	l.see("Done: Back online.", "? for help: ")
	_ = l.input.Close()
	if err := l.ends(); err != nil {
		t.Error(err)
	}
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func answerWith(r *http.Request, body string) *http.Response {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Request: r,
		Body: io.NopCloser(strings.NewReader(body)), ProtoMajor: 1, ProtoMinor: 1,
	}
}

func TestASlowAnswerCanBeLeftAloneAndIsToldWhenItComes(t *testing.T) {
	hold := make(chan struct{})
	notices := make(chan string, 1)
	l := begin(t, func(s *setting) {
		accounts := tuitest.NewAccounts(t, transport(func(r *http.Request) (*http.Response, error) {
			select {
			case <-hold:
			case <-r.Context().Done():
				return nil, r.Context().Err()
			}
			return answerWith(r, `{"data":[],"meta":{"page":1,"per_page":50,"total":0,"total_pages":0}}`), nil
		}))
		accounts.Add(screen.Profile{Name: "test", APIURL: "http://127.0.0.1:9/v2", ClientID: "acme"}, "secret")
		s.options.Accounts, s.options.Start, s.options.Notices = accounts, screen.ToUser{ID: "alice"}, notices
	})
	l.see("ctrl+c cancels a question.")
	notices <- "The service asks for patience."
	l.see("The service asks for patience.")
	l.interrupt()
	l.see("It continues; you will hear when it is done.", "Loading what alice can redeem", "? for help: ")
	close(hold)
	l.see("alice can redeem nothing now.", "? for help: ")
	_ = l.input.Close()
	if err := l.ends(); err != nil {
		t.Error(err)
	}
}

func TestASecretIsNotShownOnATerminal(t *testing.T) {
	w := service(t)
	terminal, line, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	defer line.Close()
	s := defaults(t)
	s.options.Accounts = tuitest.NewAccounts(t, nil)
	done := make(chan error, 1)
	go func() { done <- accessible.Run(t.Context(), line, line, nil, s.options) }()
	shown := make(chan string, 10_000)
	go func() {
		buffer := make([]byte, 4096)
		for {
			n, err := terminal.Read(buffer)
			if err != nil {
				return
			}
			shown <- string(buffer[:n])
		}
	}()
	l := &live{t: t, heard: shown}
	for _, step := range [][2]string{
		{"Address of the API", w.URL}, {"Client id", w.id}, {"Sandbox, yes or no", ""}, {"Secret (hidden): ", w.secret}, {"? for help: ", "q"},
	} {
		l.see(step[0])
		if _, err := io.WriteString(terminal, step[1]+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if said := l.said.String(); strings.Contains(said, w.secret) || !strings.Contains(said, w.URL) {
		t.Errorf("the terminal shows\n%s", said)
	}
}
