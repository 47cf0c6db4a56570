package tui_test

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/perks/tui"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/theme"
	"example.com/perks/tui/tuitest"
	"example.com/perks/tui/widget"
)

func TestPaletteFindsAndRunsActions(t *testing.T) {
	p := &probe{offers: actions.Enabled(actions.Redeem, actions.CopyID)}
	d := probed(t, p)
	d.Play(`
		: => Commands | Redeem (r)
		"copid" => > Copy the id (y) | ≠ Redeem (r)
		enter => ≠ Commands`)
	d.Until("the action", func() bool { return p.has(actions.CopyID) })
}

func TestToastsDisappearButStayInMessages(t *testing.T) {
	d := probed(t, &probe{})
	d.Send(screen.Toast{Kind: screen.Done, Text: "Redeemed.\x1b[2J"})
	d.Play(`
		=> Done: Redeemed.[2J
		wait: 1m => ≠ Done: Redeemed.`)
	d.Send(screen.Toast{Kind: screen.Failure, Text: "It failed."}) // is shown until the next action
	d.Play(`
		wait: 1m => Error: It failed.
		! => Messages | Done: Redeemed.`)
}

func TestNoticesAreShown(t *testing.T) {
	notices := make(chan string, 1)
	t.Cleanup(func() { close(notices) })
	d := tuitest.StartWithHandler(t, emptyService, func(o *tui.Options) { o.Notices = notices })
	notices <- "Retrying in 2s: 503 Service Unavailable."
	d.See("Retrying in 2s")
}

// TestServiceGoesOfflineAndComesBack checks that the shell notices both by itself, and tells the screens.
func TestServiceGoesOfflineAndComesBack(t *testing.T) {
	var offline atomic.Bool
	p := &probe{}
	d := probedOver(t, p, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if offline.Load() {
			panic(http.ErrAbortHandler)
		}
		emptyService(w, r)
	}))
	offline.Store(true)
	d.Open(screen.ToPerk{ID: "x"})
	d.See("OFFLINE", "retry in 2 s")
	d.Elapse(time.Second)
	d.See("retry in 1 s")
	for range 5 {
		d.Elapse(time.Minute)
		d.Settle()
		if !d.Shows("OFFLINE") {
			t.Fatal("offline is gone, but the service is still down")
		}
	}
	before := received[screen.Reconnected](p)
	offline.Store(false)
	d.Elapse(time.Minute)
	d.See("Done: Back online.")
	d.Gone("OFFLINE")
	if received[screen.Reconnected](p) != before+1 {
		t.Error("the screens were not told")
	}
}

func TestExpiredSessionOpensLoginOverTheScreen(t *testing.T) {
	p := &probe{unsaved: "The title was changed."}
	d := probed(t, p)
	d.Send(refused{})
	d.See("Log in")
	d.Send(refused{}) // by a second request
	depth := d.Depth()
	account := d.App.Shell().Account
	d.Send(screen.LoggedIn{Account: account})
	d.See("the probe's text")
	if d.Depth() != depth-1 || received[screen.Reconnected](p) != 1 {
		t.Errorf("%d screens, Reconnected %d times", d.Depth(), received[screen.Reconnected](p))
	}
}

// TestNoLoginOpensUnasked checks that keys meant for a screen cannot get into a login.
func TestNoLoginOpensUnasked(t *testing.T) {
	p := &probe{}
	d := probed(t, p)
	d.Send(refused{unasked: true})
	d.See("the probe's text", "○ logged out: L logs in", "Logged out. L logs in.")
	d.Send(accepted{})
	d.See("● live")
	d.Send(refused{unasked: true})
	d.Play(`
		L => Secret
		esc => the probe's text | ○ logged out`)
	d.Send(screen.LoggedIn{Account: d.App.Shell().Account})
	d.See("● live")
}

// refused is a response that requires a login.
type refused struct{ unasked bool }

func (refused) Outcome() (bool, error) { return true, &screen.NotLoggedIn{Message: "Not logged in."} }

func (r refused) MayAskForLogin(bool) bool { return !r.unasked }

// accepted is a response without an error.
type accepted struct{ refused }

func (accepted) Outcome() (bool, error) { return true, nil }

func TestSwitchingAccountsClosesScreens(t *testing.T) {
	p := &probe{}
	d := probed(t, p)
	account := d.App.Shell().Account
	account.Profile.Sandbox = true
	d.Send(screen.LoggedIn{Account: account})
	d.Gone("the probe's text")
	d.See("sandbox")
}

func TestHeaderSaysSandboxOrLive(t *testing.T) {
	probed(t, &probe{}).Play(`
		=> [1 Perks] 2 Users 3 Properties 4 Redemptions Probe | ● live
		size: 100x24 => Probe | ● live · staging · acme
		size: 30x8 => Probe | ● live`)
}

func TestHeaderKeepsThePathFromTheConnection(t *testing.T) {
	d := probed(t, &probe{})
	d.Open(screen.ToUser{ID: "a-user-with-a-long-id"})
	d.Settle()
	for width := 60; width <= 120; width++ {
		d.Resize(width, 24)
		header, _, _ := strings.Cut(d.Screen(), "\n")
		if path, _, found := strings.Cut(header, "● live"); !found || !strings.HasSuffix(path, "  ") {
			t.Errorf("at %d columns: %q", width, header)
		}
	}
}

func TestHeaderShowsASpinnerForEveryRequest(t *testing.T) {
	asked, hold := make(chan struct{}), make(chan struct{})
	begin := sync.OnceFunc(func() { close(asked) })
	d := tuitest.StartWithHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin()
		<-hold
		emptyService(w, r)
	}))
	tuitest.Await(d, asked)
	if d.Shows("0 s") {
		t.Errorf("there is a spinner at once:\n%s", d.Screen())
	}
	d.Elapse(widget.Beat)
	d.See("⠙ 0 s ○ live, connecting")
	d.Elapse(widget.Beat)
	d.See("⠸ 1 s ○ live, connecting", "Loading perks ... 1 s")
	d.Elapse(silent)
	d.See("○ live, no reply for 6 s", "Loading perks ... 6 s")
	close(hold)
	d.See("● live")
	d.Gone("no reply")
	d.Settle()
	d.Elapse(widget.Beat)
	if _, waits := d.App.Shell().Waits(); waits {
		t.Error("a request never ends")
	}
}

// silent is longer than a service may be without a reply.
const silent = 5 * time.Second

// TestHeaderSaysThatAServiceIsFrozen lets the poll of events wait, which nobody sees, beside another request.
func TestHeaderSaysThatAServiceIsFrozen(t *testing.T) {
	var frozen atomic.Bool
	asked, hold := make(chan struct{}, 1), make(chan struct{})
	d := tuitest.StartWithHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if frozen.Load() && strings.HasSuffix(r.URL.Path, "/events") {
			asked <- struct{}{}
			<-hold
		}
		emptyService(w, r)
	}))
	d.Settle()
	d.See("● live")
	frozen.Store(true)
	d.Elapse(3 * time.Second)
	tuitest.Await(d, asked)
	d.Elapse(silent - time.Second)
	d.See("● live")
	d.Elapse(4 * time.Second)
	d.See("○ live, no reply for 8 s")
	d.Open(screen.ToUser{ID: "alice"})
	d.See("User alice", "● live") // it has replied to this
	close(hold)
	d.Settle()
	d.See("● live")
}

// TestThemeKeyReturnsToAuto goes through all themes, from one that the terminal has decided on.
func TestThemeKeyReturnsToAuto(t *testing.T) {
	d := probed(t, &probe{}, func(o *tui.Options) { o.Theme = theme.Dark })
	for _, next := range []theme.Name{theme.Light, theme.HighContrast, theme.None, theme.Auto, theme.Light} {
		d.Press("T")
		d.See("Theme: " + string(next))
		d.Settle()
		kept, shown := next, next
		if next == theme.Auto {
			kept, shown = "", theme.Dark
		}
		if is := d.App.Shell().Theme.Name; d.Memory.Setting(screen.SettingTheme) != string(kept) || is != shown {
			t.Errorf("%s: %q is kept, %s is shown", next, d.Memory.Setting(screen.SettingTheme), is)
		}
	}
}

func TestProfileThatCannotConnectOpensLogin(t *testing.T) {
	d := tuitest.StartWithHandler(t, emptyService, func(o *tui.Options) { o.Accounts = broken{} })
	d.See("the keyring is locked")
}

type broken struct{ screen.Accounts }

func (broken) Connect(string) (screen.Account, error) {
	return screen.Account{}, errors.New("the keyring is locked")
}

func (broken) Profiles() ([]screen.Profile, string, error) { return nil, "", nil }

func TestEverySizeFits(t *testing.T) {
	d := probed(t, &probe{offers: actions.Enabled(actions.Redeem, actions.CopyID)})
	d.Send(screen.Toast{Kind: screen.Warning, Text: strings.Repeat("A long sentence 漢字 🙂. ", 20)})
	d.Press("?")
	d.EverySize()
	d.Press("esc")
	d.Send(screen.Confirm{Title: "Delete 漢字漢字漢字漢字漢字漢字?",
		Text: strings.Repeat("It goes offline now. ", 50),
		Yes:  "delete it"})
	d.EverySize()
}

func TestOverlayGoldens(t *testing.T) {
	d := probed(t, &probe{offers: actions.Enabled(actions.Redeem, actions.CopyID)})
	d.Press("?")
	d.Golden("help", false)
	d.Press("esc", ":")
	d.Golden("palette", true)
	d.Press("esc")
	d.Send(screen.Confirm{Title: "Delete property 42?", Text: "\"Canal house\" at 1 Canal Street goes offline now.",
		Yes: "delete it"})
	d.Golden("confirm", false)
	d.Press("esc")
	d.Send(screen.Toast{Kind: screen.Failure,
		Text: "No reply from https://perks.example/v2: connection refused. Nothing was sent."})
	d.Golden("toast", false)
}

func TestLoginIsNotOpenedTwice(t *testing.T) {
	d := tuitest.StartWithHandler(t, emptyService, func(o *tui.Options) { o.Accounts = broken{} })
	d.Play(`
		ctrl+k "log in, or" => not now: You are already there.
		enter
		screens: 1`)
}

func TestToastLeavesBorderAndPosition(t *testing.T) {
	d := tuitest.Start(t, serviceWithPerks(t))
	d.See("row 1 of")
	d.Resize(100, 20)
	d.Send(screen.Toast{Kind: screen.Done, Text: "Copied."})
	lines := strings.Split(d.Screen(), "\n")
	if border := lines[len(lines)-2]; !strings.HasPrefix(border, "╰─ row 1 of") ||
		!strings.HasSuffix(border, " Done: Copied. ─╯") {
		t.Errorf("the border is %q", border)
	}
}

// TestALongToastCoversNoRow has a list that fills the window, and the cursor on its last row.
func TestALongToastCoversNoRow(t *testing.T) {
	server, owner := catalogueOf62(t)
	d := tuitest.StartAs(t, server, owner.id, owner.secret)
	d.Play(`settle G settle => row 62 of 62`)
	last := strings.Split(d.Screen(), "\n")[21]
	d.Send(screen.Toast{Kind: screen.Failure, Text: "It failed. " + strings.Repeat("There is more to say. ", 6)})
	d.See("Error: It failed.", last, "row 62 of 62", "? keys")
	if lines := strings.Count(d.Screen(), "\n") + 1; lines != 24 {
		t.Errorf("%d lines:\n%s", lines, d.Screen())
	}
	d.Play(`k => row 61 of 62 | ≠ It failed.`)
	if !strings.Contains(strings.Split(d.Screen(), "\n")[22], "row 61 of 62") {
		t.Errorf("the list has not got its lines back:\n%s", d.Screen())
	}
}

// TestThePathDoesNotRepeatItsEnd opens a user from a perk.
func TestThePathDoesNotRepeatItsEnd(t *testing.T) {
	d := tuitest.Start(t, serviceWithPerks(t))
	d.Resize(120, 30)
	d.Open(screen.ToPerk{ID: "spa"})
	d.Play(`
		=> Perk A day at the spa
		settle r "alice" => Perk › Redeem A day at the spa
		ctrl+s y => [redeemed] A day at the spa
		settle u => Results › User alice`)
}
