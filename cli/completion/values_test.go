package completion

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"example.com/perks/api/client"
	"example.com/perks/cli/command"
	"example.com/perks/cli/session"
)

// asker is a live that is asked one question again and again, at an instant and with an answer of the test's choice.
type asker struct {
	*values
	t     *testing.T
	clock time.Time
	asked int
	err   error
}

func newAsker(t *testing.T) *asker {
	env := map[string]string{
		session.EnvAPIURL: "http://127.0.0.1:1/v2", session.EnvToken: "t", session.EnvConfigDir: t.TempDir(), EnvTimeout: "30s",
	}
	s, _, _ := command.BufferedStreams("")
	run := session.New(s, func(name string) string { return env[name] }, "test")
	run.Bind(pflag.NewFlagSet("", pflag.ContinueOnError))
	a := &asker{values: newValues(run), t: t, clock: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	a.now = func() time.Time { return a.clock }
	return a
}

// wants asks, and wants the answer that was given to the nth request, 0 for none.
func (a *asker) wants(nth int) {
	a.t.Helper()
	got := a.ask("a question", func(context.Context, *client.Client) (reply, error) {
		a.asked++
		return reply{Items: []item{{ID: strconv.Itoa(a.asked)}}}, a.err
	})
	var want []item
	if nth > 0 {
		want = []item{{ID: strconv.Itoa(nth)}}
	}
	if !slices.Equal(got.Items, want) {
		a.t.Errorf("got %v, want %v", got.Items, want)
	}
}

func TestAnAnswerIsGivenAgainForAMinute(t *testing.T) {
	a := newAsker(t)
	a.wants(1)
	a.clock = a.clock.Add(59 * time.Second)
	a.wants(1)
	a.clock = a.clock.Add(time.Second)
	a.wants(2)
	if a.asked != 2 {
		t.Errorf("the service was asked %d times", a.asked)
	}
}

func TestAnOldAnswerServesWhereNoNewOneIsToBeHad(t *testing.T) {
	a := newAsker(t)
	a.wants(1)
	a.clock = a.clock.Add(time.Hour)
	a.err = errors.New("unreachable")
	a.wants(1)
	a.deadline = time.Now().Add(-time.Second) // no time is left
	a.wants(1)
}

func TestARefusedLoginIsOfferedNothing(t *testing.T) {
	a := newAsker(t)
	a.wants(1)
	a.clock = a.clock.Add(time.Hour)
	a.err = &client.Error{Status: http.StatusForbidden}
	a.wants(0)
}

func TestWhatDoesNotHeedItsContextIsLeftBehind(t *testing.T) {
	a := newAsker(t)
	a.deadline = time.Now().Add(20 * time.Millisecond)
	release := make(chan struct{})
	defer close(release)
	got := a.ask("a question", func(context.Context, *client.Client) (reply, error) {
		<-release
		return reply{}, nil
	})
	if got.Items != nil {
		t.Errorf("got %v", got.Items)
	}
}

func TestTheCacheForgetsItsOldestAnswers(t *testing.T) {
	kept := &cache{Replies: map[string]reply{}}
	begun := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i := range maxReplies + 3 {
		kept.add(strconv.Itoa(i), reply{At: begun.Add(time.Duration(i) * time.Second)})
	}
	_, oldest := kept.Replies["2"]
	_, next := kept.Replies["3"]
	if len(kept.Replies) != maxReplies || oldest || !next {
		t.Errorf("%d answers are kept; the oldest: %t, the next: %t", len(kept.Replies), oldest, next)
	}
}

func TestACompletionLeavesTheKeyringAlone(t *testing.T) {
	env := func(string) string { return "set" }
	for _, args := range [][]string{{"__complete", "perk", ""}, {"__completeNoDesc", ""}} {
		if got := Environment(args, env); got(session.EnvKeyring) != "off" || got("HOME") != "set" {
			t.Errorf("%q: %s, %s", args, got(session.EnvKeyring), got("HOME"))
		}
	}
	for _, args := range [][]string{{}, {"perk", "__complete"}} {
		if Environment(args, env)(session.EnvKeyring) != "set" {
			t.Errorf("%q switches the keyring off", args)
		}
	}
}
