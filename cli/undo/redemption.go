package undo

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/operation"
	"example.com/perks/cli/bulk"
)

// redemption takes back what a row has redeemed.
type redemption struct {
	made   bulk.Result
	reason string
}

// Subject is the redemption.
func (t *redemption) Subject() string { return api.LowerUUID(t.made.ID) }

// Send voids the redemption, or rejects it if it is pending. Either changes nothing if it is repeated.
func (t *redemption) Send(ctx context.Context, c *client.Client, _ string) (operation.Outcome, bool, error) {
	_, _, err := c.Decide(ctx, t.made.ID, api.StatusVoided, t.reason, "")
	if refused, ok := errors.AsType[*client.Error](err); ok && refused.Status == http.StatusConflict {
		return t.reject(ctx, c, err)
	}
	return t.outcome(api.StatusVoided), false, err
}

// reject rejects a redemption that could not be voided if it is pending.
func (t *redemption) reject(ctx context.Context, c *client.Client, failure error) (operation.Outcome, bool, error) {
	record, _, err := c.Redemption(ctx, t.made.ID)
	switch {
	case err != nil || isTakenBack(record):
		return t.outcome(record.Status), false, err
	case record.Status != api.StatusPending:
		return operation.Outcome{}, false, failure
	}
	_, _, err = c.Decide(ctx, t.made.ID, api.StatusRejected, t.reason, "")
	if api.CodeOf(err) == api.CodeInsufficientScope { // which does not keep other rows from being voided
		err = api.Errorf(api.CodeForbidden,
			"It is pending, and your client may not reject it: that needs the scope %s.", api.ScopeRedemptionsDecide)
	}
	return t.outcome(api.StatusRejected), false, err
}

func (t *redemption) outcome(status api.RedemptionStatus) operation.Outcome {
	action := operation.Voided
	if status == api.StatusRejected {
		action = operation.Rejected
	}
	return operation.Outcome{ID: t.made.ID, Status: http.StatusOK, Action: action}
}

func isTakenBack(record api.RedemptionRecord) bool {
	return record.Status == api.StatusVoided || record.Status == api.StatusRejected
}

// LookUp finds the redemption taken back, whoever did that.
func (t *redemption) LookUp(
	ctx context.Context, c *client.Client, _ time.Time, _ func(string) bool,
) (operation.Outcome, operation.Event, error) {
	record, _, err := c.Redemption(ctx, t.made.ID)
	switch {
	case err != nil:
		return operation.Outcome{}, operation.Unread, err
	case isTakenBack(record):
		return t.outcome(record.Status), operation.Found, nil
	}
	return operation.Outcome{}, operation.Absent, nil
}

// Predict tells what would become of the redemption.
func (t *redemption) Predict(ctx context.Context, c *client.Client) operation.Prediction {
	record, _, err := c.Redemption(ctx, t.made.ID)
	if err != nil {
		return operation.Prediction{Err: err}
	}
	after := api.StatusVoided
	switch {
	case isTakenBack(record):
		return operation.Prediction{Message: "Redemption " + record.ID + " is " + string(record.Status) + " already."}
	case record.Status == api.StatusPending:
		after = api.StatusRejected
	}
	from, _ := json.Marshal(record.Status) // a string always marshals
	to, _ := json.Marshal(after)
	return operation.Prediction{
		Message: "Redemption " + record.ID + " of " + record.PerkID + " by " + record.UserID + " would be " +
			string(after) + ".",
		Changes: []operation.FieldChange{{Field: "status", From: from, To: to}},
	}
}

// After allows a redemption to be taken back twice.
func (t *redemption) After(int) error { return nil }
