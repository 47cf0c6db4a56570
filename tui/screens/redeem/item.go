package redeem

import (
	"bytes"
	"context"
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/operation"
	"example.com/perks/tui/screen"
)

// item is one perk that is redeemed for one user, with all its attempts.
type item struct {
	operation.Redeeming
	perk api.Perk
	at   time.Time // when the last attempt since the confirmation was completed; zero before that
	// existing is the user's redemption of the same perk, if the service refuses another; nil if none is found.
	existing *screen.Loader[*api.Redemption]
	reason   string // of the decision on the redemption, if it was made meanwhile
}

// made is the redemption that an item has led to, or because of which it was refused; nil if none is known.
func (i *item) made() *api.Redemption {
	switch {
	case i == nil:
	case i.State == operation.Made:
		return &i.Result
	case i.State == operation.NotMade && i.existing != nil:
		return i.existing.Value
	}
	return nil
}

// decidable is the redemption of the result under the cursor.
func (s *Screen) decidable() []screen.Decidable {
	if r := s.chosen().made(); r != nil && s.whyOtherAccount() == "" {
		record := api.RedemptionRecord{Redemption: *r}
		if profile := s.shell.Account.Profile; s.chosen().State == operation.Made { // by this client
			record.ClientID, record.Actor = profile.ClientID, &profile.Actor
		}
		return []screen.Decidable{{RedemptionRecord: record, Title: s.chosen().perk.Title}}
	}
	return nil
}

// handleDecision shows what a redemption is after a decision, wherever that was made.
func (s *Screen) handleDecision(record api.RedemptionRecord) {
	for _, i := range s.items() {
		if made := i.made(); made != nil && made.ID == record.ID {
			*made, i.reason = record.Redemption, screen.Optional(record.Reason)
		}
	}
}

// is tells whether the item asks for the same.
func (i *item) is(perkID string, request api.RedeemRequest) bool {
	return i.PerkID == perkID && same(i.Request, request)
}

func same(a, b api.RedeemRequest) bool {
	return a.UserID == b.UserID && bytes.Equal(a.Metadata, b.Metadata)
}

// sameFor tells whether another item is about the same perk and user.
func (i *item) sameFor(other *item) bool {
	return i.PerkID == other.PerkID && i.Request.UserID == other.Request.UserID
}

// unresolved tells whether the outcome is unknown and still being checked.
func (i *item) unresolved() bool { return i.State.IsDoubtful() && i.State != operation.Abandoned }

// isWaiting tells whether the item was confirmed, and is neither redeemed nor refused for good.
func (i *item) isWaiting() bool {
	stops, _ := classify(i)
	return i.State == operation.NotMade && (i.at.IsZero() || stops) || i.unresolved()
}

// submission is the items that a person confirms together.
type submission struct {
	request api.RedeemRequest
	items   []*item
	agreed  bool // the rest of it is confirmed
}

func (s *submission) is(request api.RedeemRequest) bool {
	return s != nil && same(s.request, request)
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

// failed is what was refused, or not sent, and can be retried under its idempotency key.
func (s *Screen) failed() []*item {
	return s.sub.where(func(i *item) bool {
		code := api.CodeOf(i.Err)
		return i.State == operation.NotMade && i.Key != "" && code != api.CodeAlreadyRedeemed &&
			code != api.CodeIdempotencyKeyReused
	})
}

func (s *submission) open() []*item {
	return s.where(func(i *item) bool { return i.State != operation.Made })
}

// needsAttention tells whether the item has led to no new redemption that is approved or may still be.
func (i *item) needsAttention() bool {
	return i.State != operation.Made || i.Replayed || screen.IsFree(i.Result.Status)
}

func (s *submission) unresolved() *item {
	for _, i := range s.where((*item).unresolved) {
		return i
	}
	return nil
}

// itemFor is the item of a request. An item of an equal request that is not redeemed is reused with its key, so that
// one wish never goes out under two keys. So is what the present submission has redeemed for this user, which is not
// requested again.
func (s *Screen) itemFor(perk api.Perk, request api.RedeemRequest) *item {
	next := &item{perk: perk, Redeeming: operation.NewRedeeming(perk.ID, request, "")}
	for _, i := range s.items() {
		got := i.sameFor(next) && i.State == operation.Made
		if got || i.is(perk.ID, request) && api.CodeOf(i.Err) != api.CodeIdempotencyKeyReused {
			return i
		}
	}
	for _, i := range s.abandoned {
		if i.is(perk.ID, request) {
			return i
		}
	}
	return next
}

// isSending tells whether an attempt at the item is under way.
func (s *Screen) isSending(i *item) bool { return s.sender.Busy() && s.current == i }

// isUnresolvedElsewhere tells whether another open screen has sent the same and has no outcome yet. This screen would
// use another key.
func (s *Screen) isUnresolvedElsewhere(i *item) bool {
	return slices.ContainsFunc(s.shell.Screens(), func(open screen.Screen) bool {
		other, redeems := open.(*Screen)
		return redeems && other != s && slices.ContainsFunc(slices.Concat(other.items(), other.abandoned),
			func(o *item) bool {
				return (other.isSending(o) || o.State.IsDoubtful()) && o.sameFor(i)
			})
	})
}

// isAbandonedWithOtherMetadata tells whether the same was sent under another key, and a person has stopped checking its
// outcome.
func (s *Screen) isAbandonedWithOtherMetadata(i *item) bool {
	return slices.ContainsFunc(s.abandoned, func(other *item) bool {
		return other != i && other.State.IsDoubtful() && other.sameFor(i)
	})
}

// existingTimeout is how long the search for a user's existing redemption may take.
const existingTimeout = 10 * time.Second

// loadExisting reads the redemption because of which the service refuses an item.
func (s *Screen) loadExisting(i *item) tea.Cmd {
	if i.existing == nil {
		i.existing = screen.NewLoader[*api.Redemption](s.shell)
	}
	perkID, userID := i.PerkID, i.Request.UserID
	return i.existing.Load(func(ctx context.Context, c *client.Client) (*api.Redemption, error) {
		return findExisting(ctx, c, perkID, userID)
	})
}

// findExisting reads the redemption because of which a user cannot redeem a perk again; nil if there is none.
func findExisting(ctx context.Context, c *client.Client, perkID, userID string) (*api.Redemption, error) {
	ctx, cancel := context.WithTimeout(ctx, existingTimeout)
	defer cancel()
	for page, err := range c.UserRedemptionPages(ctx, userID, client.ListOptions{PerPage: api.MaxPerPage}) {
		if err != nil {
			return nil, err
		}
		for _, r := range page.Data {
			if r.PerkID == perkID && !screen.IsFree(r.Status) {
				return &r, nil
			}
		}
	}
	return nil, nil
}

// handleExisting handles the end of such a search.
func (s *Screen) handleExisting(msg tea.Msg) tea.Cmd {
	var cmds []tea.Cmd
	for _, i := range s.sub.where(func(i *item) bool { return i.existing != nil }) {
		next, changed := i.existing.Handle(msg)
		if changed && i.existing.Value != nil {
			s.seen[i.existing.Value.ID] = true
		}
		cmds = append(cmds, next)
	}
	return tea.Batch(cmds...)
}

// reconnected checks the unresolved item, and reads again what was read. It never sends.
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
