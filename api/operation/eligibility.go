package operation

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/semaphore"
	"golang.org/x/sync/singleflight"

	"example.com/perks/api"
	"example.com/perks/api/client"
)

// EligibilityCheck predicts what redemptions would come to. Many may be asked about at once: those that come while a
// request is under way are asked about together in the next.
type EligibilityCheck struct {
	queue    sync.Mutex
	waiting  []*pairQuestion
	isAsking bool

	lacks    atomic.Bool // the service does not tell this client who can redeem what
	guesses  *semaphore.Weighted
	requests singleflight.Group
	perks    *lru.Cache[string, knownPerk]
}

// pairQuestion is a pair that waits for its answer.
type pairQuestion struct {
	api.Pair
	answer api.Eligibility
	err    error
	done   chan struct{}
}

const (
	// maxGuesses bounds the predictions from lists at one time, each of which may take many requests.
	maxGuesses = 8
	// maxKnownPerks bounds the perks that are kept. Most files are about few.
	maxKnownPerks = 4096
	// maxPages bounds the pages of a user's list that a prediction reads.
	maxPages = 20
)

// NewEligibilityCheck makes a check, for one service.
func NewEligibilityCheck() *EligibilityCheck {
	perks, _ := lru.New[string, knownPerk](maxKnownPerks) // fails only for a size below 1
	return &EligibilityCheck{guesses: semaphore.NewWeighted(maxGuesses), perks: perks}
}

// Predict tells in a sentence that the user could redeem the perk now. The error is the refusal to expect, or says why
// nobody knows.
func (e *EligibilityCheck) Predict(ctx context.Context, c *client.Client, pair api.Pair) (string, error) {
	if !e.lacks.Load() {
		answer, err := e.ask(ctx, c, pair)
		if err == nil {
			err = answer.Refusal()
		}
		if !client.IsUnsupported(err) && api.CodeOf(err) != api.CodeInsufficientScope {
			message := fmt.Sprintf("User %q can redeem perk %q now.", pair.UserID, pair.PerkID)
			if answer.NeedsApproval() {
				message += " It needs approval."
			}
			return message, err
		}
		e.lacks.Store(true)
	}
	if err := e.guesses.Acquire(ctx, 1); err != nil {
		return "", err
	}
	defer e.guesses.Release(1)
	perk, err := e.perk(ctx, c, pair.PerkID)
	if err != nil {
		return "", err
	}
	return perk.guess(ctx, c, pair.UserID, time.Now())
}

// ask waits for the service's answer about a pair.
func (e *EligibilityCheck) ask(ctx context.Context, c *client.Client, pair api.Pair) (api.Eligibility, error) {
	question := &pairQuestion{Pair: pair, done: make(chan struct{})}
	e.queue.Lock()
	e.waiting = append(e.waiting, question)
	isFirst := !e.isAsking
	e.isAsking = true
	e.queue.Unlock()
	if isFirst {
		go e.askAll(ctx, c)
	}
	select {
	case <-question.done:
		return question.answer, question.err
	case <-ctx.Done():
		return question.answer, ctx.Err()
	}
}

// askAll asks until no question waits.
func (e *EligibilityCheck) askAll(ctx context.Context, c *client.Client) {
	for {
		e.queue.Lock()
		now := e.waiting[:min(len(e.waiting), api.MaxPairs)]
		e.waiting = e.waiting[len(now):]
		e.isAsking = len(now) > 0
		e.queue.Unlock()
		if len(now) == 0 {
			return
		}
		pairs := make([]api.Pair, len(now))
		for i, question := range now {
			pairs[i] = question.Pair
		}
		answers, err := c.Eligibilities(ctx, pairs)
		// One invalid pair has the service refuse all, so each is asked about by itself.
		mustSplit := len(now) > 1 && api.CodeOf(err) == api.CodeValidationFailed
		for i, question := range now {
			switch {
			case mustSplit:
				question.answer, question.err = c.Eligibility(ctx, question.PerkID, question.UserID)
			case err != nil:
				question.err = err
			default:
				question.answer = answers[i]
			}
			close(question.done)
		}
	}
}

// knownPerk is the reply to a request for a perk, with only the fields that a guess needs.
type knownPerk struct {
	api.Perk
	err error
}

// perk reads a perk, or takes the one that is kept: a million rows about ten perks need ten requests. It keeps perks,
// and that there is none, but no other failure.
func (e *EligibilityCheck) perk(ctx context.Context, c *client.Client, id string) (knownPerk, error) {
	reply, _, _ := e.requests.Do(id, func() (any, error) {
		if known, ok := e.perks.Get(id); ok {
			return known, nil
		}
		perk, err := c.Perk(ctx, id)
		reply := knownPerk{api.Perk{ID: perk.ID, Title: perk.Title, City: perk.City, ValidFrom: perk.ValidFrom,
			ValidTo: perk.ValidTo}, err}
		if err == nil || client.IsNotFound(err) {
			e.perks.Add(id, reply)
		}
		return reply, nil
	})
	perk := reply.(knownPerk)
	return perk, perk.err
}

// guess predicts from lists what a service without a check of eligibility would say: it lists the perk as available to
// the user. Otherwise guess finds the reason, in the order in which the service checks.
func (p knownPerk) guess(ctx context.Context, c *client.Client, userID string, now time.Time) (string, error) {
	// Filters by the perk's own fields shorten the list. A server that does not know them sends all of it.
	filter, options := api.PerkFilter{Query: p.Title}, client.ListOptions{PerPage: api.MaxPerPage}
	if strings.TrimSpace(p.City) == p.City { // our server trims the filter, but not the perk's city
		filter.City = p.City
	}
	available, whole, err := contains(c.UserPerkPages(ctx, userID, filter, options),
		func(perk api.Perk) bool { return perk.ID == p.ID })
	switch {
	case err != nil:
		return "", err
	case available:
		return fmt.Sprintf("User %q can probably redeem perk %q now: it is among the perks for that user.", userID,
			p.ID), nil
	}
	redeemed, _, err := contains(c.UserRedemptionPages(ctx, userID, options),
		func(r api.Redemption) bool { return r.PerkID == p.ID && r.Status != api.StatusRejected })
	switch {
	case err != nil:
		return "", err
	case redeemed:
		return "", api.Errorf(api.CodeAlreadyRedeemed, "User %q has already redeemed perk %q.", userID, p.ID)
	case p.ValidFrom != nil && now.Before(*p.ValidFrom):
		return "", api.Errorf(api.CodePerkNotStarted, "Perk %q cannot be redeemed before %s.", p.ID,
			p.ValidFrom.UTC().Format(time.RFC3339))
	case p.ValidTo != nil && !now.Before(*p.ValidTo):
		return "", api.Errorf(api.CodePerkExpired, "Perk %q could be redeemed until %s.", p.ID,
			p.ValidTo.UTC().Format(time.RFC3339))
	case whole:
		return "", api.Errorf(api.CodeConflict,
			"Perk %q is not among the perks for user %q. The service does not say why.", p.ID, userID)
	}
	return fmt.Sprintf("User %q may be able to redeem perk %q. The list of perks is too long to tell.", userID, p.ID),
		nil
}

// contains searches the first pages of a list; whole is false if it gave up before the end.
func contains[T any](pages iter.Seq2[api.Page[T], error], wanted func(T) bool) (found, whole bool, err error) {
	read := 0
	for page, err := range pages {
		if err != nil {
			return false, false, err
		}
		if slices.ContainsFunc(page.Data, wanted) {
			return true, true, nil
		}
		if read++; read == maxPages {
			return false, false, nil
		}
	}
	return false, true, nil
}
