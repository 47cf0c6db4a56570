package endurance

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"testing"

	"example.com/perks/api"
	"example.com/perks/store"
)

// replies is what people were told, to be held against what the database has.
type replies struct {
	mu        sync.Mutex
	made      map[string]string // the user by the redemption
	underKeys map[string]string // the redemption by the key
	refused   map[api.Code]int
}

func newReplies() *replies {
	return &replies{made: map[string]string{}, underKeys: map[string]string{}, refused: map[api.Code]int{}}
}

// record keeps a reply. It is an error if that cannot be true, whatever the database has.
func (r *replies) record(a attempt, answer reply) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if answer.status != http.StatusCreated {
		r.refused[answer.code]++
		return nil
	}
	if answer.made.UserID != a.user || answer.made.PerkID != a.perk {
		return fmt.Errorf("%+v was answered with %+v", a, answer.made)
	}
	if first := r.underKeys[a.key]; a.key != "" && first != "" && first != answer.made.ID {
		return fmt.Errorf("the key %s was answered with redemption %s, and again with %s", a.key, first, answer.made.ID)
	}
	if a.key != "" {
		r.underKeys[a.key] = answer.made.ID
	}
	r.made[answer.made.ID] = a.user
	return nil
}

// copy is what has been told until now.
func (r *replies) copy() *replies {
	r.mu.Lock()
	defer r.mu.Unlock()
	return &replies{made: maps.Clone(r.made), underKeys: maps.Clone(r.underKeys), refused: maps.Clone(r.refused)}
}

// count returns how many redemptions were acknowledged.
func (r *replies) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.made)
}

// check holds what people were told against what the database has: nothing acknowledged is lost, nobody has two, and no
// more is given away than there was.
func (r *replies) check(t *testing.T, kept []store.RedemptionRecord, stock int) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	byID, users := map[string]string{}, map[string]bool{}
	for _, k := range kept {
		byID[k.ID] = k.UserID
		if users[k.UserID] {
			t.Errorf("user %s has more than one redemption", k.UserID)
		}
		users[k.UserID] = true
	}
	var lost []string
	for id, user := range r.made {
		if byID[id] != user {
			lost = append(lost, id+" of user "+user)
		}
	}
	if len(lost) > 0 {
		t.Errorf("%d redemptions were acknowledged and are lost, such as %s", len(lost), slices.Min(lost))
	}
	if len(kept) > stock {
		t.Errorf("%d redemptions of a stock of %d", len(kept), stock)
	}
}

// onlyRefused checks that nobody was refused for another reason.
func (r *replies) onlyRefused(t *testing.T, reasons ...api.Code) {
	t.Helper()
	for code, n := range r.refused {
		if !slices.Contains(reasons, code) {
			t.Errorf("%d attempts were refused as %s", n, code)
		}
	}
}
