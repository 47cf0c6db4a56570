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

	"example.com/perks/tui"
	"example.com/perks/tui/accessible"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/tuitest"
)

// liveSession is a session in which a test waits for output before it types.
type liveSession struct {
	t          *testing.T
	input      *io.PipeWriter
	written    chan string
	transcript strings.Builder
	from       int // where the next see starts
	done       chan error
	set        *settings
}

type channelWriter struct{ written chan string }

func (w channelWriter) Write(text []byte) (int, error) {
	w.written <- string(text)
	return len(text), nil
}

func startLive(t *testing.T, change func(*settings)) *liveSession {
	t.Helper()
	in, input := io.Pipe()
	l := &liveSession{t: t, input: input, written: make(chan string, 10_000), done: make(chan error, 1)}
	l.set = defaults(t)
	l.set.interrupts = make(chan os.Signal, 1)
	change(l.set)
	go func() {
		l.done <- accessible.Run(l.set.ctx, in, channelWriter{l.written}, l.set.interrupts, l.set.options)
	}()
	return l
}

func (l *liveSession) see(texts ...string) {
	l.t.Helper()
	deadline := time.After(20 * time.Second)
	for _, text := range texts {
		for {
			if at := strings.Index(l.transcript.String()[l.from:], text); at >= 0 {
				l.from += at + len(text)
				break
			}
			select {
			case more := <-l.written:
				l.transcript.WriteString(more)
			case <-deadline:
				l.t.Fatalf("missing %q:\n%s", text, l.transcript.String())
			}
		}
	}
}

func (l *liveSession) enter(line string) { _, _ = io.WriteString(l.input, line+"\n") }

func (l *liveSession) interrupt() { l.set.interrupts <- os.Interrupt }

func (l *liveSession) wait() error {
	l.t.Helper()
	select {
	case err := <-l.done:
		return err
	case <-time.After(20 * time.Second):
		l.t.Fatalf("the session does not end:\n%s", l.transcript.String())
		return nil
	}
}

func TestInterruptCancelsQuestionAndTwoQuit(t *testing.T) {
	l := startLive(t, loggedIn(t, service(t), screen.ToProperty{ID: "7"}))
	l.see("? for help: ")
	l.enter("edit")
	l.see("Title (now")
	l.interrupt()
	l.see("Cancelled.", "Property 7: Loft by the river. Command, or ? for help: ")
	l.enter("delete")
	l.see("Type 7 or delete to delete it.")
	l.interrupt()
	l.see("No.", "? for help: ")
	l.enter("")
	l.see("Live, as acme", "? for help: ")
	l.interrupt()
	l.see("Nothing to cancel.", "? for help: ")
	l.interrupt()
	if err := l.wait(); err != nil {
		t.Error(err)
	}
}

// forgetful is a memory that cannot save drafts.
type forgetful struct{ *tuitest.Memory }

func (forgetful) SaveDraft(screen.Profile, string, map[string]string) error {
	return errors.New("the disk is full")
}

func TestEndOfInputReportsDraftsAndLosses(t *testing.T) {
	memory := &tuitest.Memory{}
	for _, test := range []struct {
		memory screen.Memory
		to     screen.Route
		script []string
		want   string
	}{
		{memory, screen.ToProperty{ID: "7"}, []string{"edit", "A better loft"},
			"\nThe changes to property 7 are not saved: title. A draft is saved.\n"},
		{memory, screen.ToProperty{ID: "7"}, []string{"edit", "1"},
			"\nThe changes to property 7 are not saved: title. A draft is saved.\n"}, // resumed
		{forgetful{&tuitest.Memory{}}, screen.ToProperty{ID: "7"}, []string{"edit", "A better loft"},
			"\nLost: The changes to property 7 are not saved: title.\n"},
		{memory, screen.ToPerk{ID: "coffee"}, []string{"redeem", "alice"}, "\nLost: What was typed was not sent.\n"},
	} {
		server := service(t)
		transcript := runScript(t, func(s *settings) {
			loggedIn(t, server,
				test.to)(s)
			s.options.Memory = test.memory
		}, test.script...)
		if !strings.HasSuffix(transcript, test.want+"End of input.\n") {
			t.Errorf("wrong end of the session:\n%s", transcript)
		}
		if draft := memory.Draft(screen.Profile{}, "property-7"); draft["title"] != "A better loft" {
			t.Errorf("the draft is %v", draft)
		}
	}
}

func TestCanceledContextEndsSession(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	l := startLive(t, func(s *settings) { loggedIn(t, service(t), nil)(s); s.ctx = ctx })
	l.see("? for help: ")
	cancel()
	if err := l.wait(); !errors.Is(err, context.Canceled) {
		t.Errorf("Run returned %v", err)
	}
}

func TestExpiredSessionAsksForLogin(t *testing.T) {
	w := service(t)
	var accounts *tuitest.Accounts
	l := startLive(t, func(s *settings) {
		loggedIn(t, w, screen.ToUser{ID: "alice"})(s)
		accounts = s.options.Accounts.(*tuitest.Accounts)
	})
	l.see("Available 4", "? for help: ")
	accounts.Expire()
	l.enter("reload")
	l.see("Log in.", "Your session has expired.", "Secret (hidden): ")
	l.enter(w.secret)
	l.see("User alice.", "? for help: ")
	l.enter("q")
	if err := l.wait(); err != nil {
		t.Error(err)
	}
}

func TestOfflineAndBackOnlineAreAnnounced(t *testing.T) {
	var state sync.Map
	var ping tea.Msg
	pings := make(chan struct{})
	l := startLive(t, func(s *settings) {
		accounts := tuitest.NewAccounts(t, transport(func(r *http.Request) (*http.Response, error) {
			if _, offline := state.Load("offline"); offline {
				return nil, errors.New("connection refused")
			}
			return jsonResponse(r, `{"data":[],"meta":{"page":1,"per_page":50,"total":0,"total_pages":0}}`), nil
		}))
		accounts.Add(screen.Profile{Name: "test", APIURL: "http://127.0.0.1:9/v2", ClientID: "acme"}, "secret")
		s.options.Accounts, s.options.Start = accounts, screen.ToUser{ID: "alice"}
		s.options.After = func(pause time.Duration, msg tea.Msg) tea.Cmd {
			if pause != 2*time.Second {
				return nil
			}
			ping = msg
			return func() tea.Msg { <-pings; return ping }
		}
	})
	l.see("alice can redeem nothing now.", "? for help: ")
	state.Store("offline", true)
	l.enter("reload")
	l.see("Offline since 12:00:00", "Last loaded", "? for help: ")
	state.Delete("offline")
	pings <- struct{}{}
	l.see("Done: Back online.", "? for help: ")
	_ = l.input.Close()
	if err := l.wait(); err != nil {
		t.Error(err)
	}
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func jsonResponse(r *http.Request, body string) *http.Response {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Request: r,
		Body: io.NopCloser(strings.NewReader(body)), ProtoMajor: 1, ProtoMinor: 1,
	}
}

func TestSlowRequestContinuesInBackground(t *testing.T) {
	hold := make(chan struct{})
	notices := make(chan string, 1)
	l := startLive(t, func(s *settings) {
		accounts := tuitest.NewAccounts(t, transport(func(r *http.Request) (*http.Response, error) {
			select {
			case <-hold:
			case <-r.Context().Done():
				return nil, r.Context().Err()
			}
			return jsonResponse(r, `{"data":[],"meta":{"page":1,"per_page":50,"total":0,"total_pages":0}}`), nil
		}))
		accounts.Add(screen.Profile{Name: "test", APIURL: "http://127.0.0.1:9/v2", ClientID: "acme"}, "secret")
		s.options.Accounts, s.options.Start, s.options.Notices = accounts, screen.ToUser{ID: "alice"}, notices
	})
	l.see("ctrl+c cancels a question.")
	notices <- "The server asks to wait 2s."
	l.see("The server asks to wait 2s.")
	l.interrupt()
	l.see("It continues; you will hear when it is done.", "Loading perks", "? for help: ")
	close(hold)
	l.see("alice can redeem nothing now.", "? for help: ")
	_ = l.input.Close()
	if err := l.wait(); err != nil {
		t.Error(err)
	}
}

func TestSecretIsNotEchoed(t *testing.T) {
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
	l := &liveSession{t: t, written: shown}
	for _, step := range [][2]string{
		{"Address of the API", w.URL}, {"Client id", w.id}, {"Sandbox, yes or no", ""}, {"Secret (hidden): ", w.secret},
		{"? for help: ", "q"},
	} {
		l.see(step[0])
		if _, err := io.WriteString(terminal, step[1]+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if transcript := l.transcript.String(); strings.Contains(transcript, w.secret) ||
		!strings.Contains(transcript, w.URL) {
		t.Errorf("the terminal shows\n%s", transcript)
	}
}

// TestNoticesAreSentences has the bell configured, which must not be heard here.
func TestNoticesAreSentences(t *testing.T) {
	w, desktop := service(t), &tuitest.Desktop{}
	asked, ask := make(chan bool, 100), make(chan bool)
	l := startLive(t, func(s *settings) {
		loggedIn(t, w, screen.ToPerks{})(s)
		s.options.Notify, s.options.Desktop = tui.NotifyBell, desktop
		s.options.After = func(pause time.Duration, msg tea.Msg) tea.Cmd {
			if pause != 3*time.Second { // after which others' changes are asked for
				return nil
			}
			asked <- true
			return func() tea.Msg { <-ask; return msg }
		}
	})
	l.see("? for help: ")
	<-asked
	redeem := w.Request(w.Token(), http.MethodPost, w.LiveURL()+"/perks/spa/redeem", `{"user_id":"bob"}`)
	if status := w.Do(redeem, nil); status != http.StatusOK && status != http.StatusCreated {
		t.Fatalf("redeeming: %d", status)
	}
	ask <- true
	l.see("1 new redemption waits for approval.")
	l.enter("quit")
	if err := l.wait(); err != nil || desktop.Notified() != "" {
		t.Errorf("%v; the bell rang: %q", err, desktop.Notified())
	}
}
