package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/muesli/termenv"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/tui"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/theme"
	"example.com/perks/tui/tuitest"
)

// How the terminal UI is measured: how many perks there are, how slow the service is, and how many keys of each kind
// are pressed.
const (
	framePerks  = 1_000_000
	frameDelay  = 2 * time.Second
	frameKeys   = 2_000
	frameFilter = "co coffee " // ten characters, a change of the filter each
)

// frameTarget is one frame of a screen that shows sixty a second.
var frameTarget = target{16, atMost}

// measureFrames measures how long the terminal UI takes from a key to the frame that shows it, while each response of
// the service takes two seconds, and counts the requests in progress after a filter was typed letter by letter.
func measureFrames(ctx context.Context, l *harness) (*table, error) {
	file, err := l.sqliteWith(ctx, framePerks)
	if err != nil {
		return nil, err
	}
	perksd, err := l.serve(ctx, file)
	if err != nil {
		return nil, err
	}
	slow := &slowService{next: http.DefaultTransport}
	direct, err := perksd.client(nil)
	if err != nil {
		return nil, err
	}
	delayed, err := perksd.client(slow)
	if err != nil {
		return nil, err
	}
	l.logf("frames: pressing keys with %s perks, each response takes %s", grouped(framePerks), frameDelay)
	t := newTableOf("worst, ms", "From a key to its frame (`frames`)", "what", "frames", "p50", "p99")
	all, err := direct.Perks(ctx, api.PerkFilter{}, client.ListOptions{})
	if err != nil {
		return nil, err
	}
	s := newTUIDriver(screen.Account{Profile: screen.Profile{Name: "bench", APIURL: perksd.url(""), ClientID: "bench"},
		Client: delayed})
	if err := s.until(ctx, "the list", func() bool { return s.shows(grouped(all.Meta.Total)) }); err != nil {
		return nil, err
	}
	for range frameKeys / 20 {
		s.press("jjjjjjjjjjkkkkkjjjGg")
	}
	s.addRow(t, "moving about the list")
	for _, size := range [][2]int{{80, 24}, {30, 8}, {120, 40}, {200, 60}} {
		s.send(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
	}
	s.addRow(t, "changing the size")

	s.press("/")
	for _, letter := range frameFilter {
		s.press(string(letter))
		// longer than the pause that a filter waits for the next letter
		if err := s.wait(ctx, 300*time.Millisecond); err != nil {
			return nil, err
		}
	}
	s.addRow(t, "typing a filter")
	alive := slow.alive.Load()
	most := slow.asked.Load()
	wanted, err := direct.Perks(ctx, api.PerkFilter{Query: strings.TrimSpace(frameFilter)}, client.ListOptions{})
	if err != nil {
		return nil, err
	}
	if len(wanted.Data) == 0 {
		return nil, errors.New("no perk passes the filter")
	}
	first, _, _ := strings.Cut(wanted.Data[0].Title, " ")
	if err := s.until(ctx, "the rows of the last filter",
		func() bool { return s.shows(grouped(wanted.Meta.Total)) && s.shows(first) }); err != nil {
		return nil, err
	}
	s.addRow(t, "responses that arrive")
	t.note("Of the %d requests for lists, %d was in progress after the last of %d quick changes of the filter; the "+
		"rows are those of the last (%s of %s perks).",
		most, alive, len(frameFilter), grouped(wanted.Meta.Total), grouped(framePerks))
	if alive != 1 {
		t.missed++
		t.note("MISSED: exactly one request should have been in progress.")
	}
	return t, nil
}

// slowService delays every request, and counts those that are in progress and all.
type slowService struct {
	next  http.RoundTripper
	alive atomic.Int64
	asked atomic.Int64
}

// RoundTrip waits, unless the request is cancelled meanwhile.
func (s *slowService) RoundTrip(req *http.Request) (*http.Response, error) {
	s.asked.Add(1)
	s.alive.Add(1)
	defer s.alive.Add(-1)
	select {
	case <-time.After(frameDelay):
		return s.next.RoundTrip(req)
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
}

// tuiDriver runs the terminal UI without a terminal and times every frame: an Update and the View after it.
type tuiDriver struct {
	app    *tui.App
	msgs   chan tea.Msg
	frames []time.Duration
}

// newTUIDriver begins at 200x60, in colour.
func newTUIDriver(account screen.Account) *tuiDriver {
	s := &tuiDriver{msgs: make(chan tea.Msg, 1000)}
	s.app = tui.New(tui.Options{Accounts: singleAccount{account}, Memory: &tuitest.Memory{}, Theme: theme.Dark,
		Colours: termenv.TrueColor})
	s.send(tea.WindowSizeMsg{Width: 200, Height: 60})
	s.run(s.app.Init())
	return s
}

func (s *tuiDriver) run(cmd tea.Cmd) {
	if cmd != nil {
		go func() { s.msgs <- cmd() }()
	}
}

func (s *tuiDriver) send(msg tea.Msg) {
	if batch, ok := msg.(tea.BatchMsg); ok {
		for _, cmd := range batch {
			s.run(cmd)
		}
		return
	}
	begun := time.Now()
	_, cmd := s.app.Update(msg)
	s.app.View()
	s.frames = append(s.frames, time.Since(begun))
	s.run(cmd)
}

// press presses keys one by one.
func (s *tuiDriver) press(keys string) {
	for _, key := range keys {
		s.send(tuitest.Key(string(key)))
	}
}

// until handles the commands' messages until the condition holds.
func (s *tuiDriver) until(ctx context.Context, what string, holds func() bool) error {
	timeout := time.After(time.Minute)
	for !holds() {
		select {
		case msg := <-s.msgs:
			s.send(msg)
		case <-ctx.Done():
			return ctx.Err()
		case <-timeout:
			return fmt.Errorf("%s did not come within a minute; the screen:\n%s", what, s.app.View())
		}
	}
	return nil
}

// wait handles messages for a while.
func (s *tuiDriver) wait(ctx context.Context, d time.Duration) error {
	timeout := time.After(d)
	for {
		select {
		case msg := <-s.msgs:
			s.send(msg)
		case <-ctx.Done():
			return ctx.Err()
		case <-timeout:
			return nil
		}
	}
}

func (s *tuiDriver) shows(text string) bool { return strings.Contains(s.app.View(), text) }

// addRow adds a row for the frames since the last one.
func (s *tuiDriver) addRow(t *table, what string) {
	worst := percentile(s.frames, 100)
	t.add(worst.Seconds()*1e3, frameTarget, what, grouped(int64(len(s.frames))),
		milliseconds(percentile(s.frames, 50)), milliseconds(percentile(s.frames, 99)))
	s.frames = nil
}

// singleAccount is the only account.
type singleAccount struct{ account screen.Account }

func (o singleAccount) Profiles() ([]screen.Profile, string, error) {
	return []screen.Profile{o.account.Profile}, o.account.Profile.Name, nil
}

func (o singleAccount) Connect(string) (screen.Account, error) { return o.account, nil }

func (o singleAccount) Login(
	context.Context, screen.Profile, string, screen.AskName,
) (screen.Account, string, error) {
	return screen.Account{}, "", errors.New("nobody logs in here")
}
