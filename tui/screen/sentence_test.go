package screen_test

import (
	"errors"
	"testing"
	"time"

	"example.com/perks/tui/screen"
)

func TestSentence(t *testing.T) {
	for _, test := range []struct {
		before string
		err    error
		want   string
	}{
		{"", errors.New("the keyring is locked"), "The keyring is locked."},
		{"", errors.New("The server did not reply. Try again."), "The server did not reply. Try again."},
		{"", errors.New("no perk (request 7)"), "No perk (request 7)"},
		{"The id was not copied: ", errors.New("this terminal has no clipboard"),
			"The id was not copied: this terminal has no clipboard."},
		{"", errors.New("éclair\x1b[31m\nis out\n"), "Éclair[31m is out."},
		{"", errors.New(""), ""},
		{"It failed: ", nil, ""},
	} {
		if got := screen.Sentence(test.before, test.err); got != test.want {
			t.Errorf("Sentence(%q, %v) = %q, want %q", test.before, test.err, got, test.want)
		}
	}
}

func TestATimeThatIsNotKnown(t *testing.T) {
	if when := new(screen.Shell).When(time.Time{}); when != "not known" {
		t.Errorf("it was redeemed %s", when)
	}
}
