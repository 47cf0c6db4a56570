package main

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/tui/screen"
)

// How the terminal UI is measured: over how many perks, behind how slow a service, and with how many keys of each kind.
const (
	framePerks  = 1_000_000
	frameDelay  = 2 * time.Second
	frameKeys   = 2_000
	frameFilter = "co coffee " // ten characters, a change of the filter each
)

// frameTarget is one frame of a screen that shows sixty a second.
var frameTarget = target{16, atMost}

// measureFrames measures how long the terminal UI takes from a key to the frame that shows it, while each answer of the
// service takes two seconds, and counts the requests that a filter typed letter by letter leaves under way.
func measureFrames(ctx context.Context, l *lab) (result *table, err error) {
	file, err := l.sqliteWith(ctx, framePerks)
	if err != nil {
		return nil, err
	}
	perksd, err := l.serve(ctx, file)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, perksd.stop()) }()
	slow := &slowService{next: http.DefaultTransport}
	direct, err := client.New(client.Config{BaseURL: perksd.url(""), Tokens: client.StaticToken(perksd.token)})
	if err != nil {
		return nil, err
	}
	delayed, err := client.New(client.Config{BaseURL: perksd.url(""), Tokens: client.StaticToken(perksd.token), Transport: slow})
	if err != nil {
		return nil, err
	}
	l.say("frames: pressing keys over %s perks, each answer takes %s", grouped(framePerks), frameDelay)
	t := newTable("From a key to its frame (`frames`)", "what", "frames", "p50", "p99")
	t.header[4] = "worst, ms"
	all, err := direct.Perks(ctx, client.PerkListOptions{})
	if err != nil {
		return nil, err
	}
	s := newStage(screen.Account{Profile: screen.Profile{Name: "bench", APIURL: perksd.url(""), ClientID: "bench"}, Client: delayed})
	if err := s.until(ctx, "the list", func() bool { return s.shows(grouped(all.Meta.Total)) }); err != nil {
		return nil, err
	}
	for range frameKeys / 20 {
		s.press("jjjjjjjjjjkkkkkjjjGg")
	}
	s.sumUp(t, "moving about the list")
	for _, size := range [][2]int{{80, 24}, {30, 8}, {120, 40}, {200, 60}} {
		s.send(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
	}
	s.sumUp(t, "changing the size")

	s.press("/")
	for _, letter := range frameFilter {
		s.press(string(letter))
		if err := s.pass(ctx, 300*time.Millisecond); err != nil { // longer than the pause that a filter waits for the next letter
			return nil, err
		}
	}
	s.sumUp(t, "typing a filter")
	alive := slow.alive.Load()
	most := slow.asked.Load()
	wanted, err := direct.Perks(ctx, client.PerkListOptions{Query: strings.TrimSpace(frameFilter)})
	if err != nil {
		return nil, err
	}
	if err := s.until(ctx, "the rows of the last filter", func() bool { return s.shows(grouped(wanted.Meta.Total)) && s.shows(firstWord(wanted)) }); err != nil {
		return nil, err
	}
	s.sumUp(t, "answers that come")
	t.note("Of the %d requests for lists, %d was under way after the last of %d quick changes of the filter; the rows are those of the last (%s of %s perks).",
		most, alive, len(frameFilter), grouped(wanted.Meta.Total), grouped(framePerks))
	if alive != 1 {
		t.missed++
		t.note("MISSED: exactly one request should have been under way.")
	}
	return t, nil
}

func firstWord(page api.Page[api.Perk]) string {
	if len(page.Data) == 0 {
		return ""
	}
	word, _, _ := strings.Cut(page.Data[0].Title, " ")
	return word
}

// slowService lets every request wait before it is sent on, and counts those that wait or are answered.
type slowService struct {
	next  http.RoundTripper
	alive atomic.Int64
	asked atomic.Int64
}

// RoundTrip waits, unless the request is given up meanwhile.
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
