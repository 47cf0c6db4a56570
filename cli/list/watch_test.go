package list_test

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/cli/command"
	"example.com/perks/cli/list"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
	"example.com/perks/server"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
)

// watching is a list of perks that is watched.
type watching struct {
	server   *servertest.Server
	ahead    atomic.Int64  // of the server's clock
	id       string        // of the client
	complete chan struct{} // a round is
	ticks    chan time.Time
	out, err *bytes.Buffer
	cancel   context.CancelFunc
	done     chan error
}

var start = time.Date(2030, 5, 10, 12, 0, 0, 0, time.Local)

func watch(t *testing.T, args string, onTerminal bool) *watching {
	t.Helper()
	w := &watching{complete: make(chan struct{}), ticks: make(chan time.Time), done: make(chan error, 1)}
	w.server = servertest.Start(t, func(config *server.Config) {
		config.Now = func() time.Time { return time.Now().Add(time.Duration(w.ahead.Load())) }
	})
	w.server.ImportPerks(perk("coffee", "Coffee"), perk("spa", "Spa"))
	id, secret := w.server.Client()
	w.id = id
	env := map[string]string{
		session.EnvAPIURL: w.server.URL, session.EnvClientID: id, session.EnvClientSecret: secret,
		session.EnvConfigDir: t.TempDir(), session.EnvKeyring: "off",
	}
	var streams *command.Streams
	streams, w.out, w.err = command.BufferedStreams("")
	if streams.OutTTY = onTerminal; onTerminal {
		streams.Width = 60
	}
	s := session.New(streams, func(name string) string { return env[name] }, "test")
	s.Output.Now = func() time.Time { return start }
	s.WaitBudget = time.Millisecond
	flags := list.Flags{Watch: list.Watch{Next: func(ctx context.Context) (time.Time, error) {
		w.complete <- struct{}{}
		select {
		case at := <-w.ticks:
			return at, nil
		case <-ctx.Done():
			return time.Time{}, ctx.Err()
		}
	}}}
	cmd := &cobra.Command{Use: "list", SilenceErrors: true, SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			view := output.View{Columns: []string{"id", "title"}, ID: "id"}
			return list.Connect(cmd, s, flags, view, nil, func(c *client.Client) client.Pages[api.Perk] {
				return c.PerkPages(cmd.Context(), api.PerkFilter{}, client.ListOptions{Sort: "id"})
			})
		}}
	global := pflag.NewFlagSet("", pflag.ContinueOnError)
	s.Bind(global)
	cmd.Flags().AddFlagSet(global)
	flags.Bind(cmd, nil)
	cmd.SetArgs(strings.Fields(args))
	var ctx context.Context
	ctx, w.cancel = context.WithCancel(context.Background())
	t.Cleanup(w.cancel)
	go func() { w.done <- cmd.ExecuteContext(ctx) }()
	return w
}

func perk(id, title string) store.PerkRecord {
	return store.PerkRecord{Perk: api.Perk{ID: id, Title: title}}
}

// round begins a round so long after the start, and waits until it is complete.
func (w *watching) round(after time.Duration) {
	w.ticks <- start.Add(after)
	<-w.complete
}

func (w *watching) interrupt(t *testing.T) {
	t.Helper()
	w.cancel()
	if err := <-w.done; !errors.Is(err, context.Canceled) || output.ExitCode(err) != command.ExitInterrupted {
		t.Errorf("the end: %v", err)
	}
}

func TestWatchPrintsNewAndChangedRecordsForPrograms(t *testing.T) {
	w := watch(t, "--watch --output jsonl --fields id,title --debug", false)
	<-w.complete
	w.round(2 * time.Second)
	w.round(4 * time.Second) // nothing has changed until here
	w.server.ImportPerks(perk("spa", "Sauna"), perk("zoo", "Zoo"))
	w.round(6 * time.Second)
	w.interrupt(t)
	want := `{"id":"coffee","title":"Coffee"}
{"id":"spa","title":"Spa"}
{"id":"spa","title":"Sauna"}
{"id":"zoo","title":"Zoo"}
`
	if w.out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", w.out, want)
	}
	if unchanged := strings.Count(w.err.String(), "< 304 Not Modified"); unchanged < 2 {
		t.Errorf("%d rounds were not conditional:\n%s", unchanged, w.err)
	}
}

func TestWatchRedrawsTheTerminal(t *testing.T) {
	w := watch(t, "--watch=5s", true)
	<-w.complete
	w.round(5 * time.Second)
	w.server.ImportPerks(perk("spa", "Sauna"), perk("zoo", "Zoo"))
	w.round(10 * time.Second)
	w.round(15 * time.Second)
	w.round(25 * time.Second) // the marks are old
	w.interrupt(t)
	want := `  ID      TITLE
  coffee  Coffee
  spa     Spa
12:00:00, no change so far
UP4
  ID      TITLE
  coffee  Coffee
  spa     Spa
12:00:05, no change so far
UP4
  ID      TITLE
  coffee  Coffee
* spa     Sauna
+ zoo     Zoo
12:00:10, last change: 1 new (+), 1 changed (*)
UP5
  ID      TITLE
  coffee  Coffee
* spa     Sauna
+ zoo     Zoo
12:00:15, last change at 12:00:10: 1 new (+), 1 changed (*)
UP5
  ID      TITLE
  coffee  Coffee
  spa     Sauna
  zoo     Zoo
12:00:25, last change at 12:00:10: 1 new (+), 1 changed (*)
`
	got := regexp.MustCompile("\r\x1b\\[(\\d+)A\x1b\\[J").ReplaceAllString(w.out.String(), "UP$1\n")
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestWatchGoesOnAfterAFailure(t *testing.T) {
	w := watch(t, "--watch --output jsonl --fields id", false)
	<-w.complete
	w.round(2 * time.Second)
	w.server.Stop()
	w.round(4 * time.Second)
	w.round(6 * time.Second)
	w.interrupt(t)
	if got := strings.Count(w.err.String(), "The refresh failed: No reply from "); got != 1 {
		t.Errorf("%d warnings:\n%s", got, w.err)
	}
	if w.out.String() != "{\"id\":\"coffee\"}\n{\"id\":\"spa\"}\n" {
		t.Errorf("out %s", w.out)
	}
}

func TestWatchEndsWithTheTimeout(t *testing.T) {
	w := watch(t, "--watch --output jsonl --fields id --timeout 3s", false)
	<-w.complete
	if err := <-w.done; err != nil {
		t.Error(err)
	}
	if w.out.String() != "{\"id\":\"coffee\"}\n{\"id\":\"spa\"}\n" {
		t.Errorf("out %s", w.out)
	}
}

func TestWatchEnds(t *testing.T) {
	for args, want := range map[string]string{
		"--watch":                               "--watch redraws a terminal, and there is none.",
		"--watch --output json":                 "--watch redraws a terminal, and there is none.",
		"--watch=999ms --output jsonl":          "--watch must be at least 1s",
		"--watch=0s --output jsonl":             "--watch must be at least 1s",
		"--watch --output jsonl --fields no":    `"no" is not a field here.`,
		"--watch --output jsonl --profile none": `There is no profile "none".`,
	} {
		if err := <-watch(t, args, false).done; err == nil || !strings.HasPrefix(err.Error(), want) ||
			output.ExitCode(err) != command.ExitUsage {
			t.Errorf("%s: %v", args, err)
		}
	}
	w := watch(t, "--watch --output jsonl", false)
	<-w.complete
	w.round(2 * time.Second)
	if err := w.server.Live.SetClientDisabled(context.Background(), w.id, true, store.Operator, start); err != nil {
		t.Fatal(err)
	}
	w.ahead.Store(int64(time.Minute)) // the server looks at the client again
	w.ticks <- start.Add(4 * time.Second)
	select {
	case err := <-w.done:
		if output.ExitCode(err) != command.ExitDenied {
			t.Errorf("a disabled client: %v", err)
		}
	case <-w.complete:
		t.Error("a disabled client went on")
	}
}
