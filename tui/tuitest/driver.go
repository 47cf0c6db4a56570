// Package tuitest drives the terminal UI in tests: it presses keys, reads the screen, and waits for text. The model,
// the client and, for flows, the server are the real ones.
package tuitest

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"

	"example.com/perks/api"
	"example.com/perks/api/rows"
	"example.com/perks/tui"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/theme"
)

// waitTimeout is how long something may take to appear.
const waitTimeout = time.Minute

// shortPause is the longest pause that is skipped; longer ones end with Elapse.
const shortPause = 500 * time.Millisecond

// Driver is a running terminal UI. Only the goroutine of the test may call it.
type Driver struct {
	App      *tui.App
	Accounts *Accounts
	Memory   *Memory
	Desktop  *Desktop

	t       testing.TB
	msgs    chan tea.Msg
	running int // commands that have not returned yet
	stopped chan struct{}
	quit    bool

	now    time.Time
	timers []timer

	// Commands are the test's own commands in scenarios.
	Commands map[string]func(argument string)
	// Received returns the requests that the service has got, for the command got in scenarios.
	Received func() []string

	// Frames is how long each message took with the frame after it, if it is not nil.
	Frames []time.Duration

	// LeavesOut is words that a window of 120x40 may leave out, because panels are beside each other there.
	LeavesOut []string

	step string // the one of a scenario that is played
	seen int    // how many of Received the last got has had
}

type timer struct {
	at  time.Time
	msg tea.Msg
}

// Server is a running service, such as a servertest.Server, which this package must not import.
type Server interface {
	API() string // its {api_url}
	Client(scopes ...api.Scope) (id, secret string)
}

// Start runs a terminal UI of 80x24 with a real server, as a client with all scopes. Each change may alter the options.
func Start(t testing.TB, server Server, changes ...func(*tui.Options)) *Driver {
	t.Helper()
	id, secret := server.Client()
	return StartAs(t, server, id, secret, changes...)
}

// StartAs is Start as another client.
func StartAs(t testing.TB, server Server, id, secret string, changes ...func(*tui.Options)) *Driver {
	t.Helper()
	accounts := NewAccounts(t, nil)
	accounts.Add(screen.Profile{Name: "test", APIURL: server.API(), ClientID: id}, secret)
	return start(t, accounts, time.Now(), changes)
}

// Noon is the time of StartWithHandler.
var Noon = time.Date(2026, time.March, 10, 12, 0, 0, 0, time.UTC)

// StartWithHandler runs the terminal UI with a handler instead of a service, at Noon: for golden files, and states that
// are hard to reach with a real server.
func StartWithHandler(t testing.TB, service http.Handler, changes ...func(*tui.Options)) *Driver {
	t.Helper()
	accounts := NewAccounts(t, handlerTransport{service})
	accounts.Add(screen.Profile{Name: "staging", APIURL: "https://perks.example/v2", ClientID: "acme"}, "a secret")
	return start(t, accounts, Noon, changes)
}

func start(t testing.TB, accounts *Accounts, now time.Time, changes []func(*tui.Options)) *Driver {
	t.Helper()
	d := &Driver{
		t: t, Accounts: accounts, Memory: &Memory{}, Desktop: &Desktop{},
		msgs: make(chan tea.Msg), stopped: make(chan struct{}), now: now,
	}
	options := tui.Options{
		Accounts: d.Accounts, Memory: d.Memory, Desktop: d.Desktop,
		Theme: theme.None, Colours: termenv.Ascii,
		Now: func() time.Time { return d.now }, After: d.after,
	}
	keys := 0 // idempotency keys are the same in every run
	options.NewID = func() string {
		keys++
		return fmt.Sprintf("key-%d", keys)
	}
	for _, change := range changes {
		change(&options)
	}
	d.App = tui.New(options)
	t.Cleanup(func() { close(d.stopped) })
	d.Send(tea.WindowSizeMsg{Width: 80, Height: 24})
	d.run(d.App.Init())
	d.Until("the first screen", func() bool { return d.App.Top() != nil })
	return d
}

// Route starts on another screen than the list of perks.
func Route(to screen.Route) func(*tui.Options) {
	return func(o *tui.Options) { o.Start = to }
}

func (d *Driver) after(pause time.Duration, msg tea.Msg) tea.Cmd {
	if pause <= shortPause {
		return screen.Send(msg)
	}
	d.timers = append(d.timers, timer{d.now.Add(pause), msg})
	return nil
}

// Elapse moves the clock forward, and ends the pauses that are due.
func (d *Driver) Elapse(by time.Duration) {
	d.t.Helper()
	d.now = d.now.Add(by)
	timers := d.timers
	d.timers = slices.DeleteFunc(slices.Clone(timers), func(t timer) bool { return !t.at.After(d.now) })
	for _, t := range timers {
		if !t.at.After(d.now) {
			d.Send(t.msg)
		}
	}
}

// Send gives the model a message, and starts its commands.
func (d *Driver) Send(msg tea.Msg) {
	d.t.Helper()
	switch msg := msg.(type) {
	case tea.QuitMsg:
		d.quit = true
	case tea.BatchMsg:
		for _, cmd := range msg {
			d.run(cmd)
		}
	default:
		begun := time.Now()
		_, cmd := d.App.Update(msg)
		if d.Frames != nil {
			d.App.View()
			d.Frames = append(d.Frames, time.Since(begun))
		}
		d.run(cmd)
	}
}

func (d *Driver) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	d.running++
	go func() {
		msg := cmd()
		select {
		case d.msgs <- msg:
		case <-d.stopped:
		}
	}()
}

// Until waits for a condition, and fails the test with the screen if that takes too long.
func (d *Driver) Until(what string, holds func() bool) {
	d.t.Helper()
	deadline := time.After(waitTimeout)
	for !holds() {
		select {
		case msg := <-d.msgs:
			d.running--
			if msg != nil {
				d.Send(msg)
			}
		case <-deadline:
			d.t.Fatalf("%s\ntimed out waiting for %s. The screen:\n%s", d.step, what, d.Screen())
		}
	}
}

// Await waits for something that happens outside of the model, such as the arrival of a request. Messages are handled
// meanwhile.
func Await[T any](d *Driver, from <-chan T) (value T) {
	d.t.Helper()
	deadline := time.After(waitTimeout)
	for {
		select {
		case value = <-from:
			return value
		case msg := <-d.msgs:
			d.running--
			if msg != nil {
				d.Send(msg)
			}
		case <-deadline:
			d.t.Fatalf("timed out waiting for what happens elsewhere. The screen:\n%s", d.Screen())
		}
	}
}

// Settle waits until no command runs.
func (d *Driver) Settle() {
	d.t.Helper()
	d.Until("all commands", func() bool { return d.running == 0 })
}

func (d *Driver) Running() int { return d.running }

// Quit tells whether the terminal UI has quit.
func (d *Driver) Quit() bool { return d.quit }

// Screen returns the screen, without styles if the theme has none.
func (d *Driver) Screen() string { return ansi.Strip(d.App.View()) }

// See waits until all texts are on the screen, ignoring blanks, borders and line breaks between words.
func (d *Driver) See(texts ...string) {
	d.t.Helper()
	for _, text := range texts {
		d.Until("\""+text+"\"", func() bool { return d.Shows(text) })
	}
}

func (d *Driver) Shows(text string) bool {
	return strings.Contains(collapse(d.Screen()), collapse(text))
}

// Gone waits until a text is no longer on the screen.
func (d *Driver) Gone(text string) {
	d.t.Helper()
	d.Until("\""+text+"\" to disappear", func() bool { return !d.Shows(text) })
}

// borders are drawn between words that belong together where a text is wrapped.
var borders = strings.NewReplacer("╰─", " ", "─╯", " ", "│", " ", "▐", " ", "║", " ", "▎", " ")

func collapse(text string) string { return strings.Join(strings.Fields(borders.Replace(text)), " ") }

func (d *Driver) Open(to screen.Route) {
	d.t.Helper()
	d.Send(screen.Go{To: to})
}

func (d *Driver) Resize(width, height int) {
	d.t.Helper()
	d.Send(tea.WindowSizeMsg{Width: width, Height: height})
}

// Posts returns what an action of the top screen posts, without delivering it; nil if nothing.
func (d *Driver) Posts(id actions.ID) tea.Msg {
	for _, offer := range d.App.Top().Offers() {
		if offer.ID == id {
			offer.Do()
		}
	}
	msg, _ := d.App.Shell().Posted()
	return msg
}

// Do starts a command.
func (d *Driver) Do(cmd tea.Cmd) { d.run(cmd) }

// keyTypes maps bubbletea's names of keys that print nothing to their types.
var keyTypes = func() map[string]tea.KeyType {
	names := map[string]tea.KeyType{}
	for t := tea.KeyType(-100); t < 128; t++ {
		if t == tea.KeyRunes || t == tea.KeySpace {
			continue
		}
		if name := (tea.Key{Type: t}).String(); name != "" {
			names[name] = t
		}
	}
	return names
}()

// Key returns the message of a key by its name, such as "j", "enter", "ctrl+s", "alt+x" or " ".
func Key(name string) tea.KeyMsg {
	plain, alt := strings.CutPrefix(name, "alt+")
	if t, ok := keyTypes[plain]; ok {
		return tea.KeyMsg{Type: t, Alt: alt}
	}
	if plain == " " {
		return tea.KeyMsg{Type: tea.KeySpace, Runes: []rune{' '}, Alt: alt}
	}
	return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(plain), Alt: alt}
}

func (d *Driver) Press(names ...string) {
	d.t.Helper()
	for _, name := range names {
		d.Send(Key(name))
	}
}

func (d *Driver) Type(text string) {
	d.t.Helper()
	for _, r := range text {
		if r == '\n' {
			d.Press("enter")
			continue
		}
		d.Press(string(r))
	}
}

// Paste pastes a text as terminals with bracketed paste do.
func (d *Driver) Paste(text string) {
	d.t.Helper()
	d.Send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(text), Paste: true})
}

// Clear empties the focused field.
func (d *Driver) Clear() {
	d.t.Helper()
	d.Press("end")
	for range []rune(d.App.Top().Form().Value(d.App.Top().Form().Focus())) {
		d.Press("backspace")
	}
}

type Memory struct{ recent, drafts, settings sync.Map }

func (m *Memory) Recent(_ screen.Profile, kind string) []string {
	ids, _ := m.recent.Load(kind)
	recent, _ := ids.([]string)
	return recent
}

func (m *Memory) Remember(profile screen.Profile, kind, id string) error {
	others := slices.DeleteFunc(slices.Clone(m.Recent(profile, kind)), func(other string) bool { return other == id })
	m.recent.Store(kind, append([]string{id}, others...))
	return nil
}

func (m *Memory) Draft(_ screen.Profile, name string) map[string]string {
	values, _ := m.drafts.Load(name)
	draft, _ := values.(map[string]string)
	return maps.Clone(draft)
}

func (m *Memory) SaveDraft(_ screen.Profile, name string, values map[string]string) error {
	m.drafts.Store(name, maps.Clone(values))
	return nil
}

// Undo and SaveUndo keep what can be undone beside the drafts.
func (m *Memory) Undo(profile screen.Profile, name string) map[string]string {
	return m.Draft(profile, "undo of "+name)
}

func (m *Memory) SaveUndo(profile screen.Profile, name string, values map[string]string) error {
	return m.SaveDraft(profile, "undo of "+name, values)
}

func (m *Memory) Settings() map[string]string {
	settings := map[string]string{}
	m.settings.Range(func(name, value any) bool {
		settings[name.(string)] = value.(string)
		return true
	})
	return settings
}

func (m *Memory) Setting(name string) string {
	value, _ := m.settings.Load(name)
	text, _ := value.(string)
	return text
}

func (m *Memory) KeepSetting(name, value string) error {
	m.settings.Store(name, value)
	return nil
}

// Desktop records what was copied, opened and notified last. The bell is the notice "bell".
type Desktop struct{ copied, opened, notified atomic.Pointer[string] }

func (d *Desktop) Copy(text string) error    { return record(&d.copied, text) }
func (d *Desktop) Open(address string) error { return record(&d.opened, address) }
func (d *Desktop) Ring() error               { return d.Notify("bell") }
func (d *Desktop) Notify(text string) error  { return record(&d.notified, text) }
func (d *Desktop) Copied() string            { return *cmp.Or(d.copied.Load(), new(string)) }
func (d *Desktop) Opened() string            { return *cmp.Or(d.opened.Load(), new(string)) }

// Notified returns the last notice, and forgets it.
func (d *Desktop) Notified() string { return *cmp.Or(d.notified.Swap(nil), new(string)) }

// Save makes a file.
func (d *Desktop) Save(path string, replace bool, write func(io.Writer) error) (string, error) {
	return path, rows.WriteFile(path, replace, write)
}

func record(last *atomic.Pointer[string], text string) error {
	last.Store(&text)
	return nil
}
