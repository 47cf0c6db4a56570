package store

import "testing"

// WordBits is wordBits.
var WordBits = wordBits

// WithPropertyBudgets sets how many listings a search looks at in each way before it tries the next one, until the test
// ends.
func WithPropertyBudgets(t testing.TB, budgets ...int64) {
	before := propertyBudgets
	propertyBudgets = budgets
	t.Cleanup(func() { propertyBudgets = before })
}
