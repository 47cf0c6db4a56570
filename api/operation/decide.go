package operation

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/client"
)

// Deciding is the attempt to approve, reject or void a redemption. It is a value: Send returns an updated copy. Fill in
// ID, Status and Reason, and ETag if only that version may be decided.
type Deciding struct {
	ID     string
	Status api.RedemptionStatus // the decision
	Reason string
	ETag   string

	Attempt[api.RedemptionRecord]
}

// Record is the redemption as decided, or as it was read last; without an ID if it was not read.
func (d Deciding) Record() api.RedemptionRecord {
	if d.State == Made {
		return d.Result
	}
	return d.Candidate
}

// Send decides. If the reply is lost, it reads the redemption to find out what became of the decision. The same
// decision again changes nothing, so it needs no idempotency key.
func (d Deciding) Send(ctx context.Context, c *client.Client) Deciding {
	d.Attempt = d.Attempt.Send(ctx, decision{d, c}, withoutKey(c))
	if now := d.Candidate; d.State.IsDoubtful() && now.ID != "" {
		d.Err = fmt.Errorf("%w %s", d.Err, "It is still "+string(now.Status)+". To decide again is safe.")
	}
	return d
}

type decision struct {
	Deciding
	client *client.Client
}

func (d decision) Send(ctx context.Context, _ string) (record api.RedemptionRecord, replayed bool, err error) {
	record, _, err = d.client.Decide(ctx, d.ID, d.Status, d.Reason, d.ETag)
	return record, false, err
}

// LookUp finds the decision in the redemption. One that is as it was before may still be decided.
func (d decision) LookUp(ctx context.Context, _ time.Time) (api.RedemptionRecord, Event, error) {
	record, _, err := soon(d.client).Redemption(ctx, d.ID)
	reason := ""
	if record.Reason != nil {
		reason = *record.Reason
	}
	switch {
	case err != nil:
		return api.RedemptionRecord{}, Unread, err
	case record.Status == d.Status && reason == d.Reason:
		return record, Found, nil
	case record.Status == d.Status.DecidedFrom():
		return record, Absent, nil
	}
	return record, Taken, &client.Error{Status: http.StatusConflict, Code: api.CodeConflict,
		Message: fmt.Sprintf("Redemption %q is %s by another decision.", d.ID, record.Status)}
}
