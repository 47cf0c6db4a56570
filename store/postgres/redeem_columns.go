package postgres

import (
	"time"

	"example.com/perks/store"
)

// columns is attempts turned on their side, as unnest takes them.
type columns struct {
	ids, users, clients []string
	keys                []*string
	fingerprints        [][]byte
	times               []time.Time
	hasKeys             bool
}

func columnsOf(attempts []store.RedeemAttempt) columns {
	var c columns
	for _, a := range attempts {
		c.ids, c.users, c.clients = append(c.ids, a.ID), append(c.users, a.UserID), append(c.clients, a.ClientID)
		c.times = append(c.times, a.At.UTC().Truncate(time.Microsecond))
		var key *string
		var fingerprint []byte
		if a.Key != nil {
			key, fingerprint, c.hasKeys = &a.Key.Key, a.Key.Fingerprint[:], true
		}
		c.keys, c.fingerprints = append(c.keys, key), append(c.fingerprints, fingerprint)
	}
	return c
}
