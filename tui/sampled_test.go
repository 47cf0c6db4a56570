package tui_test

import (
	"testing"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"example.com/perks/api"
	"example.com/perks/cmd/perksd/sample"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
)

// amounts is how much sample data there is.
type amounts struct{ perks, users, properties, redemptions int64 }

// sampled starts a service with the sample data of perksd demo-data, of the day that the clock shows.
func sampled(t *testing.T, of amounts, clock *servertest.Clock) (*servertest.Server, account) {
	t.Helper()
	server, now := servertest.Start(t, servertest.WithClock(clock)), clock.Now()
	id, secret := server.Client()
	data := sample.Data{Seed: 1, Day: now}
	do := func(_ store.Imported, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	do(server.Live.ImportPerks(t.Context(), data.Perks(of.perks), uuid.NewString, store.Operator, now))
	do(server.Live.ImportUsers(t.Context(), data.Users(of.users), store.Operator, now))
	do(server.Live.ImportProperties(t.Context(), data.Properties(of.properties, id), store.Operator, now))
	var group errgroup.Group
	group.SetLimit(64)
	for _, r := range data.Redemptions(of.redemptions, of.perks, of.users, id, now) {
		group.Go(func() error {
			result, err := server.Live.Redeem(t.Context(), r.Attempt)
			if api.CodeOf(err) == api.CodeAlreadyRedeemed {
				return nil
			}
			if err != nil || result.Redemption.Status == r.Status {
				return err
			}
			decision := store.Decision{Status: r.Status, Reason: r.Reason}
			_, err = server.Live.DecideRedemption(t.Context(), r.Attempt.ID, decision, store.Operator, r.Attempt.At)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	return server, account{id, secret}
}
