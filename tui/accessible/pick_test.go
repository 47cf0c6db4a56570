package accessible_test

import (
	"strings"
	"testing"

	"example.com/perks/tui/tuitest"
)

func TestAnIdIsNotTakenForANumberOfTheList(t *testing.T) {
	w := service(t)
	said := talk(t, func(s *setting) { s.options.Accounts = tuitest.NewAccounts(t, nil) }, w.URL, "acme", "", w.secret,
		"open property", "7", "open property", "one", "1", "q")
	for _, want := range []string{
		"\n7\nAnother property ...\nOne of these, or another; empty line cancels: «one»\n\"one\" must be a whole number above 0.\n",
		"cancels: «1»\nProperty 1",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("%q was not said:\n%s", want, said)
		}
	}
}
