package perk

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"example.com/perks/api"
	"example.com/perks/api/client"
)

// maxKnownPerks bounds what is remembered. Files are about few perks; one that is not asks more often.
const maxKnownPerks = 4096

// maxLookedAt bounds the pages that a prediction reads of a user's list.
const maxLookedAt = 20

// knownPerks remembers which perks there are and are not, so that a million rows about ten perks ask ten times.
type knownPerks struct {
	asking singleflight.Group

	mu      sync.Mutex
	answers map[string]knownPerk
}

// knownPerk is what a prediction needs of a perk, or why there is none.
type knownPerk struct {
	id, title, city    string // the id as the service spells it
	validFrom, validTo *time.Time
	err                error
}

// find asks for the perk if it is not known.
func (p *knownPerks) find(ctx context.Context, c *client.Client, id string) (knownPerk, error) {
	answer, _, _ := p.asking.Do(id, func() (any, error) {
		answer, known := p.recall(id)
		if !known {
			perk, err := c.Perk(ctx, id)
			answer = knownPerk{perk.ID, perk.Title, perk.City, perk.ValidFrom, perk.ValidTo, err}
			p.remember(id, answer)
		}
		return answer, nil
	})
	perk := answer.(knownPerk)
	return perk, perk.err
}

func (p *knownPerks) recall(id string) (answer knownPerk, known bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	answer, known = p.answers[id]
	return answer, known
}

// remember keeps what the service said for sure; after any other failure it is asked again.
func (p *knownPerks) remember(id string, answer knownPerk) {
	if answer.err != nil && api.CodeOf(answer.err) != api.CodeNotFound {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.answers == nil || len(p.answers) >= maxKnownPerks {
		p.answers = map[string]knownPerk{}
	}
	p.answers[id] = answer
}

// predict finds out by reading alone whether the user could redeem the perk now. That the service lists the perk among those
// that are available to the user settles it; otherwise it looks for the reason, in the order in which the service does.
func (p knownPerk) predict(ctx context.Context, c *client.Client, userID string, now time.Time) (message string, err error) {
	available, whole, err := p.isAvailable(ctx, c, userID)
	switch {
	case err != nil:
		return "", err
	case available:
		return fmt.Sprintf("User %q can redeem perk %q now.", userID, p.id), nil
	}
	redeemed, _, err := p.isRedeemed(ctx, c, userID)
	switch {
	case err != nil:
		return "", err
	case redeemed:
		return "", api.Errorf(api.CodeAlreadyRedeemed, "User %q has already redeemed perk %q.", userID, p.id)
	case p.validFrom != nil && now.Before(*p.validFrom):
		return "", api.Errorf(api.CodePerkNotStarted, "Perk %q cannot be redeemed before %s.", p.id, p.validFrom.UTC().Format(time.RFC3339))
	case p.validTo != nil && !now.Before(*p.validTo):
		return "", api.Errorf(api.CodePerkExpired, "Perk %q could be redeemed until %s.", p.id, p.validTo.UTC().Format(time.RFC3339))
	case whole:
		return "", api.Errorf(api.CodeSoldOut, "Perk %q is sold out: it is not among the perks that user %q can redeem now.", p.id, userID)
	}
	return fmt.Sprintf("User %q may be able to redeem perk %q, but the list of perks is too long to tell whether it is in stock.", userID, p.id), nil
}

// isAvailable looks for the perk in the user's list, narrowed by what the perk itself says. A server that does not know these
// filters sends all of the list; whole is false where that is too long to read.
func (p knownPerk) isAvailable(ctx context.Context, c *client.Client, userID string) (found, whole bool, err error) {
	options := client.PerkListOptions{ListOptions: client.ListOptions{PerPage: api.MaxPerPage}, Query: p.title}
	if strings.TrimSpace(p.city) == p.city { // our server trims the filter, but not the perk's city
		options.City = p.city
	}
	return contains(c.UserPerkPages(ctx, userID, options), func(perk api.Perk) bool { return perk.ID == p.id })
}

// isRedeemed tells whether the user holds a redemption of the perk that was not rejected.
func (p knownPerk) isRedeemed(ctx context.Context, c *client.Client, userID string) (found, whole bool, err error) {
	return contains(c.UserRedemptionPages(ctx, userID, client.ListOptions{PerPage: api.MaxPerPage}), func(r api.Redemption) bool {
		return r.PerkID == p.id && r.Status != api.StatusRejected
	})
}

// contains looks for an item in the first pages of a list; whole tells whether those are all of it, or as many as it took.
func contains[T any](pages iter.Seq2[api.Page[T], error], wanted func(T) bool) (found, whole bool, err error) {
	read := 0
	for page, err := range pages {
		if err != nil {
			return false, false, err
		}
		if slices.ContainsFunc(page.Data, wanted) {
			return true, true, nil
		}
		if read++; read == maxLookedAt {
			return false, false, nil
		}
	}
	return false, true, nil
}
