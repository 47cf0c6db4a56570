package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/creack/pty"
)

// withTrials fills the sandbox with two perks, a category, two users and a redemption.
func withTrials(t *testing.T) *operator {
	o := withSandbox(t)
	o.must("import", "perks", "--sandbox", o.file("perks.csv", twoPerks))
	o.must("import", "users", "--sandbox", o.file("users.csv", importable["users"]))
	o.inSandbox().redeem("r-1", "spa", "alice")
	return o
}

func TestSandboxReset(t *testing.T) {
	o := withTrials(t)
	live := o.everything() + o.must("audit", "-o", "jsonl")
	name := o.inSandbox().database().name()
	equal(t, "reset", "Emptied the sandbox "+name+" of 2 perks, 2 users and 1 redemption.\n",
		o.must("sandbox", "reset", "--yes"))
	equal(t, "the sandbox", newOperatorLike(o).everything(), o.inSandbox().everything())
	equal(t, "its audit log",
		`{"at":"2026-06-15T12:00:00Z","actor":"operator","action":"sandbox.reset","subject":"sandbox",`+
			`"before":{"perks":2,"categories":0,"users":2,"redemptions":1,"idempotency_keys":0},"after":null}`+"\n",
		o.must("audit", "--sandbox", "--subject", "sandbox", "-o", "jsonl"))
	equal(t, "reset again", "Emptied the sandbox "+name+" of nothing.\n",
		o.must("sandbox", "reset", "--yes", "--sandbox"))
	equal(t, "refilled", "Emptied the sandbox "+name+" of nothing.\n"+
		"Imported 500 perks and 1,200 users into the sandbox, which has no properties.\n",
		o.must("sandbox", "reset", "--yes", "--demo-data"))
	equal(t, "the live database", live, o.everything()+o.must("audit", "-o", "jsonl"))
}

// newOperatorLike returns an operator with an empty database of the same kind.
func newOperatorLike(o *operator) *operator {
	fresh := newOperator(o.t)
	fresh.must("migrate")
	return fresh
}

func TestSandboxResetNeedsATerminalOrYes(t *testing.T) {
	o := withTrials(t)
	before := o.inSandbox().everything()
	o.env["PERKSD_YES"] = "true" // no variable confirms it
	message := "perksd: cannot ask for confirmation without a terminal: add --yes to empty the sandbox (see 'perksd " +
		"sandbox reset --help')\n"
	if got := o.runWith("yes\n", "sandbox", "reset"); got.code != exitUsage || got.stderr != message ||
		got.stdout != "" {
		t.Errorf("%+v", got)
	}
	equal(t, "the sandbox", before, o.inSandbox().everything())
}

func TestSandboxResetAsksOnATerminal(t *testing.T) {
	o := withTrials(t)
	before := o.inSandbox().everything()
	name := o.inSandbox().database().name()
	question := "This deletes every perk, category, user and redemption of the sandbox " + name +
		".\nType yes to continue: "
	for _, answer := range []string{"\n", "y\n", "Yes\n", "yes please\n", "no\n", "\x04"} {
		code, stdout, screen := o.atTerminal(t.Context(), answer, "sandbox", "reset")
		if code != exitFailure || stdout != "" || !strings.Contains(screen, question) ||
			!strings.HasSuffix(screen, "perksd: cancelled; nothing was changed\n") {
			t.Errorf("with the answer %q: exit code %d, stdout %q, on the screen %q", answer, code, stdout, screen)
		}
	}
	interrupted, interrupt := context.WithCancel(t.Context())
	interrupt()
	if code, _, screen := o.atTerminal(interrupted, "", "sandbox", "reset"); code != exitFailure {
		t.Errorf("interrupted: exit code %d, on the screen %q", code, screen)
	}
	equal(t, "the sandbox", before, o.inSandbox().everything())

	code, stdout, _ := o.atTerminal(t.Context(), "yes\n", "sandbox", "reset")
	if want := "Emptied the sandbox " + name + " of 2 perks, 2 users and 1 redemption.\n"; code != exitDone ||
		stdout != want {
		t.Errorf("with yes: exit code %d, stdout %q", code, stdout)
	}
}

// atTerminal runs a command at a terminal, with typed as its input. It returns stdout, which is a pipe, and the text on
// the screen.
func (o *operator) atTerminal(ctx context.Context, typed string, args ...string) (code int, stdout, screen string) {
	o.t.Helper()
	screenSide, terminal, err := pty.Open()
	if err != nil {
		o.t.Fatal(err)
	}
	defer screenSide.Close()
	if _, err := io.WriteString(screenSide, typed); err != nil {
		o.t.Fatal(err)
	}
	shown := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(screenSide) // returns an error when the terminal is closed
		shown <- string(text)
	}()
	var out bytes.Buffer
	p := o.program("", &out, terminal)
	p.stdin = terminal
	code = p.run(ctx, args)
	if err := terminal.Close(); err != nil {
		o.t.Fatal(err)
	}
	return code, out.String(), strings.ReplaceAll(<-shown, "\r\n", "\n")
}
