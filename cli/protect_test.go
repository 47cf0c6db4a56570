package cli_test

import (
	"path/filepath"
	"strings"
	"testing"

	"example.com/perks/cli/command"
)

func TestProtectedProfileAsksForItsNameOnce(t *testing.T) {
	x, _ := loggedIn(t)
	x.must("profile", "set", "default", "--protected")
	rows := write(t, filepath.Join(t.TempDir(), "rows.csv"), "perk,user\nmuseum,alice\nmuseum,bob\ncoffee,bob\n")
	const question = "Profile default is protected. To change live data at "
	for _, test := range []struct {
		input, args string
		code, asked int
	}{
		{"defualt\n", "perk redeem coffee --user alice", command.ExitCancelled, 1},
		{"y\n", "perk redeem coffee --user alice", command.ExitCancelled, 1},
		{"", "perk redeem coffee --user alice", command.ExitCancelled, 1},
		{"", "perk redeem coffee --user alice --dry-run", 0, 0},
		{"", "perk list", 0, 0},
		{"default\n", "perk redeem coffee --user alice", 0, 1},
		{"default\n", "perk redeem --file " + rows, 0, 1},
		{"y\ndefault\n", "property delete 42 43", 0, 1},
		{"no\n", "property delete 99", command.ExitCancelled, 0},
	} {
		r := x.typing(test.input, strings.Fields(test.args)...)
		if r.code != test.code || strings.Count(r.err, question) != test.asked {
			t.Errorf("%s, typing %q: %+v", test.args, test.input, r)
		}
	}
}
