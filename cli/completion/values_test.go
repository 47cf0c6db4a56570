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

// fixture asks for the same values repeatedly, with a fake clock and a configurable error.
type fixture struct {
	*values
	t        *testing.T
	clock    time.Time
	requests int
	err      error
}

func newFixture(t *testing.T) *fixture {
	env := map[string]string{
		session.EnvAPIURL: "http://127.0.0.1:1/v2", session.EnvToken: "t", session.EnvConfigDir: t.TempDir(),
		EnvTimeout: "30s",
	}
	s, _, _ := command.BufferedStreams("")
	run := session.New(s, func(name string) string { return env[name] }, "test")
	run.Bind(pflag.NewFlagSet("", pflag.ContinueOnError))
	f := &fixture{values: newValues(run), t: t, clock: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	f.now = func() time.Time { return f.clock }
	return f
}

// wantReply asks and wants the reply to the nth request, or none if n is 0.
func (f *fixture) wantReply(nth int) {
	f.t.Helper()
	got := f.ask(source{"a question", func(context.Context, *client.Client, string) (reply, error) {
		f.requests++
		return reply{Items: []item{{ID: strconv.Itoa(f.requests)}}}, f.err
	}}, "")
	var want []item
	if nth > 0 {
		want = []item{{ID: strconv.Itoa(nth)}}
	}
	if !slices.Equal(got.Items, want) {
		f.t.Errorf("got %v, want %v", got.Items, want)
	}
}

func TestRepliesAreCachedForAMinute(t *testing.T) {
	f := newFixture(t)
	f.wantReply(1)
	f.clock = f.clock.Add(59 * time.Second)
	f.wantReply(1)
	f.clock = f.clock.Add(time.Second)
	f.wantReply(2)
	if f.requests != 2 {
		t.Errorf("%d requests, want 2", f.requests)
	}
}

func TestCachedReplyIsUsedIfServiceIsUnreachable(t *testing.T) {
	f := newFixture(t)
	f.wantReply(1)
	f.clock = f.clock.Add(time.Hour)
	f.err = errors.New("unreachable")
	f.wantReply(1)
	f.deadline = time.Now().Add(-time.Second) // no time left
	f.wantReply(1)
}

func TestNoCachedReplyAfterRefusal(t *testing.T) {
	f := newFixture(t)
	f.wantReply(1)
	f.clock = f.clock.Add(time.Hour)
	f.err = &client.Error{Status: http.StatusForbidden}
	f.wantReply(0)
}

func TestRequestThatIgnoresItsContextIsAbandoned(t *testing.T) {
	f := newFixture(t)
	f.deadline = time.Now().Add(20 * time.Millisecond)
	release := make(chan struct{})
	defer close(release)
	hangs := func(context.Context, *client.Client, string) (reply, error) {
		<-release
		return reply{}, nil
	}
	got := f.ask(source{"a question", hangs}, "")
	if got.Items != nil {
		t.Errorf("got %v", got.Items)
	}
}

func TestCompletionDoesNotUseTheKeyring(t *testing.T) {
	env := func(string) string { return "set" }
	for _, args := range [][]string{{"__complete", "perk", ""}, {"__completeNoDesc", ""}} {
		if got := Environment(args, env); got(session.EnvKeyring) != "off" || got("HOME") != "set" {
			t.Errorf("%q: %s, %s", args, got(session.EnvKeyring), got("HOME"))
		}
	}
	for _, args := range [][]string{{}, {"perk", "__complete"}} {
		if Environment(args, env)(session.EnvKeyring) != "set" {
			t.Errorf("%q disables the keyring", args)
		}
	}
}
