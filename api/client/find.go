package client

import (
	"context"
	"errors"
	"time"

	"example.com/perks/api"
)

// FindRedemption finds out what became of a redeem whose answer was lost: it reads what the user has redeemed and returns
// the redemption of this perk with this metadata that was made at or after since, by this computer's clock, and whose id
// taken does not claim for something else; taken may be nil. A rejected redemption counts too. Without an error, false
// says that surely none was in the list when it was read.
func (c *Client) FindRedemption(ctx context.Context, perkID string, request api.RedeemRequest, since time.Time, taken func(id string) bool) (api.Redemption, bool, error) {
	return api.Redemption{}, false, errors.New("not built yet")
}

// HonoursKeys tells whether the server has shown to this Client that an Idempotency-Key counts: it has repeated one in an
// answer, or given a first answer once more.
func (c *Client) HonoursKeys() bool { return false }

// Until returns the same client, its connections and what it has learned included, with another deadline; the zero time is none.
func (c *Client) Until(deadline time.Time) *Client {
	until := *c
	until.deadline = deadline
	return &until
}
