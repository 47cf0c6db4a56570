package redeem_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/muesli/termenv"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/theme"
)

func TestTypedUserIsCheckedAfterAPause(t *testing.T) {
	l := startServer(t)
	l.open("coffee")
	l.Settle()
	after, pauses := l.App.Shell().After, 0
	l.App.Shell().After = func(pause time.Duration, msg tea.Msg) tea.Cmd {
		if pause == 300*time.Millisecond {
			pauses++
		}
		return after(pause, msg)
	}
	l.Play(`"alice" => ✓ can redeem
		settle`)
	if asked := l.questions(); pauses != 5 || !slices.Equal(asked, []string{"alice"}) {
		t.Errorf("asked about %q, after %d pauses", asked, pauses)
	}
	l.Play(`
		"x"       => no such user
		elsewhere: coffee
		backspace => already redeemed on`)
	l.See("already redeemed on " + display.Day(l.stored()[0].RedeemedAt, l.App.Shell().Now()))
	l.Play(`ctrl+u ".." settle => ≠ redeemed on`) // no id: not asked for
	if asked := l.questions(); len(asked) != 3 {
		t.Errorf("asked about %q", asked)
	}
}

func TestEligibilityThatIsNotOfferedIsAskedForOnce(t *testing.T) {
	for name, scopes := range map[string][]api.Scope{"service": nil, "scope": {api.ScopePerksRedeem}} {
		t.Run(name, func(t *testing.T) {
			l := startServer(t, scopes...)
			if l.Settle(); scopes == nil {
				l.Play("eligibility: unsupported")
			}
			_, before := l.App.MessagesSince(0)
			l.Play(`
				open: coffee
				"a" settle "l" settle "i" settle "c" settle "e" settle`)
			if asked := l.questions(); len(asked) != 1 {
				t.Errorf("asked about %q", asked)
			}
			if _, said := l.App.MessagesSince(0); len(said) > len(before) {
				t.Errorf("said %q", said)
			}
			l.Play(`ctrl+s y => [redeemed] Coffee for two`)
		})
	}
}

func TestRecentUserIsCompleted(t *testing.T) {
	d := startServer(t)
	for _, user := range []string{"bob", "alfons", "alice"} {
		if err := d.Memory.Remember(screen.Profile{}, "user", user); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []theme.Name{theme.None, theme.Dark, theme.Light, theme.HighContrast} {
		for _, key := range []string{"right", "end"} {
			look := theme.New(name, termenv.TrueColor)
			d.App.Shell().Theme = look
			d.Play(`
				open: coffee
				settle "al"`)
			view := strings.ReplaceAll(d.App.View(), "\x1b[0m"+look.Ground, "\x1b[0m") // it follows every style
			view = strings.ReplaceAll(view, look.Editing.Render(""), "")
			rest := look.Editing.Foreground(look.Muted.GetForeground()).Render("ice")
			if name == theme.None {
				d.See("al▏(ice)") // the latest of two
			} else if !strings.Contains(view, look.Cursor.Render(" ")+rest) {
				t.Errorf("%s shows no completion:\n%s", name, d.Screen())
			}
			d.Play(`
				settle    => ≠ no such user
				left $key
				form: user_id=al
				$key      => ✓ can redeem
				form: user_id=alice
				$key "x"
				form: user_id=alicex
				settle`, "$key", key) // inside the text the key moves
		}
	}
}

func TestEligibilityIsBelowTheUser(t *testing.T) {
	d := startServer(t)
	d.Play(`open: coffee for alice => ✓ can redeem`)
	for _, width := range []int{60, 80, 120, 200} {
		d.Resize(width, 24)
		lines := strings.Split(d.Screen(), "\n")
		user := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, "alice") })
		if user < 0 || !strings.Contains(lines[user+1], "✓ can redeem") {
			t.Errorf("at %d columns:\n%s", width, d.Screen())
		}
	}
}

// TestUsersAreNotCompletedForAClientThatMayNotListThem says nothing of that, either.
func TestUsersAreNotCompletedForAClientThatMayNotListThem(t *testing.T) {
	l := startServer(t, api.DefaultScopes()...)
	l.Play(`open: coffee
		"ali" settle => no such user | ≠ (ce)`)
	if _, said := l.App.MessagesSince(0); len(said) > 0 {
		t.Errorf("said %q", said)
	}
}
