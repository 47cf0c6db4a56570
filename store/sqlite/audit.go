package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"iter"
	"strings"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
)

// audit adds an entry in the transaction of the change itself. Before and after are written as JSON, nil as null.
func (s *session) audit(at time.Time, by store.Actor, action, subject string, before, after any) error {
	was, err := jsonOrNull(before)
	if err != nil {
		return err
	}
	is, err := jsonOrNull(after)
	if err != nil {
		return err
	}
	return s.exec(`INSERT INTO audit (at, actor, action, subject, before, after) VALUES (?, ?, ?, ?, ?, ?)`,
		at.UnixMicro(), string(by), action, subject, was, is)
}

func jsonOrNull(record any) (sql.NullString, error) {
	if record == nil {
		return sql.NullString{}, nil
	}
	text, err := json.Marshal(record)
	return sql.NullString{String: string(text), Valid: true}, err
}

const (
	// madeEntries are the redemptions as they were made; scanAuditEntry puts their records together.
	madeEntries = `
		SELECT r.redeemed_at AS at, 0 AS source, r.row AS place, 'client/' || r.client_id, '` + store.ActionRedeem + `',
			'redemption/' || r.id, NULL, p.id, r.id, r.user_id, r.first_status, r.metadata
		FROM redemptions AS r JOIN perks AS p ON p.row = r.perk`
	keptEntries = `
		SELECT a.at, 1 AS source, a.row AS place, a.actor, a.action,
			a.subject, a.before, NULL, NULL, NULL, NULL, a.after
		FROM audit AS a`
	// entryOrder puts a redemption before another entry of its instant, since what is decided was made before.
	entryOrder = ` ORDER BY at, source, place`
)

// Audit returns entries in the order in which they happened; an empty subject means all.
func (db *DB) Audit(ctx context.Context, subject string) iter.Seq2[store.AuditEntry, error] {
	var entries iter.Seq2[store.AuditEntry, error]
	made, isRedemption := strings.CutPrefix(subject, "redemption/")
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
	var before, after, perk, id, user, status *string
	if err := r.Scan(&at, &source, &place, &entry.Actor, &entry.Action, &entry.Subject, &before, &perk, &id, &user, &status, &after); err != nil {
		return entry, err
	}
	entry.At = fromMicros(at)
	entry.Before, entry.After = rawOrNull(before), rawOrNull(after)
	if source == 0 {
		made := api.Redemption{ID: *id, PerkID: *perk, UserID: *user, RedeemedAt: entry.At,
			Status: api.RedemptionStatus(*status), Metadata: entry.After}
		entry.After, err = json.Marshal(made)
	}
	return entry, err
}

func rawOrNull(text *string) json.RawMessage {
	if text == nil {
		return json.RawMessage("null")
	}
	return json.RawMessage(*text)
}
