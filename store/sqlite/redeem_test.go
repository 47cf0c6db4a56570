package sqlite

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/google/uuid"

	"example.com/perks/api"
	"example.com/perks/store"
)

// The attempts of one transaction suppose that the perk is as the last of them left it, and that each is new.
func TestAttemptsOfOneTransactionAreDecidedAsEachByItself(t *testing.T) {
	for _, test := range []struct {
		name  string
		stock string
		calls []call
		want  []api.Code
		held  int64
	}{
		{"the stock ends", "2", []call{redeeming("ann"), redeeming("bob"), redeeming("eve"), redeeming("ann")},
			[]api.Code{"", "", api.CodeSoldOut, api.CodeAlreadyRedeemed}, 2},
		{"users redeem twice", "NULL",
			[]call{redeeming("ann"), redeeming("ann"), redeeming("bob"), redeeming("bob"), redeeming("eve")},
			[]api.Code{"", api.CodeAlreadyRedeemed, "", api.CodeAlreadyRedeemed, ""}, 3},
		{"users are unknown", "NULL",
			[]call{redeeming("ann"), redeeming("nobody"), redeeming("bob"), newUser("zoe"), redeeming("zoe")},
			[]api.Code{"", api.CodeNotFound, "", "", api.CodeAlreadyRedeemed}, 3},
		{"tries are repeated", "NULL", []call{as("1", "ann"), as("2", "bob"), as("2", "bob"), redeeming("eve"),
			as("1", "ann")}, []api.Code{"", "", "", "", ""}, 3},
		{"an id is used for another user", "NULL", []call{as("r", "ann"), as("r", "ann"), as("r", "bob"),
			redeeming("eve")}, []api.Code{"", "", api.CodeInternal, ""}, 2},
		{"another write ends the perk", "NULL", []call{redeeming("ann"), running(`UPDATE perks SET valid_to = 1`),
			redeeming("bob")}, []api.Code{"", "", api.CodePerkExpired}, 1},
		{"another write empties the stock", "9", []call{redeeming("ann"), running(`UPDATE perk_stock SET stock = 1`),
			redeeming("bob")}, []api.Code{"", "", api.CodeSoldOut}, 1},
		{"a unit comes back", "1", []call{redeeming("ann"),
			running(`UPDATE redemptions SET status = 'rejected'; UPDATE perk_stock SET held = 0`), redeeming("bob")},
			[]api.Code{"", "", ""}, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			db := openTemporary(t)
			noError(t, running(`
				INSERT INTO users (id) VALUES ('ann'), ('bob'), ('eve');
				INSERT INTO perks (id, created_at, updated_at, approval, title_fold, city_fold, title, city,
					description)
				VALUES ('tea', 0, 0, 'manual', 'tea', 'bath', 'Tea', 'Bath', 'Hot');
				INSERT INTO perk_stock (perk, stock) SELECT row,
					`+test.stock+` FROM perks`)(db, t.Context()))
			before := db.writer.batches.Stats()
			release := holdWriter(t, db)
			var replies []chan error
			for i, begin := range test.calls {
				reply := make(chan error, 1)
				go func() { reply <- begin(db, t.Context()) }()
				for len(db.writer.queue) <= i {
					runtime.Gosched()
				}
				replies = append(replies, reply)
			}
			release()
			for i, reply := range replies {
				if err := <-reply; api.CodeOf(err) != test.want[i] {
					t.Errorf("call %d: %v, want code %q", i, err, test.want[i])
				}
			}
			if after := db.writer.batches.Stats(); after.Finished != before.Finished+2 {
				t.Errorf("there were %d transactions, want that of the holder and one more",
					after.Finished-before.Finished)
			}
			held, err := store.One(db.latest(t.Context()), store.ScanValue[int64], `SELECT held FROM perk_stock`)
			if err != nil || held != test.held {
				t.Errorf("%d units are held, %v, want %d", held, err, test.held)
			}
		})
	}
}

// call is one write.
type call func(*DB, context.Context) error

// running runs statements as another write would.
func running(script string) call {
	return func(db *DB, ctx context.Context) error {
		return db.write(ctx, "run a script", func(s *session) error { return s.script(script) })
	}
}

func redeeming(user string) call { return attempting(store.RedeemAttempt{UserID: user}) }

func newUser(user string) call {
	return attempting(store.RedeemAttempt{UserID: user, CreateUser: true})
}

// as redeems with the id of the redemption.
func as(id, user string) call {
	return attempting(store.RedeemAttempt{ID: id, UserID: user})
}

func attempting(attempt store.RedeemAttempt) call {
	return func(db *DB, ctx context.Context) error {
		attempt.PerkID, attempt.ClientID, attempt.At = "tea", "shop", time.Now()
		if attempt.ID == "" {
			attempt.ID = uuid.NewString()
		}
		result, err := db.Redeem(ctx, attempt)
		if err == nil && (result.Redemption.ID != attempt.ID || result.Redemption.UserID != attempt.UserID ||
			result.Replayed) {
			return fmt.Errorf("the attempt %s by %s got %+v", attempt.ID, attempt.UserID, result)
		}
		return err
	}
}
