package postgres

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
	return s.exec(`INSERT INTO audit (at, actor, action, subject, before, after) VALUES ($1, $2, $3, $4, $5, $6)`,
		at, string(by), action, subject, was, is)
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
		SELECT r.redeemed_at AS at, 0 AS source, 0::bigint AS entry, '' AS actor, '' AS action, '' AS subject, NULL AS before, NULL AS after,
			r.id AS redemption, r.perk_id, r.user_id, r.client_id, r.first_status, r.metadata
		FROM redemptions AS r`
	keptEntries = `
		SELECT a.at, 1 AS source, a.entry, a.actor, a.action, a.subject, a.before, a.after,
			NULL AS redemption, NULL, NULL, NULL, NULL, NULL
		FROM audit AS a`
	// entryOrder puts a redemption before another entry of its instant, since what is decided was made before. Two indexes
	// give the order of the instants, so that only entries of one instant are ever sorted.
	entryOrder = ` ORDER BY at, source, entry, redemption`
)

// Audit returns entries in the order in which they happened; an empty subject means all.
func (db *DB) Audit(ctx context.Context, subject string) iter.Seq2[store.AuditEntry, error] {
	if isForeign(subject) {
		return func(func(store.AuditEntry, error) bool) {}
	}
	text, args := keptEntries+` WHERE a.subject = $1`, []any{subject}
	made, isRedemption := strings.CutPrefix(subject, store.RedemptionSubjectPrefix)
	switch {
	case subject == "":
		text, args = madeEntries+` UNION ALL `+keptEntries, nil
	case isRedemption:
		text, args = madeEntries+` WHERE r.id = $2 UNION ALL `+text, append(args, made)
	}
	return stream(ctx, db, "read the audit log", scanAuditEntry, text+entryOrder, args...)
}

func scanAuditEntry(r row) (entry store.AuditEntry, err error) {
	var source, place int64
	var before, after, id, perk, user, client, status, metadata *string
	if err := r.Scan(&entry.At, &source, &place, &entry.Actor, &entry.Action, &entry.Subject, &before, &after,
		&id, &perk, &user, &client, &status, &metadata); err != nil {
		return entry, err
	}
	entry.At = entry.At.UTC()
	if source == 0 {
		return store.RedeemEntry(store.RedemptionRecord{ClientID: *client, Redemption: api.Redemption{
			ID: *id, PerkID: *perk, UserID: *user, RedeemedAt: entry.At,
			Status: api.RedemptionStatus(*status), Metadata: json.RawMessage(*metadata),
		}})
	}
	entry.Before, entry.After = store.AuditedRecord(before), store.AuditedRecord(after)
	return entry, nil
}
