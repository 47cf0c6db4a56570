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

// ledger is what people were told, to be held against what the database has.
type ledger struct {
	mu        sync.Mutex
	made      map[string]string // the user by the redemption
	underKeys map[string]string // the redemption by the key
	refused   map[api.Code]int
}

func newLedger() *ledger {
	return &ledger{made: map[string]string{}, underKeys: map[string]string{}, refused: map[api.Code]int{}}
}

// note keeps an answer. It is an error if that cannot be true, whatever the database has.
func (l *ledger) note(a attempt, answer told) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if answer.status != http.StatusCreated {
		l.refused[answer.code]++
		return nil
	}
	if answer.made.UserID != a.user || answer.made.PerkID != a.perk {
		return fmt.Errorf("%+v was answered with %+v", a, answer.made)
	}
	if first := l.underKeys[a.key]; a.key != "" && first != "" && first != answer.made.ID {
		return fmt.Errorf("the key %s was answered with redemption %s, and again with %s", a.key, first, answer.made.ID)
	}
	if a.key != "" {
		l.underKeys[a.key] = answer.made.ID
	}
	l.made[answer.made.ID] = a.user
	return nil
}

// copy is what has been told until now.
func (l *ledger) copy() *ledger {
	l.mu.Lock()
	defer l.mu.Unlock()
	return &ledger{made: maps.Clone(l.made), underKeys: maps.Clone(l.underKeys), refused: maps.Clone(l.refused)}
}

// count returns how many redemptions were acknowledged.
func (l *ledger) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.made)
}

// check holds what people were told against what the database has: nothing acknowledged is lost, nobody has two, and no
// more is given away than there was.
func (l *ledger) check(t *testing.T, kept []store.RedemptionRecord, stock int) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	byID, users := map[string]string{}, map[string]bool{}
	for _, k := range kept {
		byID[k.ID] = k.UserID
		if users[k.UserID] {
			t.Errorf("user %s has more than one redemption", k.UserID)
		}
		users[k.UserID] = true
	}
	var lost []string
	for id, user := range l.made {
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
func (l *ledger) onlyRefused(t *testing.T, reasons ...api.Code) {
	t.Helper()
	for code, n := range l.refused {
		if !slices.Contains(reasons, code) {
			t.Errorf("%d attempts were refused as %s", n, code)
		}
	}
}
