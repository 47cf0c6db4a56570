package operation

import (
	"context"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/client"
)

// ChangingStock is the attempt to change the stock of a perk. It is a value: Send returns an updated copy.
type ChangingStock struct {
	PerkID string
	Change api.StockChange
	Attempt[api.PerkStock]
}

// NewChangingStock returns an attempt that has sent nothing.
func NewChangingStock(perkID string, change api.StockChange, key string) ChangingStock {
	return ChangingStock{PerkID: perkID, Change: change, Attempt: Attempt[api.PerkStock]{Key: key}}
}

// Send changes the stock. If the reply is lost, and the service honours keys, the request is sent again.
func (s ChangingStock) Send(ctx context.Context, c *client.Client) ChangingStock {
	s.Attempt = s.Attempt.Send(ctx, &stockChange{s.PerkID, s.Change, c}, withKey(c))
	return s
}

type stockChange struct {
	perkID string
	change api.StockChange
	client *client.Client
}

func (s *stockChange) Send(ctx context.Context, key string) (api.PerkStock, bool, error) {
	return s.client.ChangePerkStock(ctx, s.perkID, s.change, key)
}

// LookUp finds nothing that tells this change from those of others: only the idempotency key does.
func (s *stockChange) LookUp(ctx context.Context, _ time.Time) (none api.PerkStock, event Event, err error) {
	if ctx.Err() != nil {
		return none, Unread, ctx.Err()
	}
	s.client = soon(s.client)
	s.client.ProbeKeys(ctx)
	return none, Match, nil
}
