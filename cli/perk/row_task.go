package perk

import (
	"context"
	"net/http"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/rows"
	"example.com/perks/cli/bulk"
	"example.com/perks/cli/session"
)

// redeemer makes the tasks of a run that redeems.
type redeemer struct {
	connect func() (*client.Client, error)
	columns *bulk.KnownColumns
	perks   knownPerks

	assumeMine bool // nobody else redeems for the users of the file
}

func newRedeemer(connect func() (*client.Client, error)) *redeemer {
	return &redeemer{connect: connect, columns: redeemColumns()}
}

func (r *redeemer) work() bulk.Work {
	return bulk.Work{Name: "perk redeem", Parse: r.parse, HonoursKeys: r.honoursKeys, Shared: !r.assumeMine}
}

func (r *redeemer) honoursKeys() bool {
	c, err := r.connect()
	return err == nil && c.HonoursKeys()
}

func (r *redeemer) parse(row rows.Row) (bulk.Task, error) {
	parsed, err := parseRedeemRow(r.columns, row)
	if err != nil {
		return nil, err
	}
	return &redeemTask{r, parsed}, nil
}

// redeemTask redeems one perk for one user.
type redeemTask struct {
	*redeemer
	redeemRow
}

// Subject is the one place that a user has on a perk, whichever case their UUIDs are written in.
func (t *redeemTask) Subject() string {
	return api.LowerUUID(t.perkID) + "\x00" + api.LowerUUID(t.request.UserID)
}

func (t *redeemTask) Do(ctx context.Context, key string) (bulk.Outcome, error) {
	c, err := t.connect()
	if err != nil {
		return bulk.Outcome{}, err
	}
	redemption, _, err := c.Redeem(ctx, t.perkID, t.request, key)
	if err != nil {
		return bulk.Outcome{}, err
	}
	return outcomeOf(redemption), nil
}

func (t *redeemTask) Done(ctx context.Context, since time.Time, taken func(id string) bool) (bulk.Outcome, bool, error) {
	c, err := t.connect()
	if err != nil {
		return bulk.Outcome{}, false, err
	}
	redemption, found, err := c.FindRedemption(ctx, t.perkID, t.request, since, taken)
	if err != nil || !found {
		return bulk.Outcome{}, false, err
	}
	return outcomeOf(redemption), true, nil
}

// Check asks whether the user could redeem the perk now.
func (t *redeemTask) Check(ctx context.Context) (string, []session.Change, error) {
	c, err := t.connect()
	if err != nil {
		return "", nil, err
	}
	perk, err := t.perks.find(ctx, c, t.perkID)
	if err != nil {
		return "", nil, err
	}
	message, err := perk.predict(ctx, c, t.request.UserID, time.Now())
	return message, nil, err
}

// After says that the user has one place on a perk.
func (t *redeemTask) After(line int) error {
	return api.Errorf(api.CodeAlreadyRedeemed, "Line %d redeems perk %q for user %q already.", line, t.perkID, t.request.UserID)
}

func outcomeOf(redemption api.Redemption) bulk.Outcome {
	return bulk.Outcome{ID: redemption.ID, Status: http.StatusCreated}
}
