package assistant_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
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
	fitting := map[string]func() args{
		"prepare_redeem": func() args { return args{"perk": "coffee", "user": "bob"} },
		"prepare_decision": func() args {
			return args{"redemption": pending, "decision": one("approve", "reject"), "reason": "why"}
		},
		"prepare_property_update": func() args {
			return args{"property": 42, "fields": args{"title": fmt.Sprint(random.Int())}}
		},
		"prepare_perk_update": func() args { return args{"perk": "coffee", "fields": args{"title": hostile}} },
	}
	before, drafts := f.audit(), map[string]int{}
	for range calls {
		name, with := names[random.IntN(len(names))], args{}
		for range random.IntN(6) {
			name := one("user", "perk", "property", "redemption", "fields", "metadata", "decision", "reason", "draft",
				"query", "city", "sort", "cursor", "by", "record", "near", "own", hostile)
			with[name.(string)] = value()
		}
		if fits := fitting[name]; fits != nil && random.IntN(2) == 0 {
			with = fits()
		}
		if _, isError := s.try(name, with); !isError && fitting[name] != nil {
			drafts[name]++
			f.clock.Advance(time.Minute) // so that there is always room for more
		}
	}
	if len(drafts) != len(fitting) {
		t.Errorf("only these have prepared a draft: %v", drafts)
	}
	if !slices.Equal(before, f.audit()) {
		t.Errorf("the audit log had %d entries, and has %d", len(before), len(f.audit()))
	}
}
