package client

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"example.com/perks/api"
)

// Deciding is an attempt to approve, reject or void a redemption, and what is known of its outcome. It is a value:
// its methods return an updated copy. Fill in ID, Status and Reason, and ETag if only that version may be decided.
type Deciding struct {
	ID     string
	Status api.RedemptionStatus // the decision
	Reason string
	ETag   string

	Record api.RedemptionRecord // as decided; with an Err as it was read last, if it was
	Lost   bool                 // the reply was lost, and reading the redemption showed that the decision was made
	Err    error                // why it was not decided, or why that is unknown; nil if it was
}

// Send decides. If the reply is lost, it reads the redemption to find out what became of the decision.
func (d Deciding) Send(ctx context.Context, c *Client) Deciding {
	d.Record, _, d.Err = c.Decide(ctx, d.ID, d.Status, d.Reason, d.ETag)
	if !OutcomeUnknown(d.Err) {
		return d
	}
	return d.check(ctx, c)
}

// check reads the redemption within 5 s, whatever the client's deadline. One that is as it was before may still be
// decided by the request whose reply was lost, so the outcome stays unknown.
func (d Deciding) check(ctx context.Context, c *Client) Deciding {
	record, _, err := c.Until(time.Now().Add(checkTimeout)).Redemption(ctx, d.ID)
	if err != nil {
		return d
	}
	reason := ""
	if record.Reason != nil {
		reason = *record.Reason
	}
	switch d.Record = record; {
	case record.Status == d.Status && reason == d.Reason:
		d.Lost, d.Err = true, nil
	case record.Status == d.Status.DecidedFrom():
		d.Err = fmt.Errorf("%w %s", d.Err, "It is still "+string(record.Status)+". To decide again is safe.")
	default:
		d.Err = &Error{Status: http.StatusConflict, Code: api.CodeConflict,
			Message: fmt.Sprintf("Redemption %q is %s by another decision.", d.ID, record.Status)}
	}
	return d
}
