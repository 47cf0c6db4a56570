package accessible_test

import (
	"strings"
	"testing"

	"example.com/perks/tui/tuitest"
)

func TestAListOpensAnID(t *testing.T) {
	w := service(t)
	transcript := runScript(t, func(s *settings) { s.options.Accounts = tuitest.NewAccounts(t, nil) }, w.URL, "acme",
		"", w.secret, "properties", "7", "q")
	if want := "\nProperty 7"; !strings.Contains(transcript, want) {
		t.Errorf("missing %q:\n%s", want, transcript)
	}
}
