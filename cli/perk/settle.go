package perk

import (
	"context"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/cli/command"
	"example.com/perks/cli/exit"
)

// lookTime is how long the search for a lost answer may take. It is not part of --timeout, which may have ended already.
const lookTime = 5 * time.Second

// settle looks for the redemption of which no answer told. Where it is not in the user's list, the server may still be at
// work on it, so that the outcome stays unknown. An interrupted command looks for nothing, because its context has ended.
func (o *redeemOptions) settle(ctx context.Context, c *client.Client, request api.RedeemRequest, began time.Time, lost error) (api.Redemption, error) {
	redemption, found, err := c.Until(time.Now().Add(lookTime)).FindRedemption(ctx, o.perkID, request, began, nil)
	if err == nil && found {
		o.session.Streams.Note("No answer told of it, but the redemption was made: it is among those of %s.", o.userID)
		return redemption, nil
	}
	if ctx.Err() != nil {
		lost = &client.Unreachable{Address: c.BaseURL(), Err: ctx.Err(), OutcomeUnknown: true}
	}
	return api.Redemption{}, &exit.Advised{Err: lost, Advice: o.howToSettle()}
}

// howToSettle says how to find out, and how to go on, without redeeming twice.
func (o *redeemOptions) howToSettle() string {
	again := o.session.CommandLine("perk", "redeem", o.perkID, "--user", o.userID)
	for _, entry := range o.metadata {
		again = append(again, "--metadata", entry)
	}
	again = append(again, "--idempotency-key", o.key)
	look := o.session.CommandLine("user", "perks", o.userID, "--type", "redeemed")
	return "Run this again; with the same key it cannot redeem twice:\n  " + command.Quote(again) +
		"\nIf the server may not honour keys, look first whether it was redeemed:\n  " + command.Quote(look)
}
