package redeem_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/muesli/termenv"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/store"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/theme"
)

func TestTypedUserIsCheckedAfterAPause(t *testing.T) {
	l := startServer(t)
	d := l.open("", "coffee")
	d.Settle()
	after, pauses := d.App.Shell().After, 0
	d.App.Shell().After = func(pause time.Duration, msg tea.Msg) tea.Cmd {
		if pause == 300*time.Millisecond {
			pauses++
		}
		return after(pause, msg)
	}
	d.Type("alice")
	d.See("✓ can redeem")
	d.Settle()
	if asked := l.questions(); pauses != 5 || !slices.Equal(asked, []string{"alice"}) {
		t.Errorf("asked about %q, after %d pauses", asked, pauses)
	}
	d.Type("x")
	d.See("no such user")
	l.redeemElsewhere("coffee")
	d.Press("backspace")
	d.See("already redeemed on " + display.Day(l.stored()[0].RedeemedAt, d.App.Shell().Now()))
	d.Clear()
	d.Type("..") // no id: not asked for
	d.Settle()
	if d.Shows("redeemed on") || len(l.questions()) != 3 {
		t.Errorf("asked about %q:\n%s", l.questions(), d.Screen())
	}
}

func TestEligibilityForSeveralPerksIsCounted(t *testing.T) {
	l := startServer(t)
	d := l.open("alice", "coffee", "gone", "old")
	d.See("can redeem 1 of 3: 1 sold out, 1 expired", "[sold out] All gone", "[expired] Old soup")
	d = l.open("alice", "coffee", "tea")
	d.See("✓ can redeem all 2")
	d.Press("shift+tab")
	d.Type("x")
	if d.Shows("can redeem") {
		t.Errorf("the advice about alice is still shown:\n%s", d.Screen())
	}
	d.See("no such user")
}

func TestEligibilityThatIsNotOfferedIsAskedForOnce(t *testing.T) {
	for name, lacks := range map[string]func(*faultyServer){
		"service": func(l *faultyServer) { l.unsupported = true },
		"scope":   func(l *faultyServer) { l.id, l.secret = l.server.Client(api.ScopePerksRedeem) },
	} {
		t.Run(name, func(t *testing.T) {
			l := startServer(t)
			lacks(l)
			d := l.open("", "coffee")
			for _, r := range "alice" {
				d.Type(string(r))
				d.Settle()
			}
			if asked := l.questions(); len(asked) != 1 {
				t.Errorf("asked about %q", asked)
			}
			if _, said := d.App.MessagesSince(0); len(said) > 0 {
				t.Errorf("said %q", said)
			}
			redeem(d, "")
			d.See("[redeemed] Coffee for two")
		})
	}
}

// holdAnswers keeps back what the service says of users until it is released.
func holdAnswers(t *testing.T, l *faultyServer) (release func()) {
	hold := make(chan struct{})
	release = sync.OnceFunc(func() { close(hold) })
	t.Cleanup(release)
	l.set(func(l *faultyServer) { l.holdAnswers = hold })
	return release
}

func TestEligibilityNeverDelaysOrPreventsSending(t *testing.T) {
	l := startServer(t)
	release := holdAnswers(t, l)
	d := l.open("", "coffee")
	redeem(d, "alice")
	d.See("[redeemed] Coffee for two")
	release()
	d.Settle()

	d = l.open("", "gone")
	d.Type("alice")
	d.See("sold out")
	stock := int64(1)
	l.server.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: "gone", Title: "All gone"}, Stock: &stock})
	redeem(d, "") // the advice is out of date
	d.See("[redeemed] All gone")
}

func TestRecentUserIsCompleted(t *testing.T) {
	l := startServer(t)
	d := l.open("", "tea")
	for _, user := range []string{"bob", "alfons", "alice"} {
		if err := d.Memory.Remember(screen.Profile{}, "user", user); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []theme.Name{theme.None, theme.Dark, theme.Light, theme.HighContrast} {
		for _, key := range []string{"right", "end"} {
			look := theme.New(name, termenv.TrueColor)
			d.App.Shell().Theme = look
			d.Open(screen.ToRedeem{Perks: []api.Perk{l.perk("coffee")}})
			d.Settle()
			user := func() string { return d.App.Top().Form().Value("user_id") }
			d.Type("al")
			view := strings.ReplaceAll(d.App.View(), "\x1b[0m"+look.Ground, "\x1b[0m") // it follows every style
			view = strings.ReplaceAll(view, look.Editing.Render(""), "")
			rest := look.Editing.Foreground(look.Muted.GetForeground()).Render("ice")
			if name == theme.None {
				d.See("al▏(ice)") // the latest of two
			} else if !strings.Contains(view, look.Cursor.Render(" ")+rest) {
				t.Errorf("%s shows no completion:\n%s", name, d.Screen())
			}
			d.Settle()
			if d.Shows("no such user") {
				t.Error("a half typed user is called unknown")
			}
			d.Press("left", key) // inside the text the key moves
			if user() != "al" {
				t.Errorf("%s completed %q inside the text", key, user())
			}
			d.Press(key)
			if user() != "alice" {
				t.Errorf("%s completed %q", key, user())
			}
			d.See("✓ can redeem")
			d.Press(key)
			d.Type("x")
			if user() != "alicex" {
				t.Errorf("typed %q", user())
			}
			d.Settle()
		}
	}
}

func TestOnePerkIsRedeemedWithThreeKeys(t *testing.T) {
	l := startServer(t)
	d := l.open("", "coffee")
	d.Open(screen.ToPerk{ID: "coffee"})
	d.See("Coffee for two")
	d.Settle()
	keys := []string{"r", "ctrl+s", "y"}
	d.Press(keys[0])
	d.Type("alice")
	d.Press(keys[1])
	d.See("Redeem for alice?")
	d.Press(keys[2])
	d.See("[redeemed] Coffee for two")
	l.wantCounts(1, 1)
}

func TestEligibilityIsBelowTheUser(t *testing.T) {
	d := startServer(t).open("alice", "coffee")
	d.See("✓ can redeem")
	for _, width := range []int{60, 80, 120, 200} {
		d.Resize(width, 24)
		lines := strings.Split(d.Screen(), "\n")
		user := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, "alice") })
		if user < 0 || !strings.Contains(lines[user+1], "✓ can redeem") {
			t.Errorf("at %d columns:\n%s", width, d.Screen())
		}
	}
}

// TestUserIsCompletedFromTheService completes a user that nobody has opened, unless the client may not list users.
func TestUserIsCompletedFromTheService(t *testing.T) {
	l := startServer(t)
	l.server.ImportUsers("alice2")
	d := l.open("", "coffee")
	d.Type("ali")
	d.See("ali▏(ce)")
	d.Press("right")
	d.See("alice▏", "✓ can redeem")
	d.Gone("(2)") // alice is one, too
	d.Type("2")
	d.See("alice2▏", "✓ can redeem")

	l.id, l.secret = l.server.Client(api.DefaultScopes()...)
	d = l.open("", "coffee")
	d.Type("ali")
	d.See("no such user")
	d.Settle()
	d.Gone("(ce)")
	if _, said := d.App.MessagesSince(0); len(said) > 0 {
		t.Errorf("said %q", said)
	}
}

// TestUnknownUserIsRefusedBeforeTheQuestion submits the id of an unknown user before and after it is imported.
func TestUnknownUserIsRefusedBeforeTheQuestion(t *testing.T) {
	l := startServer(t)
	d := l.open("", "coffee")
	d.Type("ali")
	d.See("ali▏(ce)")
	d.Settle()
	d.Press("ctrl+s")
	d.See(`No user "ali". Check the id, or import it.`)
	d.Settle()
	if d.App.Overlay() != nil || d.App.Top().Form().Focus() != "user_id" {
		t.Errorf("it asks:\n%s", d.Screen())
	}
	l.server.ImportUsers("ali")
	d.Press("ctrl+s") // asks the service again
	d.See("✓ can redeem")
	redeem(d, "")
	d.See("[redeemed] Coffee for two")
	l.wantCounts(1, 1)
}

// TestUnknownUserWithdrawsTheQuestion asks before the service has said that there is no such user. The y that was meant
// for the question is not typed.
func TestUnknownUserWithdrawsTheQuestion(t *testing.T) {
	l := startServer(t)
	release := holdAnswers(t, l)
	d := l.open("", "coffee")
	d.Type("ali")
	d.Press("ctrl+s")
	d.See("Redeem for ali?")
	release()
	d.Gone("Redeem for ali?")
	d.See(`No user "ali". Check the id, or import it.`)
	d.Press("y")
	d.Settle()
	l.wantCounts(0, 0)
	if typed := d.App.Top().Form().Value("user_id"); typed != "ali" {
		t.Errorf("the user is %q", typed)
	}
	d.Press("end") // completes it
	d.See("✓ can redeem")
	redeem(d, "")
	d.See("[redeemed] Coffee for two")
}

// TestEligibilityFollowsWhatOthersRedeem takes the last unit elsewhere.
func TestEligibilityFollowsWhatOthersRedeem(t *testing.T) {
	l := startServer(t)
	d := l.open("bob", "last")
	d.See("✓ can redeem")
	d.Settle()
	l.redeemElsewhere("last")
	d.Elapse(3 * time.Second)
	d.See("sold out")
}
