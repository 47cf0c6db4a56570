package endurance

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	_ "example.com/perks/cli" // the program is made of it: when it changes, no result of these tests counts any more
)

// folder holds the program while the tests run.
var folder string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(func() int {
		// They wait for the most part, and not for the processor.
		err := flag.Set("test.parallel", "32")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		if folder, err = os.MkdirTemp("", "perksctl-"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(folder)
		return m.Run()
	}())
}

// built is the program's path. Who asks first builds it.
var built = sync.OnceValues(func() (path string, err error) {
	path = filepath.Join(folder, "perksctl")
	if output, err := exec.Command("go", "build", "-o", path, "example.com/perks/cmd/perksctl").CombinedOutput(); err != nil {
		return "", fmt.Errorf("building perksctl: %w\n%s", err, output)
	}
	return path, nil
})

// isLong tells whether there is time for the long form of the tests.
func isLong() bool { return os.Getenv("PERKS_ENDURANCE") == "long" }

const (
	often  = 20 * time.Millisecond // between two questions whether something has come about
	atLast = 30 * time.Second      // by when anything has come about, however busy the machine is
)

// eventually asks until the answer is yes. It fails the test when that takes too long.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	late := time.After(atLast)
	next := time.NewTicker(often)
	defer next.Stop()
	for !is() {
		select {
		case <-late:
			t.Fatalf("it took longer than %s until %s", atLast, what)
		case <-next.C:
		}
	}
}
