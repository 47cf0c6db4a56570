package storetest_test

import (
	"fmt"
	"strings"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
)

var auditArchiveTests = []test{
	{"old entries are moved, and what is needed stays", func(f *fixture) {
		f.addClients("owner")
		f.addUsers("ann")
		f.addPerks(perk("p"))
		f.redeem(attempt("p", "ann"))
		for range 3 {
			f.create(creation("owner", ""))
		}
		for id := range int64(3) {
			f.must(f.update(id+1, retitle("One")))
			f.must(f.delete(id+1, nil))
		}
		must(f.restore(1))(f)
		must(f.restore(2))(f)
		f.must(f.delete(2, nil))
		f.must(f.UpdateProperty(f.ctx, 1, store.Operator, now.Add(time.Hour), retitle("Later")))
		entries := collect(f, f.MovableAudit(f.ctx, now.Add(time.Minute)))
		all := len(collect(f, f.Audit(f.ctx, store.AuditQuery{})))
		removed := must(f.RemoveArchived(f.ctx, entries))(f)
		f.equal("removed", removed, int64(len(entries)))
		f.equal("what stays", summaries(collect(f, f.Audit(f.ctx, store.AuditQuery{}))), []string{
			"redemption.create redemption/p-ann", "property.delete property/3", "property.delete property/2",
			"property.update property/1",
		})
		f.equal("moved", len(entries), all-4)
		f.equal("restored", must(f.restore(3))(f).Title, "One")
		f.equal("restored", must(f.restore(2))(f).Title, "One")
		f.equal("again", must(f.RemoveArchived(f.ctx, entries))(f), int64(0))
	}},
	{"a reader before an archived entry is told, and one after it misses nothing", func(f *fixture) {
		f.addClients("owner")
		f.create(creation("owner", ""))
		most := store.AuditBound{Entries: 1000, Bytes: 1 << 20}
		behind := must(f.NextAudit(f.ctx, store.AuditPlace{}, "", most))(f).Next.Since
		for i := range 450 { // several transactions
			f.must(f.update(1, retitle(fmt.Sprint("Title ", i))))
		}
		current := must(f.NextAudit(f.ctx, store.AuditPlace{}, "", most))(f).Next.Since
		f.must(f.UpdateProperty(f.ctx, 1, store.Operator, now.Add(time.Hour), retitle("Later")))
		must(f.RemoveArchived(f.ctx, collect(f, f.MovableAudit(f.ctx, now.Add(time.Minute)))))(f)
		_, err := f.NextAudit(f.ctx, store.AuditPlace{Since: behind}, "", most)
		f.fails("behind", err, api.CodeValidationFailed)
		if err == nil || !strings.Contains(err.Error(), "archived") {
			f.Errorf("the error is %v", err)
		}
		for _, err := range f.AuditSince(f.ctx, store.AuditQuery{}, &behind) {
			if err == nil || !strings.Contains(err.Error(), "moved to a file") {
				f.Errorf("a follower is told %v", err)
			}
		}
		batch := must(f.NextAudit(f.ctx, store.AuditPlace{Since: current}, "", most))(f)
		f.equal("after", summaries(batch.Entries), []string{"property.update property/1"})
		f.equal("follower", len(collect(f, f.AuditSince(f.ctx, store.AuditQuery{}, &current))), 1)
	}},
	{"entries of another database are not removed", func(f *fixture) {
		f.addClients("a", "b")
		entries := collect(f, f.MovableAudit(f.ctx, now.Add(time.Minute)))
		entries[1].Actor = "operator/other"
		if _, err := f.RemoveArchived(f.ctx, entries); err == nil || !strings.Contains(err.Error(), "another") {
			f.Errorf("the error is %v", err)
		}
		f.equal("entries", len(f.actions("")), 2)
	}},
	{"an archive is recorded once", func(f *fixture) {
		archived := store.Archived{File: "a.gz", Before: now, Entries: 2, SHA256: strings.Repeat("ab", 32)}
		for range 2 {
			f.must(f.RecordArchive(f.ctx, archived, store.Operator, now))
		}
		f.sameEntries(store.AuditSubject, []store.AuditEntry{
			{At: now, Actor: store.Operator, Action: store.ActionArchiveAudit, Before: asJSON(nil),
				After: asJSON(archived)},
		})
		f.equal("stays", len(collect(f, f.MovableAudit(f.ctx, now.Add(time.Minute)))), 0)
	}},
}
