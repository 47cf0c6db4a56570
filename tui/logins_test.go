package tui_test

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/perks/tui"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/tuitest"
)

func TestAnotherAccountAsksBeforeSomethingIsLost(t *testing.T) {
	p := &probe{unsaved: "Nobody knows whether it was redeemed."}
	d := probed(t, p)
	account := d.App.Shell().Account
	account.Profile.Name, account.Profile.Sandbox = "trial", true
	d.Send(refused{})
	d.Send(screen.LoggedIn{Account: account})
	d.See("Switch to profile trial?", "Nobody knows whether it was redeemed.")
	d.Press("n")
	d.See("Log in")
	if d.App.Shell().Account.Profile.Sandbox {
		t.Error("it was switched all the same")
	}
	d.Send(screen.LoggedIn{Account: account})
	d.Elapse(time.Second)
	d.Press("y")
	d.Gone("Switch to profile trial?")
	d.See("SANDBOX")
	if d.Depth() != 1 {
		t.Errorf("%d screens", d.Depth())
	}
}

func TestWhatAClosedScreenHasUnsavedIsAskedAboutAndSaid(t *testing.T) {
	const unsaved = "Nobody knows whether it was redeemed."
	d := probed(t, &probe{unsaved: unsaved, reopens: true})
	d.Press("esc")
	d.See("Leave?", unsaved)
	d.Elapse(time.Second)
	d.Press("y")
	d.Gone("Leave?")
	account := d.App.Shell().Account
	account.Profile.Name, account.Profile.Sandbox = "trial", true
	d.Send(screen.LoggedIn{Account: account})
	d.See("Switch to profile trial?", unsaved)
	d.Press("n")
	d.Gone("Switch to profile trial?")
	if _, lost := d.App.End(); !slices.Equal(lost, []string{unsaved}) {
		t.Errorf("at the end %q is lost", lost)
	}
}

func TestTheLastRedemptionIsThatOfTheTopmostScreen(t *testing.T) {
	older, newer := &probe{reopens: true}, &probe{reopens: true}
	d := probed(t, older)
	d.Do(d.App.Push(newer))
	d.Press("1", "4")
	if d.App.Top() != newer {
		t.Error("the older of two was opened again")
	}
}

func TestALoginThatIsOpenedOverAnotherLeavesNoneBehind(t *testing.T) {
	d := probed(t, &probe{})
	account := d.App.Shell().Account
	d.Send(refused{})
	d.Open(screen.ToLogin{})
	d.Send(screen.LoggedIn{Account: account})
	d.See("the probe's text")
}

func TestASessionThatExpiresAboveACoveredLoginIsAskedFor(t *testing.T) {
	d := probed(t, &probe{})
	account := d.App.Shell().Account
	d.Send(refused{})
	d.Open(screen.ToUser{ID: "alice"})
	d.Send(refused{})
	d.See("Log in", "Secret")
	d.Send(screen.LoggedIn{Account: account})
	d.See("User alice")
	d.Press("esc")
	d.See("the probe's text")
}

func TestNoLoginIsOpenedBeforeTheFirstScreen(t *testing.T) {
	app := tui.New(tui.Options{Accounts: broken{}})
	app.Update(tuitest.Key("L"))
	if app.Depth() != 0 {
		t.Error("the first screen would come over it")
	}
}

// TestOneRingAtATime shows that rings of before a login are out of date.
func TestOneRingAtATime(t *testing.T) {
	var gone atomic.Bool
	var rings atomic.Int64
	d := probedOver(t, &probe{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/health") {
			rings.Add(1)
		}
		if gone.Load() {
			panic(http.ErrAbortHandler)
		}
		emptyService(w, r)
	}))
	gone.Store(true)
	d.Open(screen.ToUser{ID: "alice"})
	d.See("OFFLINE")
	d.Send(screen.LoggedIn{Account: d.App.Shell().Account})
	d.See("OFFLINE")
	d.Settle()
	before := rings.Load()
	d.Elapse(2 * time.Second)
	d.Settle()
	if n := rings.Load() - before; n != 1 {
		t.Errorf("asked %d times at once whether the service is there", n)
	}
}

func TestLeavingClosesNoOtherScreenThanItHasAskedAbout(t *testing.T) {
	below, top := &probe{unsaved: "The title was changed."}, &probe{unsaved: "It is being deleted."}
	d := probed(t, below)
	d.Do(d.App.Push(top))
	d.Press("esc")
	d.See("Leave?", "It is being deleted.")
	d.Send(screen.Back{From: top}) // it has been deleted
	d.Press("y")
	d.Gone("Leave?")
	d.Settle()
	if d.App.Top() != below {
		t.Error("the screen below was closed, and what was typed there is lost")
	}
}
