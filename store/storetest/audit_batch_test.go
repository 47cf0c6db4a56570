package storetest_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"example.com/perks/api"
	"example.com/perks/store"
)

// fewEntries is how many entries batches have at most in these tests, of each of two tables.
const fewEntries = 5

// few is the bound of these batches, which only large entries reach otherwise.
var few = store.AuditBound{Entries: fewEntries, Bytes: 100_000}

// after is the place after a position.
func after(position store.AuditPosition) store.AuditPlace { return store.AuditPlace{Since: position} }

var auditBatchTests = []test{
	{"batches have every entry once, a decision after its redemption, and again the same", func(f *fixture) {
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
				must(f.DecideRedemption(f.ctx, made.ID, store.Decision{Status: api.StatusApproved}, store.Operator,
					hour(-i)))(f)
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
		middle := must(f.NextAudit(f.ctx, after(""), "", few))(f).Next.Since
		f.must(f.SetClientDisabled(f.ctx, "b", true, store.Operator, now))
		first := must(f.NextAudit(f.ctx, r.place, middle, few))(f)
		f.equal("first", summaries(first.Entries), []string{"client.disable client/a"})
		f.equal("first is last", first.IsLast && first.Next == after(middle), true)
		second := must(f.NextAudit(f.ctx, after(middle), "", few))(f)
		f.equal("second", summaries(second.Entries), []string{"client.disable client/b"})
		f.equal("numbers", first.Entries[0].Number != 0 && first.Entries[0].Number != second.Entries[0].Number, true)
		_, err := f.NextAudit(f.ctx, second.Next, middle, few)
		f.isPositionUnknown("the end before the beginning", err)
	}},
	{"followers and batches beside writers miss nothing and have nothing twice", func(f *fixture) {
		const writers, rounds = 8, 12
		users := numbered("u", writers*rounds)
		f.addUsers(users...)
		f.addPerks(perk("p"), perk("q"))
		f.addClients("owner")
		f.addProperties(property(1, "owner"))
		r := f.followBatches()
		position := r.place.Since
		followed := []string{}
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
					if err := f.UpdateProperty(f.ctx, 1, store.Operator, now,
						retitle(fmt.Sprint("Title ", n))); err != nil {
						f.Error(err)
					}
					mu.Lock()
					want = append(want, "redemption.create redemption/"+made.Redemption.ID,
						"property.update property/1")
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
			news := collect(f, f.AuditSince(f.ctx, store.AuditQuery{}, &position))
			followed = append(followed, summaries(news)...)
		}
		r.check(want)
		slices.Sort(followed)
		f.equal("followed", followed, slices.Sorted(slices.Values(want)))
	}},
	{"batches are bounded by bytes, but for an entry that is larger", func(f *fixture) {
		f.addClients("owner")
		f.addProperties(property(1, "owner"))
		r := f.followBatches()
		want := []string{}
		for n := range 12 {
			long := strings.Repeat(fmt.Sprint(n%10), 30_000)
			f.must(f.UpdateProperty(f.ctx, 1, store.Operator, now, func(p *store.PropertyRecord) error {
				p.Description = long
				return nil
			}))
			want = append(want, "property.update property/1")
		}
		r.readAll()
		r.check(want)
		for _, batch := range r.batches {
			if n := len(batch.Entries); n > few.Bytes/30_000+1 {
				f.Errorf("a batch has %d entries of 60,000 bytes", n)
			}
		}
		small := store.AuditBound{Entries: fewEntries, Bytes: 1}
		batch := must(f.NextAudit(f.ctx, r.batches[0].Entries[0].Place, "", small))(f)
		f.equal("one entry is read", len(batch.Entries), 1)
	}},
	{"the newest entries are those that are wanted, with their places", func(f *fixture) {
		f.addPerks(perk("m", manual))
		users := numbered("u", 150)
		f.addUsers(users...)
		f.addClients("a", "b")
		log, changes := []string{}, 0
		for i, user := range users {
			made := f.redeem(attempt("m", user)).Redemption
			log = append(log, "redemption.create redemption/"+made.ID)
			if i < 4 || i%50 == 49 {
				f.must(f.SetClientDisabled(f.ctx, "a", changes%2 == 0, store.Operator, now))
				log = append(log, []string{"client.disable client/a", "client.enable client/a"}[changes%2])
				changes++
			}
		}
		all := func(store.AuditEntry) bool { return true }
		recent := func(most int, wants func(store.AuditEntry) bool, actions ...string) []store.AuditEntry {
			f.Helper()
			bound := store.AuditBound{Entries: most, Bytes: few.Bytes}
			batch := must(f.RecentAudit(f.ctx, store.RecentAudit{Actions: actions, Wants: wants, Most: bound}))(f)
			f.equal("after the newest", len(must(f.NextAudit(f.ctx, batch.Next, "", few))(f).Entries), 0)
			for i, entry := range batch.Entries {
				r := batchReader{f: f, place: entry.Place}
				r.readAll()
				rest := []string{}
				for _, batch := range r.batches {
					rest = append(rest, summaries(batch.Entries)...)
				}
				behind := slices.IndexFunc(log,
					func(line string) bool { return line == summaries(batch.Entries[i:])[0] })
				if entry.Action != store.ActionRedeem { // the same line comes again
					behind = len(log) - 1 - len(rest)
					f.equal("the line before what is behind", log[behind], summaries(batch.Entries[i:])[0])
				}
				f.equal("behind "+log[behind], rest, append([]string{}, log[behind+1:]...))
			}
			return batch.Entries
		}
		both := []string{store.ActionRedeem, store.ActionDisableClient, store.ActionEnableClient}
		f.equal("two of all", summaries(recent(2, all, both...)), log[len(log)-2:])
		f.equal("of one kind, behind many others", summaries(recent(2, all, store.ActionDisableClient)),
			[]string{"client.disable client/a", "client.disable client/a"})
		first := recent(1, func(entry store.AuditEntry) bool {
			return summaries([]store.AuditEntry{entry})[0] == log[0]
		}, both...)
		f.equal("the oldest", summaries(first), log[:1])
		f.equal("of no kind", len(recent(5, all)), 0)
	}},
	{"a position that the database does not have is refused", func(f *fixture) {
		f.addUsers("ann")
		f.addClients(numbered("c", 20*fewEntries)...)
		end := must(f.NextAudit(f.ctx, after(""), "", few))(f).Next.Since
		for _, position := range []store.AuditPosition{
			"nowhere", ".", "-1.0", "1.1 ", "1:2", "1:-2:", "1:2:x", "1:2:3,", "1:2:{3}", "99999999.99999999",
			"1:99999999:", "18446744073709551615:18446744073709551615:",
			"99999999999999999999.1", "1:99999999999999999999:", "1:1:'", "\x00", "\xff",
		} {
			_, err := f.NextAudit(f.ctx, after(position), "", few)
			f.isPositionUnknown(fmt.Sprintf("after %q", position), err)
			_, err = f.NextAudit(f.ctx, after(end), position, few)
			f.isPositionUnknown(fmt.Sprintf("up to %q", position), err)
			_, err = f.NextAudit(f.ctx, store.AuditPlace{Since: position, Until: end, Read: 1}, "", few)
			f.isPositionUnknown(fmt.Sprintf("between %q and the end", position), err)
			_, err = f.NextAudit(f.ctx, store.AuditPlace{Since: end, Until: position, Read: 1}, "", few)
			f.isPositionUnknown(fmt.Sprintf("between the end and %q", position), err)
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
	f       *fixture
	place   store.AuditPlace
	batches []store.AuditBatch
}

// followBatches begins at the current end.
func (f *fixture) followBatches() *batchReader {
	f.Helper()
	batch := must(f.NextAudit(f.ctx, after(""), "", few))(f)
	f.equal("entries at the start", len(batch.Entries), 0)
	return &batchReader{f: f, place: batch.Next}
}

func (r *batchReader) readAll() {
	r.f.Helper()
	for isLast := false; !isLast; {
		batch := must(r.f.NextAudit(r.f.ctx, r.place, "", few))(r.f)
		r.batches = append(r.batches, batch)
		r.place, isLast = batch.Next, batch.IsLast
	}
}

// check compares all that was read with the summaries in any order, and what is behind each entry with what was read
// behind it.
func (r *batchReader) check(want []string) {
	r.f.Helper()
	all, made := []store.AuditEntry{}, map[string]bool{}
	for _, batch := range r.batches {
		all = append(all, batch.Entries...)
		for _, entry := range batch.Entries {
			if entry.Action == store.ActionRedeem {
				made[entry.Subject] = true
			} else if entry.Action == store.ActionApprove && !made[entry.Subject] {
				r.f.Errorf("%s was decided before it was made", entry.Subject)
			}
		}
	}
	got := summaries(all)
	for i, entry := range all {
		if i%7 == 0 {
			again := batchReader{f: r.f, place: entry.Place}
			again.readAll()
			rest := []string{}
			for _, batch := range again.batches {
				rest = append(rest, summaries(batch.Entries)...)
			}
			left := slices.Clone(got[i+1:]) // beside writers, perhaps in another order, because all have ended now
			slices.Sort(rest)
			slices.Sort(left)
			r.f.equal("behind "+got[i], rest, append([]string{}, left...))
		}
	}
	slices.Sort(got)
	r.f.equal("entries", got, slices.Sorted(slices.Values(want)))
}
