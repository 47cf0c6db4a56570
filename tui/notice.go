package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/tui/screen"
)

// Notify is how people are told that something new waits for them, who may look elsewhere.
type Notify string

// The ways to tell. Without drawing, both are a sentence.
const (
	NotifyOff     Notify = "off"
	NotifyBell    Notify = "bell"    // of the terminal
	NotifyDesktop Notify = "desktop" // beside other programs' notifications, if the terminal can
)

// NotifyChoices returns the ways to tell.
func NotifyChoices() []Notify { return []Notify{NotifyOff, NotifyBell, NotifyDesktop} }

// ParseNotify reads one of the choices; "" is off.
func ParseNotify(text string) (Notify, error) {
	if text == "" {
		return NotifyOff, nil
	}
	if slices.Contains(NotifyChoices(), Notify(text)) {
		return Notify(text), nil
	}
	return NotifyOff, fmt.Errorf("there is no notice %q; the notices are %s", text,
		strings.Join(api.Texts(NotifyChoices()), ", "))
}

// noticePause is how long there is no notice after one: what arrives meanwhile is told together.
const noticePause = 30 * time.Second

// waiting is the redemptions that wait, and that nobody has been told of yet.
type waiting struct {
	ids  map[string]bool
	told time.Time                // the last notice
	own  map[screen.Redeemed]bool // what was redeemed here
}

func newWaiting() waiting { return waiting{ids: map[string]bool{}, own: map[screen.Redeemed]bool{}} }

// notifies tells whether people want to be told, and the service tells this client of all redemptions.
func (a *App) notifies() bool {
	c := a.shell.Account.Client
	isOn := a.options.Notify == NotifyBell || a.options.Notify == NotifyDesktop
	return isOn && c != nil && !c.Lacks(api.ScopeRedemptionsReadAll)
}

// tellWaiting tells of redemptions that others have made and that wait for approval.
func (a *App) tellWaiting(events []api.Event) tea.Cmd {
	if !a.notifies() {
		return nil
	}
	w, now := &a.live.waiting, a.shell.Now()
	for _, event := range events {
		switch r := event.Redemption; {
		case r == nil:
		case event.Type != api.EventRedemptionMade:
			delete(w.ids, r.ID) // decided already
		case r.Status == api.StatusPending && !a.isOwn(r):
			w.ids[r.ID] = true
		}
	}
	if len(w.ids) == 0 || now.Sub(w.told) < noticePause {
		return nil
	}
	text := display.Plural(len(w.ids), "new redemption waits", "new redemptions wait") + " for approval."
	clear(w.ids)
	w.told = now
	desktop, how := a.shell.Desktop, a.options.Notify
	return tea.Batch(a.note(text), func() tea.Msg {
		var err error
		switch {
		case a.shell.Command != nil: // the sentence is said; nothing else may be written
		case how == NotifyBell:
			err = desktop.Ring()
		default:
			err = desktop.Notify("Perks: " + text)
		}
		if err != nil {
			return screen.Toast{Kind: screen.Warning, Text: screen.Sentence("No notice: ", err)}
		}
		return nil
	})
}

// isOwn tells whether a redemption was made here, or elsewhere by the same person.
func (a *App) isOwn(r *api.RedemptionRecord) bool {
	me := a.shell.Account.Profile
	isMe := me.Actor != "" && r.ClientID == me.ClientID && screen.Optional(r.Actor) == me.Actor
	return isMe || a.live.waiting.own[screen.Redeemed{PerkID: r.PerkID, UserID: r.UserID}]
}
