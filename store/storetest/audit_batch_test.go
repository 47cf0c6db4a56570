package storetest_test

import (
	"fmt"
	"slices"
	"sync"

	"example.com/perks/api"
	"example.com/perks/store"
)

// fewEntries is the size of batches in these tests.
const fewEntries = 5

var auditBatchTests = []test{
	{"batches have every entry once, a decision after its redemption, and are the same when read again", func(f *fixture) {
		f.addPerks(perk("m", manual))
		users := numbered("u", 40)
		f.addUsers(users...)
		f.addClients("a")
		r := f.followBatches()
		want := []string{}
		for i, user := range users {
			if i%15 == 14 {
				for n := range 4 * fewEntries {
					f.must(f.SetClientDisabled(f.ctx, "a", n%2 == 0, store.Operator, hour(-i)))
					want = append(want, []string{"client.disable client/a", "client.enable client/a"}[n%2])
				}
			}
			a := attempt("m", user)
			a.At = hour(-i) // as if the clock were set back
			made := f.redeem(a).Redemption
			want = append(want, "redemption.create redemption/"+made.ID)
			if i%3 == 0 {
				must(f.DecideRedemption(f.ctx, made.ID, store.Decision{Status: api.StatusApproved}, store.Operator, hour(-i)))(f)
				want = append(want, "redemption.approve redemption/"+made.ID)
			}
		}
		r.readAll()
		if len(r.batches) < 5 {
			f.Errorf("there are only %d batches", len(r.batches))
		}
		r.check(want)
		got := []string{}
		for _, batch := range r.batches {
			got = append(got, summaries(batch.Entries)...)
		}
		f.equal("in the order of commits", got, want)
	}},
	{"batches end where they are told to", func(f *fixture) {
		f.addClients("a", "b")
		r := f.followBatches()
		f.must(f.SetClientDisabled(f.ctx, "a", true, store.Operator, now))
		middle := must(f.NextAudit(f.ctx, "", "", fewEntries))(f).Until
		f.must(f.SetClientDisabled(f.ctx, "b", true, store.Operator, now))
		first := must(f.NextAudit(f.ctx, r.position, middle, fewEntries))(f)
		f.equal("first", summaries(first.Entries), []string{"client.disable client/a"})
		f.equal("first is last", first.IsLast && first.Until == middle, true)
		second := must(f.NextAudit(f.ctx, middle, "", fewEntries))(f)
		f.equal("second", summaries(second.Entries), []string{"client.disable client/b"})
		f.equal("numbers", first.Entries[0].Number != 0 && first.Entries[0].Number != second.Entries[0].Number, true)
		_, err := f.NextAudit(f.ctx, second.Until, middle, fewEntries)
		f.isPositionUnknown("the end before the beginning", err)
	}},
	{"batches beside writers miss nothing and have nothing twice", func(f *fixture) {
		const writers, rounds = 8, 12
		users := numbered("u", writers*rounds)
		f.addUsers(users...)
		f.addPerks(perk("p"), perk("q"))
		f.addClients("owner")
		f.addProperties(property(1, "owner"))
		r := f.followBatches()
		var writing sync.WaitGroup
		var mu sync.Mutex
		want := []string{}
		for w := range writers {
			writing.Go(func() {
				for i := range rounds {
					n := w*rounds + i
					made, err := f.Redeem(f.ctx, attempt([]string{"p", "q"}[n%2], users[n]))
					if err != nil {
						f.Error(err)
						return
					}
					if err := f.UpdateProperty(f.ctx, 1, store.Operator, now, retitle(fmt.Sprint("Title ", n))); err != nil {
						f.Error(err)
					}
					mu.Lock()
					want = append(want, "redemption.create redemption/"+made.Redemption.ID, "property.update property/1")
					mu.Unlock()
				}
			})
		}
		done := make(chan struct{})
		go func() { writing.Wait(); close(done) }()
		for more := true; more; {
			select {
			case <-done:
				more = false
			default:
			}
			r.readAll()
		}
		r.check(want)
	}},
	{"a position that the database does not have is refused", func(f *fixture) {
		f.addUsers("ann")
		f.addClients(numbered("c", 20*fewEntries)...)
		end := must(f.NextAudit(f.ctx, "", "", fewEntries))(f).Until
		for _, position := range []store.AuditPosition{
			"nowhere", ".", "-1.0", "1.1 ", "1:2", "1:-2:", "1:2:x", "1:2:3,", "1:2:{3}", "99999999.99999999", "1:99999999:", "18446744073709551615:18446744073709551615:",
			"99999999999999999999.1", "1:99999999999999999999:", "1:1:'", "\x00", "\xff",
		} {
			_, err := f.NextAudit(f.ctx, position, "", fewEntries)
			f.isPositionUnknown(fmt.Sprintf("after %q", position), err)
			_, err = f.NextAudit(f.ctx, end, position, fewEntries)
			f.isPositionUnknown(fmt.Sprintf("up to %q", position), err)
			_, err = f.AuditBetween(f.ctx, position, end, fewEntries)
			f.isPositionUnknown(fmt.Sprintf("between %q and the end", position), err)
		}
		_, err := f.AuditBetween(f.ctx, "", end, fewEntries)
		f.isPositionUnknown("between nothing and the end", err)
		for _, start := range []store.AuditPosition{"0.0", "3:3:"} {
			if batch, err := f.AuditBetween(f.ctx, start, end, fewEntries); err == nil {
				f.Errorf("%d entries were read at once", len(batch.Entries))
			}
		}
	}},
}

func (f *fixture) isPositionUnknown(what string, err error) {
	f.Helper()
	if api.CodeOf(err) != api.CodeValidationFailed {
		f.Errorf("%s: the error is %v", what, err)
	}
}

// batchReader reads batch after batch.
type batchReader struct {
	f        *fixture
	position store.AuditPosition
	batches  []store.AuditBatch
}

// followBatches begins at the current end.
func (f *fixture) followBatches() *batchReader {
	f.Helper()
	batch := must(f.NextAudit(f.ctx, "", "", fewEntries))(f)
	f.equal("entries at the start", len(batch.Entries), 0)
	return &batchReader{f: f, position: batch.Until}
}

func (r *batchReader) readAll() {
	r.f.Helper()
	for isLast := false; !isLast; {
		batch := must(r.f.NextAudit(r.f.ctx, r.position, "", fewEntries))(r.f)
		r.batches = append(r.batches, batch)
		r.position, isLast = batch.Until, batch.IsLast
	}
}

// withoutListings drops what changes from one reading to the next: the listings of updates as they are then.
func withoutListings(entries []store.AuditEntry) []store.AuditEntry {
	entries = slices.Clone(entries)
	for i := range entries {
		if entries[i].Action == store.ActionUpdateProperty {
			entries[i].After = nil
		}
	}
	return entries
}

// check compares all that was read with the summaries in any order, and each batch with itself.
func (r *batchReader) check(want []string) {
	r.f.Helper()
	got, made := []string{}, map[string]bool{}
	for _, batch := range r.batches {
		got = append(got, summaries(batch.Entries)...)
		for _, entry := range batch.Entries {
			if entry.Action == store.ActionRedeem {
				made[entry.Subject] = true
			} else if entry.Action == store.ActionApprove && !made[entry.Subject] {
				r.f.Errorf("%s was decided before it was made", entry.Subject)
			}
		}
		again := must(r.f.AuditBetween(r.f.ctx, batch.Since, batch.Until, fewEntries))(r.f)
		r.f.equal("read again", withoutListings(again.Entries), withoutListings(batch.Entries))
	}
	slices.Sort(got)
	r.f.equal("entries", got, slices.Sorted(slices.Values(want)))
}
