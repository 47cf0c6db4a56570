// Package storetest is what every database driver must pass to be a store.Store: one suite that says by example what the
// interface promises.
//
// It knows no database. A driver's own tests call Run with a function that opens an empty one, and RunReopened with one
// that opens the same one again.
package storetest

import (
	"testing"

	"example.com/perks/store"
)

// Run proves that what open returns keeps the promises of store.Store. Each call of open gives an empty store, which open
// closes when its test ends; several are open at once.
func Run(t *testing.T, open func(t *testing.T) store.Store) {
	for _, group := range []struct {
		name  string
		tests []test
	}{
		{"Catalog", catalogTests},
		{"Filter", filterTests},
		{"Order", orderTests},
		{"Redeem", redeemTests},
		{"Idempotency", idempotencyTests},
		{"Redemptions", redemptionTests},
		{"Properties", propertyTests},
		{"Credentials", credentialTests},
		{"IDs", idTests},
		{"Import", importTests},
		{"ImportPartly", partialImportTests},
		{"Audit", auditTests},
		{"AuditRead", auditReadTests},
		{"Reset", resetTests},
		{"Race", raceTests},
		{"Health", healthTests},
	} {
		t.Run(group.name, func(t *testing.T) {
			for _, test := range group.tests {
				t.Run(test.proves, func(t *testing.T) {
					t.Parallel() // each waits for its own disk
					test.run(newFixture(t, open(t)))
				})
			}
		})
	}
}

// test is one promise and the steps that prove it.
type test struct {
	proves string
	run    func(*fixture)
}
