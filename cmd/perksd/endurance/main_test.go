package endurance

import (
	"testing"
	"time"

	"example.com/perks/cmd/dev/programs"
)

func TestMain(m *testing.M) { programs.Main(m) }

const (
	often  = 20 * time.Millisecond // between two questions whether something has come about
	atLast = 30 * time.Second      // by when anything has come about, however busy the machine is
)

// eventually asks until the answer is yes and returns how long that took. It fails the test when it takes too long.
func eventually(t *testing.T, within time.Duration, what string, is func() bool) time.Duration {
	t.Helper()
	begun := time.Now()
	next := time.NewTicker(often)
	defer next.Stop()
	for !is() {
		if time.Since(begun) > within {
			t.Fatalf("it took longer than %s until %s", within, what)
		}
		<-next.C
	}
	return time.Since(begun)
}
