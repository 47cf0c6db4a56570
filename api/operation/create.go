package operation

import (
	"context"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/client"
)

// Creating is the attempt to create a property. It is a value: Send returns an updated copy.
type Creating struct {
	fields api.PropertyPatch
	Attempt[PropertyVersion]
}

// NewCreating returns an attempt that has sent nothing.
func NewCreating(fields api.PropertyPatch, key string) Creating {
	return Creating{fields, Attempt[PropertyVersion]{Key: key}}
}

// Send creates the property. If the reply is lost, and the service honours keys, the request is sent again.
func (cr Creating) Send(ctx context.Context, c *client.Client) Creating {
	cr.Attempt = cr.Attempt.Send(ctx, &creation{cr.fields, c}, withKey(c))
	return cr
}

type creation struct {
	fields api.PropertyPatch
	client *client.Client
}

func (cr *creation) Send(ctx context.Context, key string) (PropertyVersion, bool, error) {
	return cr.client.CreateProperty(ctx, cr.fields, key)
}

// LookUp finds nothing by which a property is known before its id is: only the idempotency key tells.
func (cr *creation) LookUp(ctx context.Context, _ time.Time) (PropertyVersion, Event, error) {
	if ctx.Err() != nil {
		return PropertyVersion{}, Unread, ctx.Err()
	}
	cr.client = soon(cr.client)
	cr.client.ProbeKeys(ctx)
	return PropertyVersion{}, Match, nil
}
