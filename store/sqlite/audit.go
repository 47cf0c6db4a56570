package sqlite

import (
	"context"
	"encoding/json"
	"iter"
	"strings"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
)

// audit adds an entry in the transaction of the change itself. Before and after are written as JSON, nil as null.
func (s *session) audit(at time.Time, by store.Actor, action, subject string, before, after any) error {
	was, err := store.AuditText(before)
	if err != nil {
		return err
	}
	is, err := store.AuditText(after)
	if err != nil {
		return err
	}
	return s.exec(`INSERT INTO audit (at, actor, action, subject, before, after) VALUES (?, ?, ?, ?, ?, ?)`,
		at.UnixMicro(), string(by), action, subject, was, is)
}

// auditImport adds the entry of an import, unless it brought nothing.
func (s *session) auditImport(i store.Import, count int64) error {
	if count == 0 {
		return nil
	}
	return s.audit(i.At, i.By, i.Action, i.Subject, nil, store.Imported{Count: count})
}

const (
	// madeEntries are the redemptions as they were made, each an entry by itself.
	madeEntries = `
		SELECT r.redeemed_at AS at, 0 AS source, r.row AS place, '', '', '', NULL, NULL,
			r.id, p.id, r.user_id, r.client_id, r.first_status, r.metadata
		FROM redemptions AS r JOIN perks AS p ON p.row = r.perk`
	keptEntries = `
		SELECT a.at, 1 AS source, a.row AS place, a.actor, a.action, a.subject, a.before, a.after,
			NULL, NULL, NULL, NULL, NULL, NULL
		FROM audit AS a`
	// entryOrder puts a redemption before another entry of its instant, since what is decided was made before.
	entryOrder = ` ORDER BY at, source, place`
)

// Audit returns entries in the order in which they happened; an empty subject means all.
func (db *DB) Audit(ctx context.Context, subject string) iter.Seq2[store.AuditEntry, error] {
	var entries iter.Seq2[store.AuditEntry, error]
	made, isRedemption := strings.CutPrefix(subject, store.RedemptionSubjectPrefix)
	switch v := db.latest(ctx); {
	case subject == "":
		entries = each(v, scanAuditEntry, madeEntries+` UNION ALL `+keptEntries+entryOrder)
	case isRedemption:
		entries = each(v, scanAuditEntry, madeEntries+` WHERE r.id = ?2 UNION ALL `+keptEntries+` WHERE a.subject = ?1`+entryOrder,
			subject, made)
	default:
		entries = each(v, scanAuditEntry, keptEntries+` WHERE a.subject = ?`+entryOrder, subject)
	}
	return faults("read the audit log", entries)
}

func scanAuditEntry(r row) (entry store.AuditEntry, err error) {
	var at, source, place int64
	var before, after, id, perk, user, client, status, metadata *string
	if err := r.Scan(&at, &source, &place, &entry.Actor, &entry.Action, &entry.Subject, &before, &after,
		&id, &perk, &user, &client, &status, &metadata); err != nil {
		return entry, err
	}
	if source == 0 {
		return store.RedeemEntry(store.RedemptionRecord{ClientID: *client, Redemption: api.Redemption{
			ID: *id, PerkID: *perk, UserID: *user, RedeemedAt: fromMicros(at),
			Status: api.RedemptionStatus(*status), Metadata: json.RawMessage(*metadata),
		}})
	}
	entry.At, entry.Before, entry.After = fromMicros(at), store.AuditedRecord(before), store.AuditedRecord(after)
	return entry, nil
}
