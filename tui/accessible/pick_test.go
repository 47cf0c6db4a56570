package accessible_test

import (
	"strings"
	"testing"

	"example.com/perks/tui/tuitest"
)

func TestPickTakesNumberAsID(t *testing.T) {
	w := service(t)
	transcript := runScript(t, func(s *settings) { s.options.Accounts = tuitest.NewAccounts(t, nil) }, w.URL, "acme", "", w.secret,
		"open property", "7", "open property", "one", "1", "q")
	for _, want := range []string{
		"\n7\nAnother property ...\nOne of these, or another; empty line cancels: «one»\n\"one\" must be a whole number above 0.\n",
		"cancels: «1»\nProperty 1",
	} {
		if !strings.Contains(transcript, want) {
			t.Errorf("missing %q:\n%s", want, transcript)
		}
	}
}
