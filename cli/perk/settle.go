package perk

import (
	"context"
	"fmt"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/cli/command"
)

// failure is why nothing was redeemed, or that the outcome is unknown: where no redemption is in the user's list, the server
// may still be at work on it, and one that is there may be somebody else's. An interrupted command has looked for nothing,
// because its context has ended.
func (o *redeemOptions) failure(ctx context.Context, c *client.Client, r client.Redeeming) error {
	if r.Known == client.NotRedeemed {
		return r.Err
	}
	lost := r.Err
	if ctx.Err() != nil {
		lost = &client.Unreachable{Address: c.BaseURL(), Err: ctx.Err(), OutcomeUnknown: true}
	}
	advice := o.howToSettle()
	if r.Candidate.ID != "" {
		advice = candidate(r.Candidate, o.userID) + "\n" + advice
	}
	return &command.Advised{Err: lost, Advice: advice}
}

// candidate names a redemption that may be the one whose reply was lost.
func candidate(r api.Redemption, userID string) string {
	return fmt.Sprintf("%s has redemption %s, made %s. It may be this one or somebody else's.", userID, r.ID, r.RedeemedAt.UTC().Format(time.RFC3339))
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
