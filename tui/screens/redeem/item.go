package redeem

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/tui/screen"
)

// item is one perk that is redeemed for one user, over all attempts.
type item struct {
	client.Redeeming
	perk     api.Perk
	at       time.Time                  // when the last attempt ended; zero if none has since it was agreed to
	givenUp  bool                       // somebody has stopped asking whether it was redeemed
	existing *screen.Loader[redemption] // what stands in its way: the user's redemption of the same perk
}

// redemption is one that may not be there.
type redemption struct {
	api.Redemption
	found bool
}

// is tells whether the item asks for the same.
func (i *item) is(perkID string, request api.RedeemRequest) bool {
	return i.PerkID == perkID && i.Request.UserID == request.UserID && bytes.Equal(i.Request.Metadata, request.Metadata)
}

// sameFor tells whether another item is about the same perk and user.
func (i *item) sameFor(other *item) bool {
	return i.PerkID == other.PerkID && i.Request.UserID == other.Request.UserID
}

// unresolved tells whether it has to be found out first what became of the item.
func (i *item) unresolved() bool { return i.Known == client.Unknown && !i.givenUp }

// isWaiting tells whether the item was agreed to, and is neither done nor refused for good.
func (i *item) isWaiting() bool {
	stops, _ := classify(i)
	return i.Known == client.NotRedeemed && (i.at.IsZero() || stops) || i.unresolved()
}

// submission is the items that one question has been answered for.
type submission struct {
	request api.RedeemRequest
	items   []*item
	agreed  bool // y was said to what is left of it
}

func (s *submission) is(request api.RedeemRequest) bool {
	return s != nil && s.request.UserID == request.UserID && bytes.Equal(s.request.Metadata, request.Metadata)
}

func (s *submission) where(holds func(*item) bool) []*item {
	if s == nil {
		return nil
	}
	return filter(s.items, holds)
}

func filter(items []*item, holds func(*item) bool) []*item {
	return slices.DeleteFunc(slices.Clone(items), func(i *item) bool { return !holds(i) })
}

func (s *submission) waiting() []*item { return s.where((*item).isWaiting) }

func (s *submission) open() []*item {
	return s.where(func(i *item) bool { return i.Known != client.Redeemed })
}

// needsAttention tells whether the item did not come to a new redemption that stands or may yet.
func (i *item) needsAttention() bool {
	return i.Known != client.Redeemed || i.Replayed || i.Redemption.Status == api.StatusRejected
}

// counts counts how the items stand. It calls nothing redeemed that somebody has yet to approve.
func (s *submission) counts() string {
	counts := map[string]int{}
	for _, i := range s.items {
		what := "redeemed"
		switch {
		case i.Known == client.Unknown:
			what = "unknown"
		case i.isWaiting():
			what = "left"
		case i.Known != client.Redeemed:
			what = "refused"
		case i.Replayed:
			what = "redeemed before"
		case i.Redemption.Status == api.StatusPending:
			what = "waiting for approval"
		case i.Redemption.Status == api.StatusRejected:
			what = "rejected"
		}
		counts[what]++
	}
	user := display.Line(s.request.UserID)
	if counts["refused"]+counts["left"] == len(s.items) {
		return fmt.Sprintf("%s: none of %d redeemed.", user, len(s.items))
	}
	var parts []string
	for _, what := range []string{"redeemed", "waiting for approval", "redeemed before", "rejected", "refused", "unknown", "left"} {
		if counts[what] > 0 {
			parts = append(parts, fmt.Sprint(counts[what], " ", what))
		}
	}
	return user + ": " + strings.Join(parts, ", ") + "."
}

func (s *submission) unresolved() *item {
	for _, i := range s.where((*item).unresolved) {
		return i
	}
	return nil
}

// itemFor is the item of a request. What was asked for before and is not done keeps its key, so that no two requests for the same have
// different ones; what this user has got by the present submission is not asked for again.
func (s *Screen) itemFor(perk api.Perk, request api.RedeemRequest) *item {
	for _, i := range s.items() {
		got := i.PerkID == perk.ID && i.Request.UserID == request.UserID && i.Known == client.Redeemed
		if got || i.is(perk.ID, request) && api.CodeOf(i.Err) != api.CodeIdempotencyKeyReused {
			return i
		}
	}
	for _, i := range s.abandoned {
		if i.is(perk.ID, request) {
			return i
		}
	}
	return &item{perk: perk, Redeeming: client.Redeeming{PerkID: perk.ID, Request: request}}
}

// isSending tells whether an attempt at the item is under way.
func (s *Screen) isSending(i *item) bool { return s.sender.Busy() && s.current == i }

// isUnresolvedElsewhere tells whether another open screen does not know yet whether the same was redeemed. Here it would go out under a
// key of its own.
func (s *Screen) isUnresolvedElsewhere(i *item) bool {
	return slices.ContainsFunc(s.shell.Screens(), func(open screen.Screen) bool {
		other, redeems := open.(*Screen)
		return redeems && other != s && slices.ContainsFunc(slices.Concat(other.items(), other.abandoned), func(o *item) bool {
			return (other.isSending(o) || o.Known == client.Unknown) && o.sameFor(i)
		})
	})
}

// isAbandonedWithOtherMetadata tells whether it was given up to find out whether the same was redeemed under another key.
func (s *Screen) isAbandonedWithOtherMetadata(i *item) bool {
	return slices.ContainsFunc(s.abandoned, func(doubt *item) bool { return doubt != i && doubt.Known == client.Unknown && doubt.sameFor(i) })
}

// existingTimeout is how long it may take to find out since when a user has a perk.
const existingTimeout = 10 * time.Second

// loadExisting reads which redemption stands in the way of an item.
func (s *Screen) loadExisting(i *item) tea.Cmd {
	if i.existing == nil {
		i.existing = screen.NewLoader[redemption](s.shell)
	}
	perkID, userID := i.PerkID, i.Request.UserID
	return i.existing.Load(func(ctx context.Context, c *client.Client) (redemption, error) {
		ctx, cancel := context.WithTimeout(ctx, existingTimeout)
		defer cancel()
		for page, err := range c.UserRedemptionPages(ctx, userID, client.ListOptions{PerPage: api.MaxPerPage}) {
			if err != nil {
				return redemption{}, err
			}
			for _, r := range page.Data {
				if r.PerkID == perkID && r.Status != api.StatusRejected {
					return redemption{r, true}, nil
				}
			}
		}
		return redemption{}, nil
	})
}

// takeExisting takes the end of such a reading.
func (s *Screen) takeExisting(msg tea.Msg) tea.Cmd {
	var cmds []tea.Cmd
	for _, i := range s.sub.where(func(i *item) bool { return i.existing != nil }) {
		next, changed := i.existing.Take(msg)
		if changed && i.existing.Has && i.existing.Value.found {
			s.seen[i.existing.Value.ID] = true
		}
		cmds = append(cmds, next)
	}
	return tea.Batch(cmds...)
}

// reconnected repeats what a screen that is loaded again should: it looks where the outcome is unknown, and never sends.
func (s *Screen) reconnected() tea.Cmd {
	if s.whyOtherAccount() != "" || s.sender.Busy() {
		return nil
	}
	cmds := []tea.Cmd{s.checkNow()}
	for _, i := range s.sub.where(func(i *item) bool { return i.existing != nil }) {
		cmds = append(cmds, i.existing.Again())
	}
	return tea.Batch(cmds...)
}

// offerRecent lets one of the recent users be chosen into the form.
func (s *Screen) offerRecent(recent screen.Recent) tea.Cmd {
	if recent.Of != s || s.Form() == nil {
		return nil
	}
	if len(recent.IDs) == 0 {
		return screen.Tell(screen.Note, "No user was seen here yet.")
	}
	return s.shell.Post(screen.Pick{Title: "Recent users", Options: recent.IDs, Then: func(index int) tea.Cmd {
		if s.Form() != nil {
			s.fields.Set(userField, recent.IDs[index])
		}
		return nil
	}})
}
