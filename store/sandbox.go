package store

import (
	"fmt"
	"strings"
)

// LiveRecords counts what a live database has and a sandbox never: who may call the service and the keys of their tokens
// are the live database's alone, and so are properties.
type LiveRecords struct{ Clients, SigningKeys, Properties int64 }

// AreThere tells whether there is any of them.
func (l LiveRecords) AreThere() bool { return l != LiveRecords{} }

// String is such as "1 client and 2 signing keys"; what there is none of is left out.
func (l LiveRecords) String() string {
	return listed([]counted{
		{l.Clients, "client", "clients"}, {l.SigningKeys, "signing key", "signing keys"}, {l.Properties, "property", "properties"},
	})
}

// Emptied is how many records of each kind a Reset forgot.
type Emptied struct {
	Perks           int64 `json:"perks"`
	Categories      int64 `json:"categories"`
	Users           int64 `json:"users"`
	Redemptions     int64 `json:"redemptions"`
	IdempotencyKeys int64 `json:"idempotency_keys"`
}

// All is how many they are together.
func (e Emptied) All() int64 {
	return e.Perks + e.Categories + e.Users + e.Redemptions + e.IdempotencyKeys
}

// String is such as "2 perks and 1 user", or "nothing".
func (e Emptied) String() string {
	return listed([]counted{
		{e.Perks, "perk", "perks"}, {e.Categories, "category", "categories"}, {e.Users, "user", "users"},
		{e.Redemptions, "redemption", "redemptions"}, {e.IdempotencyKeys, "idempotency key", "idempotency keys"},
	})
}

type counted struct {
	n         int64
	one, many string
}

// listed is what people say of several counts.
func listed(counts []counted) string {
	var parts []string
	for _, c := range counts {
		switch {
		case c.n == 1:
			parts = append(parts, "1 "+c.one)
		case c.n > 1:
			parts = append(parts, fmt.Sprintf("%d %s", c.n, c.many))
		}
	}
	if len(parts) == 0 {
		return "nothing"
	}
	last := len(parts) - 1
	if last == 0 {
		return parts[0]
	}
	return strings.Join(parts[:last], ", ") + " and " + parts[last]
}
