package sqlite

import (
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
	"example.com/perks/store/storetest"
)

// Two DBs on one file share no memory that matters here, as two processes would.

func TestTwoProcessesNeverRedeemAUnitTwice(t *testing.T) {
	const users, units = 60, 40
	path := filepath.Join(t.TempDir(), "perks.db")
	processes := []*DB{openAt(t, path), openAt(t, path)}
	importPerk(t, processes[0], "p", units)
	importUsers(t, processes[1], users)
	var given atomic.Int64
	var wait sync.WaitGroup
	for p, db := range processes {
		for user := range users {
			wait.Go(func() {
				_, err := db.Redeem(t.Context(), store.RedeemAttempt{
					ID: fmt.Sprint(p, "-", user), PerkID: "p", UserID: fmt.Sprint(user), ClientID: "shop",
					At: time.Now(),
				})
				switch api.CodeOf(err) {
				case "":
					given.Add(1)
				case api.CodeSoldOut, api.CodeAlreadyRedeemed:
				default:
					t.Error(err)
				}
			})
		}
	}
	wait.Wait()
	if given.Load() != units {
		t.Errorf("%d units were redeemed, want %d", given.Load(), units)
	}
}

func TestAProcessSeesWhatAnotherRedeemed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "perks.db")
	one, other := openAt(t, path), openAt(t, path)
	importPerk(t, one, "p", 2)
	importUsers(t, one, 3)
	for i, redemption := range []struct {
		by   *DB
		want api.Code
	}{{one, ""}, {other, ""}, {one, api.CodeSoldOut}} {
		user := fmt.Sprint(i)
		_, err := redemption.by.Redeem(t.Context(),
			store.RedeemAttempt{ID: user, PerkID: "p", UserID: user, ClientID: "shop", At: time.Now()})
		if api.CodeOf(err) != redemption.want {
			t.Errorf("user %s: %v, want code %q", user, err, redemption.want)
		}
	}
}

func TestAProcessSeesWhatAnotherImported(t *testing.T) {
	path := filepath.Join(t.TempDir(), "perks.db")
	one, other := openAt(t, path), openAt(t, path)
	for n := int64(1); n <= 3; n++ {
		importPerk(t, one, fmt.Sprint("p", n), 1)
		list := must(other.ListPerks(t.Context(),
			store.PerkQuery{At: time.Now(), Window: store.Window{Page: 1, PerPage: 1}}))(t)
		if list.Total != n {
			t.Errorf("after %d imports the total is %d", n, list.Total)
		}
	}
}

func newPerk(id string, units int64) store.PerkRecord {
	return store.PerkRecord{Perk: api.Perk{ID: id, Title: id, Description: id, City: "Leeds"}, Stock: &units}
}

func importPerk(t *testing.T, db *DB, id string, units int64) {
	t.Helper()
	importPerks(t, db, []store.PerkRecord{newPerk(id, units)})
}

func importPerks(t *testing.T, db *DB, perks []store.PerkRecord) {
	t.Helper()
	must(db.ImportPerks(t.Context(), storetest.Rows(perks...), nil, store.Operator, time.Now()))(t)
}

func importUsers(t *testing.T, db *DB, n int) {
	t.Helper()
	users := storetest.Numbered(n, func(i int) store.User { return store.User{ID: fmt.Sprint(i)} })
	must(db.ImportUsers(t.Context(), users, store.Operator, time.Now()))(t)
}
