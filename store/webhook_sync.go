package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"example.com/perks/api"
)

// Servers share the work of delivering. Each tells once a second how far it has come, and with the same transaction
// that it lives. A server that others have not heard of for a while loses its webhooks to them. The database measures
// no time: clocks differ, and a server that sees the beats of another one unchanged can tell by its own how long.

// WebhookServer is a server that delivers.
type WebhookServer struct {
	Server string
	Beats  int64 // rises with each sync
}

// WebhookFailure is an event that could not be delivered, or that waits behind one of its subject.
type WebhookFailure struct {
	Number  int64  // in the order of the events of the webhook, from 1
	Entry   int64  // in the audit log; 0 for a redemption that was made
	Subject string // of the event
	Cursor  string // of the event; "" from WebhookFailures
	At      time.Time
	Attempt int // how often it has failed
	NextAt  time.Time
}

// Key names the event in the audit log.
func (f WebhookFailure) Key() AuditKey {
	if f.Entry != 0 {
		return AuditKey{Entry: f.Entry}
	}
	return KeyOfRedemption(f.Subject)
}

// WebhookProgress is how far the delivery of a webhook has come.
type WebhookProgress struct {
	ID           string
	Position     AuditPlace
	FailingSince *time.Time
	Failures     []WebhookFailure // those that are new or have changed
	Ended        []int64          // the numbers of those that wait no more
	Disabled     string           // why it is disabled now, or ""
}

// WebhookSync is what a server tells the others, and asks for.
type WebhookSync struct {
	Server     string
	At         time.Time
	Dead       []WebhookServer // who has not raised its beats for long
	Take       int             // webhooks that it takes at most, of those that nobody delivers
	Progress   []WebhookProgress
	Release    []string // webhooks that others may take, after their progress
	Deliveries []api.WebhookDelivery
	Leaves     bool // the server ends
}

// WebhookState is the result.
type WebhookState struct {
	Servers           []WebhookServer  // without those that were dead, and with itself unless it leaves
	Held              map[string]int64 // the enabled webhooks that the server delivers from now on, with their versions
	Enabled, Disabled int              // webhooks of all servers
}

func (o Operations) SyncWebhooks(ctx context.Context, sync WebhookSync) (WebhookState, error) {
	return writeFor(ctx, o, "deliver webhooks", func(tx Tx) (state WebhookState, err error) {
		if err := beat(tx, sync); err != nil {
			return state, err
		}
		for _, progress := range slices.SortedFunc(slices.Values(sync.Progress), // in one order, against deadlocks
			func(a, b WebhookProgress) int { return cmp.Compare(a.ID, b.ID) }) {
			if err := o.keepProgress(tx, sync, progress); err != nil {
				return state, err
			}
		}
		if err := addDeliveries(tx, sync.Deliveries); err != nil {
			return state, err
		}
		for _, id := range slices.Sorted(slices.Values(sync.Release)) {
			if _, err := tx.Exec(`UPDATE webhooks SET holder = NULL WHERE id = $1 AND holder = $2`, id,
				sync.Server); err != nil {
				return state, err
			}
		}
		if sync.Take > 0 && !sync.Leaves {
			if _, err := tx.Exec(`UPDATE webhooks SET holder = $1 WHERE id IN (SELECT id FROM webhooks
				WHERE enabled AND (holder IS NULL OR holder NOT IN (SELECT server FROM webhook_servers))
				ORDER BY id LIMIT $2`+o.db.SkipLocked+`)`, sync.Server, sync.Take); err != nil {
				return state, err
			}
		}
		return readWebhookState(tx, sync.Server)
	})
}

func beat(tx Tx, sync WebhookSync) error {
	for _, dead := range slices.SortedFunc(slices.Values(sync.Dead),
		func(a, b WebhookServer) int { return cmp.Compare(a.Server, b.Server) }) {
		if _, err := tx.Exec(`DELETE FROM webhook_servers WHERE server = $1 AND beats = $2`, dead.Server,
			dead.Beats); err != nil {
			return err
		}
	}
	if sync.Leaves {
		_, err := tx.Exec(`DELETE FROM webhook_servers WHERE server = $1`, sync.Server)
		return err
	}
	_, err := tx.Exec(`INSERT INTO webhook_servers AS s (server, beats) VALUES ($1, 1)
		ON CONFLICT (server) DO UPDATE SET beats = s.beats + 1`, sync.Server)
	return err
}

func (o Operations) keepProgress(tx Tx, sync WebhookSync, p WebhookProgress) error {
	position, err := json.Marshal(p.Position)
	if err != nil {
		return fmt.Errorf("write the position of webhook %q: %w", p.ID, err)
	}
	held, err := tx.Exec(`UPDATE webhooks SET position = $3, failing_since = $4 WHERE id = $1 AND holder = $2`, p.ID,
		sync.Server, string(position), p.FailingSince)
	if err != nil || held == 0 {
		return err
	}
	for _, f := range p.Failures {
		if _, err := tx.Exec(`INSERT INTO webhook_failures
			(webhook_id, number, entry, subject, cursor, at, attempt, next_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
			ON CONFLICT (webhook_id, number) DO UPDATE SET attempt = $7, next_at = $8`,
			p.ID, f.Number, f.Entry, f.Subject, f.Cursor, f.At, f.Attempt, f.NextAt); err != nil {
			return err
		}
	}
	for _, number := range p.Ended {
		if _, err := tx.Exec(`DELETE FROM webhook_failures WHERE webhook_id = $1 AND number = $2`, p.ID,
			number); err != nil {
			return err
		}
	}
	if p.Disabled == "" {
		return nil
	}
	before, err := One(tx, scanWebhook, `SELECT `+webhookColumns+` FROM webhooks WHERE id = $1`, p.ID)
	if err != nil || !before.Enabled {
		return err
	}
	after := before
	after.Enabled, after.Reason = false, &p.Disabled
	if _, err := tx.Exec(`UPDATE webhooks SET enabled = $2, disabled_reason = $3, version = version + 1, updated_at = $4
		WHERE id = $1`, p.ID, after.Enabled, p.Disabled, sync.At); err != nil {
		return err
	}
	return Audit(tx, sync.At, Service, ActionDisableWebhook, WebhookSubject(p.ID), before.Public(), after.Public())
}

func readWebhookState(tx Tx, server string) (state WebhookState, err error) {
	state.Servers, err = All(tx, func(r Scanner) (s WebhookServer, err error) {
		return s, r.Scan(&s.Server, &s.Beats)
	}, `SELECT server, beats FROM webhook_servers ORDER BY server`)
	if err != nil {
		return state, err
	}
	state.Held = map[string]int64{}
	_, err = All(tx, func(r Scanner) (_ any, err error) {
		var id string
		var version int64
		err = r.Scan(&id, &version)
		state.Held[id] = version
		return nil, err
	}, `SELECT id, version FROM webhooks WHERE holder = $1 AND enabled`, server)
	if err != nil {
		return state, err
	}
	_, err = One(tx, func(r Scanner) (_ any, err error) { return nil, r.Scan(&state.Enabled, &state.Disabled) }, `
		SELECT count(CASE WHEN enabled THEN 1 END), count(CASE WHEN enabled THEN NULL ELSE 1 END) FROM webhooks`)
	return state, err
}

func (o Operations) HasWebhooks(ctx context.Context) (bool, error) {
	return Read(notBehind(ctx), o.db, "look for webhooks", func(q Querier) (bool, error) {
		return One(q, ScanValue[bool], `SELECT EXISTS (SELECT 1 FROM webhooks WHERE enabled)`)
	})
}

func (o Operations) HeldWebhook(ctx context.Context, id string) (hook Webhook, failures []WebhookFailure, err error) {
	hook, err = inSnapshot(notBehind(ctx), o, "read a webhook to deliver", o.db.Snapshot,
		func(q Querier) (hook Webhook, err error) {
			hook, err = OneOr(WebhookNotFound(id), q, scanWebhook,
				`SELECT `+webhookColumns+` FROM webhooks WHERE id = $1`, id)
			if err != nil {
				return hook, err
			}
			failures, err = All(q, func(r Scanner) (f WebhookFailure, err error) {
				return f, r.Scan(&f.Number, &f.Entry, &f.Subject, &f.At, &f.Attempt, &f.NextAt)
			}, `SELECT number, entry, subject, at, attempt, next_at FROM webhook_failures WHERE webhook_id = $1
				ORDER BY number`, id)
			return hook, err
		})
	return hook, failures, err
}

func (o Operations) WebhookFailureCursor(ctx context.Context, id string, number int64) (string, error) {
	return Read(notBehind(ctx), o.db, "read a delivery that failed", func(q Querier) (string, error) {
		return One(q, ScanValue[string], `SELECT cursor FROM webhook_failures WHERE webhook_id = $1 AND number = $2`, id,
			number)
	})
}
