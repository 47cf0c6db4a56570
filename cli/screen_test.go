package cli_test

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/creack/pty"
	"github.com/mattn/go-runewidth"
	"golang.org/x/term"

	"example.com/perks/api"
	"example.com/perks/cli/session"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
)

// onScreen runs the command with standard output on a terminal with the columns, 0 for an unknown size.
func (x *terminal) onScreen(columns int, args ...string) (shown, messages string, code int) {
	x.t.Helper()
	screen, tty, err := pty.Open()
	if err != nil {
		x.t.Fatal(err)
	}
	defer screen.Close()
	if _, err := term.MakeRaw(int(tty.Fd())); err != nil {
		x.t.Fatal(err)
	}
	if err := pty.Setsize(tty, &pty.Winsize{Rows: 24, Cols: uint16(columns)}); err != nil {
		x.t.Fatal(err)
	}
	cmd := x.process(args...)
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, &stderr
	if err := cmd.Start(); err != nil {
		x.t.Fatal(err)
	}
	tty.Close()
	text, _ := io.ReadAll(screen) // ends with EIO when the command does
	_ = cmd.Wait()
	return string(text), stderr.String(), cmd.ProcessState.ExitCode()
}

var isID = regexp.MustCompile(`^([A-Z]+|[a-z0-9-]+)$`)

func TestRealScreens(t *testing.T) {
	server := servertest.Start(t)
	facts := seed(server)
	wide := "Family 👩‍👩‍👧‍👦"
	server.ImportPerks(store.PerkRecord{Perk: api.Perk{
		ID: "sushi", Title: "寿司 for two at the long, long table by the window",
		Description: strings.Repeat("長い説明 and words ", 20), Category: &wide, City: "서울",
	}})
	x := newTerminal(t, map[string]string{session.EnvClientSecret: facts["SECRET"], "COLUMNS": ""})
	x.must("login", "--api-url", facts["API_URL"], "--client-id", facts["CLIENT"])
	x.must("perk", "redeem", "sushi", "--user", "alice")
	for columns, edge := range map[int]int{0: 80, 1: 1, 20: 20, 40: 40, 80: 80, 120: 120} {
		for _, line := range []string{
			"perk list", "perk list --all", "perk get sushi", "perk get sushi coffee", "perk categories",
			"user perks alice", "user perks alice --type redeemed",
			"property get 42", "property get 42 43", "profile list", "profile show", "auth status",
			"api health -o table",
		} {
			for _, colour := range []string{"", "1"} {
				x.env["NO_COLOR"] = colour
				shown, messages, code := x.onScreen(columns, strings.Fields(line)...)
				if code != 0 || shown == "" || strings.Contains(shown, "\r") || colour != "" &&
					strings.Contains(shown, "\x1b") {
					t.Errorf("perksctl %s on %d columns: exit code %d, shown %q\n%s", line, columns, code, shown,
						messages)
				}
				plain := strings.NewReplacer("\x1b[1m", "", "\x1b[0m", "").Replace(shown)
				for row := range strings.SplitSeq(plain, "\n") {
					// Ids are whole, even where they are wider than the screen.
					if width := runewidth.StringWidth(row); width > edge && !isID.MatchString(row) {
						t.Errorf("perksctl %s on %d columns: %q is %d wide", line, columns, row, width)
					}
				}
			}
		}
	}
}

func TestCOLUMNSIsUsedIfTerminalHasNoSize(t *testing.T) {
	x, _ := loggedIn(t)
	width := func(columns int, environment string) int {
		x.env["COLUMNS"], x.env["NO_COLOR"] = environment, "1"
		shown, _, _ := x.onScreen(columns, "perk", "get", "spa-day", "coffee", "museum", "--fields",
			"id,title,category,created_at,updated_at")
		widest := 0
		for row := range strings.SplitSeq(shown, "\n") {
			widest = max(widest, runewidth.StringWidth(row))
		}
		return widest
	}
	narrow, wide := width(0, "30"), width(0, "")
	if narrow > 30 || wide <= 30 {
		t.Errorf("%d columns with COLUMNS=30, %d without", narrow, wide)
	}
	if got := width(60, "30"); got <= 30 {
		t.Errorf("COLUMNS=30 overrides the terminal's size: %d", got)
	}
}

func TestInterruptEndsAWatch(t *testing.T) {
	x, _ := loggedIn(t)
	screen, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer screen.Close()
	cmd := x.process("property", "get", "42", "--watch")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tty.Close()
	lines := bufio.NewScanner(screen)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "no change so far") {
			_ = cmd.Process.Signal(os.Interrupt)
		}
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("exit code %d", code)
	}
}
