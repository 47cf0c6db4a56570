package perk

import (
	"context"

	"example.com/perks/api/client"
	"example.com/perks/cli/command"
	"example.com/perks/cli/exit"
)

// failure is why nothing was redeemed, or that nobody knows: where the redemption is not in the user's list, the server may
// still be at work on it. An interrupted command has looked for nothing, because its context has ended.
func (o *redeemOptions) failure(ctx context.Context, c *client.Client, r client.Redeeming) error {
	if r.Known == client.NotRedeemed {
		return r.Err
	}
	lost := r.Err
	if ctx.Err() != nil {
		lost = &client.Unreachable{Address: c.BaseURL(), Err: ctx.Err(), OutcomeUnknown: true}
	}
	return &exit.Advised{Err: lost, Advice: o.howToSettle()}
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
