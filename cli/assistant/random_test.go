package assistant_test

import (
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestNothingChangesWithoutConfirm has a client call tools at random, with arguments that are right, wrong and hostile:
// everything but confirm with a draft. The audit log stays as it was.
func TestNothingChangesWithoutConfirm(t *testing.T) {
	f := newFixture(t)
	s := f.serve(true)
	made := s.must("confirm", args{"draft": s.must("prepare_redeem", args{"perk": "spa-day", "user": "ann"}).draft(t)})
	pending := idIn(made)
	random := rand.New(rand.NewPCG(37, 6))
	one := func(values ...any) any { return values[random.IntN(len(values))] }
	var names []string
	for tool, err := range s.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, tool.Name)
	}
	value := func() any {
		return one(pending, "ann", "bob", "coffee", "spa-day", "trap", 42, "42", "perk", "approve", "reject", "-title",
			"page-2", "", hostile, "../../perks", nil, true, 1e300, []any{1}, args{"title": hostile}, args{"title": "New"},
			args{"price_pw": "1.00"}, "redemption", "pending", "52.5,13.4", "2026-01-01", "confirm")
	}
	calls := 500
	if os.Getenv("PERKS_ENDURANCE") == "long" {
		calls = 20_000
	}
	before, drafts := f.audit(), 0
	for range calls {
		with := args{}
		for range random.IntN(6) {
			name := one("user", "perk", "property", "redemption", "fields", "metadata", "decision", "reason", "draft",
				"query", "city", "sort", "cursor", "by", "record", "near", "own", hostile)
			with[name.(string)] = value()
		}
		if random.IntN(4) == 0 { // one that fits
			with = one(args{"perk": "coffee", "user": "bob"}, args{"property": 42, "fields": args{"title": value()}},
				args{"redemption": pending, "decision": "approve"}, args{"perk": "trap"},
				args{"perk": "coffee", "fields": args{"title": value()}}).(args)
		}
		name := names[random.IntN(len(names))]
		if _, isError := s.try(name, with); !isError && strings.HasPrefix(name, "prepare") {
			drafts++
			f.clock.Advance(time.Minute) // so that there is always room for more
		}
	}
	if drafts == 0 {
		t.Error("no draft was prepared")
	}
	if !slices.Equal(before, f.audit()) {
		t.Errorf("the audit log had %d entries, and has %d", len(before), len(f.audit()))
	}
}
