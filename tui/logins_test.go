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

func TestSwitchingAccountsAsksIfSomethingIsUnsaved(t *testing.T) {
	p := &probe{unsaved: "It is unknown whether it was redeemed."}
	d := probed(t, p)
	account := d.App.Shell().Account
	account.Profile.Name, account.Profile.Sandbox, account.Profile.ReadOnly = "trial", true, true
	d.Send(refused{})
	d.Send(screen.LoggedIn{Account: account})
	d.Play(`
		=> Switch to profile trial? | It is unknown whether it was redeemed.
		n => Log in`)
	if d.App.Shell().Account.Profile.Sandbox {
		t.Error("it switched accounts after n")
	}
	d.Send(screen.LoggedIn{Account: account})
	d.Play(`
		wait: 1s
		y => ≠ Switch to profile trial? | sandbox read-only
		screens: 1`)
}

func TestUnsavedWorkOfClosedScreenIsReported(t *testing.T) {
	const unsaved = "It is unknown whether it was redeemed."
	d := probed(t, &probe{unsaved: unsaved, reopens: true})
	d.Play(`
		esc => Leave? | ` + unsaved + `
		wait: 1s
		y => ≠ Leave? | ≠ the probe's text`)
	account := d.App.Shell().Account
	account.Profile.Name, account.Profile.Sandbox = "trial", true
	d.Send(screen.LoggedIn{Account: account})
	d.Play(`
		=> Switch to profile trial? | ` + unsaved + `
		n => ≠ Switch to profile trial?`)
	if _, lost := d.App.End(); !slices.Equal(lost, []string{unsaved}) {
		t.Errorf("End reports %q as lost", lost)
	}
}

func TestLastRedemptionIsOfTheTopmostScreen(t *testing.T) {
	older, newer := &probe{reopens: true}, &probe{reopens: true}
	d := probed(t, older)
	d.Do(d.App.Push(newer))
	d.Press("1", "5")
	if d.App.Top() != newer {
		t.Error("the older of two screens was reopened")
	}
}

func TestLoggingInClosesEveryLogin(t *testing.T) {
	d := probed(t, &probe{})
	account := d.App.Shell().Account
	d.Send(refused{})
	d.Open(screen.ToLogin{})
	d.Send(screen.LoggedIn{Account: account})
	d.See("the probe's text")
}

func TestExpiredSessionAboveCoveredLoginAsksAgain(t *testing.T) {
	d := probed(t, &probe{})
	account := d.App.Shell().Account
	d.Send(refused{})
	d.Open(screen.ToUser{ID: "alice"})
	d.Send(refused{})
	d.See("Log in", "Secret")
	d.Send(screen.LoggedIn{Account: account})
	d.Play(`
		=> User alice
		esc => the probe's text`)
}

func TestNoLoginBeforeTheFirstScreen(t *testing.T) {
	app := tui.New(tui.Options{Accounts: broken{}})
	app.Update(tuitest.Key("L"))
	if app.Depth() != 0 {
		t.Error("a login was opened before the first screen")
	}
}

// TestOnePingAtATime checks that a login cancels earlier pings.
func TestOnePingAtATime(t *testing.T) {
	var offline atomic.Bool
	var pings atomic.Int64
	d := probedOver(t, &probe{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/health") {
			pings.Add(1)
		}
		if offline.Load() {
			panic(http.ErrAbortHandler)
		}
		emptyService(w, r)
	}))
	offline.Store(true)
	d.Open(screen.ToUser{ID: "alice"})
	d.See("OFFLINE")
	d.Send(screen.LoggedIn{Account: d.App.Shell().Account})
	d.See("OFFLINE")
	d.Settle()
	before := pings.Load()
	d.Elapse(2 * time.Second)
	d.Settle()
	if n := pings.Load() - before; n != 1 {
		t.Errorf("sent %d pings at once", n)
	}
}

func TestLeavingClosesOnlyTheScreenItAskedAbout(t *testing.T) {
	below, top := &probe{unsaved: "The title was changed."}, &probe{unsaved: "It is being deleted."}
	d := probed(t, below)
	d.Do(d.App.Push(top))
	d.Play(`esc => Leave? | It is being deleted.`)
	d.Send(screen.Back{From: top}) // the deletion is done
	d.Play(`y settle => ≠ Leave?`)
	if d.App.Top() != below {
		t.Error("the screen below was closed, and its text is lost")
	}
}
