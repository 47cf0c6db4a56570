package endurance

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	_ "example.com/perks/cli" // perksctl is built from it: a change must invalidate cached results of these tests
	"example.com/perks/cmd/dev/programs"
	"example.com/perks/store/storetest"
)

// directory holds perksctl while the tests run.
var dir string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(func() int {
		// They mostly wait, and not for the processor. serverSlots bounds those that measure times.
		err := flag.Set("test.parallel", "32")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		if dir, err = os.MkdirTemp("", "perksctl-"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		return programs.Tests{Of: m}.Run()
	}())
}

// perksctl is the program's path. The first caller builds it.
var perksctl = sync.OnceValues(func() (path string, err error) {
	return filepath.Join(dir, "perksctl"),
		programs.Build(context.Background(), dir, "example.com/perks/cmd/perksctl")
})

// serverSlots bounds how many tests of perksd run at once: they measure it, and a database, against time limits.
var serverSlots = make(chan struct{}, 4)

// parallel makes a test of perksd run beside others.
func parallel(t *testing.T) {
	t.Helper()
	t.Parallel()
	serverSlots <- struct{}{}
	t.Cleanup(func() { <-serverSlots })
}

// overEachStore runs a test over SQLite, where it has one server, and over PostgreSQL, where it has two.
func overEachStore(t *testing.T, test func(t *testing.T, i *programs.Installation, servers int)) {
	t.Run("SQLite", func(t *testing.T) {
		parallel(t)
		test(t, programs.InstallOver(t, "sqlite:"+filepath.Join(t.TempDir(), "perks.db")), 1)
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		parallel(t)
		test(t, programs.InstallOver(t, storetest.PostgresDatabase(t)), 2)
	})
}

// isLong reports whether to run the long form of the tests.
func isLong() bool { return os.Getenv("PERKS_ENDURANCE") == "long" }

const (
	pollInterval = 20 * time.Millisecond
	// of polls that are many requests, which would slow down the tests beside them
	busyInterval = 100 * time.Millisecond
	atLast       = 2 * time.Minute // bounds every wait, on a busy machine
)

// eventually polls until the condition is true, and returns how long that took. It fails the test after the time limit.
func eventually(t *testing.T, within time.Duration, what string, condition func() bool) time.Duration {
	t.Helper()
	begun := time.Now()
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	for !condition() {
		if time.Since(begun) > within {
			t.Fatalf("it took longer than %s until %s", within, what)
		}
		<-poll.C
	}
	return time.Since(begun)
}
