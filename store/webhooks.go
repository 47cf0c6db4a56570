package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"example.com/perks/api"
)

// Webhook is an address of a client to which events are sent.
type Webhook struct {
	api.Webhook
	ClientID string
	Secrets  []byte     // encrypted by the server
	Position AuditPlace // everything before was delivered, or is a WebhookFailure
	Version  int64      // rises when its client changes it
}

// PublicWebhook is a webhook as the audit log shows it: without its secrets.
type PublicWebhook struct {
	ID          string          `json:"id"`
	ClientID    string          `json:"client_id"`
	URL         string          `json:"url"`
	Types       []api.EventType `json:"types"`
	Description string          `json:"description"`
	Enabled     bool            `json:"enabled"`
	Reason      *string         `json:"disabled_reason"`
	CreatedAt   time.Time       `json:"created_at"`
}

// Public returns the fields of the webhook that the audit log may show.
func (w Webhook) Public() PublicWebhook {
	return PublicWebhook{w.ID, w.ClientID, w.URL, w.Types, w.Description, w.Enabled, w.Reason, w.CreatedAt.UTC()}
}

// WebhookCreation is a webhook to add.
type WebhookCreation struct {
	Webhook // with CreatedAt
	By      Actor
	Key     *IdempotencyKey
}

// CreatedWebhook is a webhook as it is now, after it was added or found by its key.
type CreatedWebhook struct {
	Webhook
	Replayed bool
}

// WebhookQuery asks for a page of what was sent to a webhook, newest first.
type WebhookQuery struct {
	ID     string
	Window Window
	After  *Cursor // of a list in the order of WebhookSort: the page begins there
}

// WebhookSort is the order of what was sent.
func WebhookSort() []api.SortKey { return []api.SortKey{{Field: "at", Desc: true}} }

// WebhookSubject is "webhook/" and the webhook's id.
func WebhookSubject(id string) string { return "webhook/" + id }

// WebhookNotFound says that the client has no webhook with that id.
func WebhookNotFound(id string) error {
	return api.Errorf(api.CodeNotFound, "There is no webhook %q.", id)
}

const webhookColumns = `id, client_id, url, types, description, enabled, disabled_reason, failing_since, secrets,
	position, version, created_at, updated_at`

func scanWebhook(r Scanner) (w Webhook, err error) {
	var types, position string
	if err := r.Scan(&w.ID, &w.ClientID, &w.URL, &types, &w.Description, &w.Enabled, &w.Reason, &w.FailingSince,
		&w.Secrets, &position, &w.Version, &w.CreatedAt, &w.UpdatedAt); err != nil {
		return w, err
	}
	for kind := range strings.FieldsSeq(types) {
		w.Types = append(w.Types, api.EventType(kind))
	}
	if err := json.Unmarshal([]byte(position), &w.Position); err != nil {
		return w, fmt.Errorf("read the position of webhook %q: %w", w.ID, err)
	}
	return w, nil
}

func (w Webhook) values() ([]any, error) {
	position, err := json.Marshal(w.Position)
	return []any{w.ID, w.ClientID, w.URL, strings.Join(api.Texts(w.Types), " "), w.Description, w.Enabled, w.Reason,
		w.FailingSince, w.Secrets, string(position), w.Version, w.CreatedAt, w.UpdatedAt}, err
}

const selectWebhook = `SELECT ` + webhookColumns + ` FROM webhooks WHERE id = $1 AND client_id = $2`

func (o Operations) CreateWebhook(ctx context.Context, creation WebhookCreation) (CreatedWebhook, error) {
	return writeFor(ctx, o, "create a webhook", func(tx Tx) (created CreatedWebhook, err error) {
		hook := creation.Webhook
		if creation.Key != nil {
			entry, isKnown, err := keyOfPerks(tx, hook.ClientID, *creation.Key, hook.CreatedAt)
			if isKnown && entry != nil {
				created.Webhook, err = o.createdWebhook(tx, hook.ClientID, *entry)
			}
			if created.Replayed = err == nil && isKnown; isKnown || err != nil {
				return created, err
			}
		}
		n, err := One(tx, ScanValue[int64], `SELECT count(*) FROM webhooks WHERE client_id = $1`, hook.ClientID)
		if err == nil && n >= api.MaxWebhooks {
			err = api.Errorf(api.CodeConflict,
				"A client has at most %d webhooks. Delete one that is not needed, or change it.", api.MaxWebhooks)
		}
		if err != nil {
			return created, err
		}
		hook.CreatedAt = hook.CreatedAt.UTC().Truncate(time.Microsecond)
		hook.UpdatedAt, hook.Version, hook.Enabled = hook.CreatedAt, 1, true
		values, err := hook.values()
		if err == nil {
			_, err = tx.Exec(`INSERT INTO webhooks (`+webhookColumns+`)
				VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`, values...)
		}
		if err == nil {
			err = Audit(tx, hook.CreatedAt, creation.By, ActionCreateWebhook, WebhookSubject(hook.ID), nil, hook.Public())
		}
		if created.Webhook = hook; err != nil || creation.Key == nil {
			return created, err
		}
		return created, o.keepReply(tx, hook.ClientID, *creation.Key, hook.CreatedAt, WebhookSubject(hook.ID))
	})
}

// createdWebhook returns the webhook that an entry of the audit log has created.
func (o Operations) createdWebhook(tx Tx, clientID string, entry int64) (Webhook, error) {
	var public PublicWebhook
	if err := o.firstReply(tx, entry, &public); err != nil {
		return Webhook{}, err
	}
	gone := api.Errorf(api.CodeConflict, "The webhook %q, which this key has created, was deleted since.", public.ID)
	return OneOr(error(gone), tx, scanWebhook, selectWebhook, public.ID, clientID)
}

func (o Operations) Webhook(ctx context.Context, clientID, id string) (Webhook, error) {
	return Read(notBehind(ctx), o.db, "read a webhook", func(q Querier) (Webhook, error) {
		return OneOr(WebhookNotFound(id), q, scanWebhook, selectWebhook, id, clientID)
	})
}

func (o Operations) ListWebhooks(ctx context.Context, clientID string, window Window) (List[Webhook], error) {
	all, err := Read(notBehind(ctx), o.db, "list webhooks", func(q Querier) ([]Webhook, error) {
		return All(q, scanWebhook, `SELECT `+webhookColumns+` FROM webhooks WHERE client_id = $1
			ORDER BY created_at, id`, clientID)
	})
	first := min(window.Offset(), int64(len(all)))
	last := min(first+int64(window.PerPage), int64(len(all)))
	return List[Webhook]{Items: all[first:last], Total: int64(len(all))}, err
}

func (o Operations) UpdateWebhook(
	ctx context.Context, clientID, id string, by Actor, at time.Time, change func(*Webhook) (action string, err error),
) (Webhook, error) {
	return writeFor(ctx, o, "change a webhook", func(tx Tx) (Webhook, error) {
		before, err := OneOr(WebhookNotFound(id), tx, scanWebhook, selectWebhook+o.db.LockClient, id, clientID)
		if err != nil {
			return before, err
		}
		after := before
		action, err := change(&after)
		if err != nil || action == "" {
			return before, err
		}
		after.UpdatedAt, after.Version = at.UTC().Truncate(time.Microsecond), before.Version+1
		values, err := after.values()
		if err != nil {
			return before, err
		}
		v := func(i int) any { return values[i-1] }
		if _, err := tx.Exec(`UPDATE webhooks SET url = $2, types = $3, description = $4, enabled = $5,
			disabled_reason = $6, secrets = $7, version = $8, updated_at = $9 WHERE id = $1`,
			id, v(3), v(4), v(5), v(6), v(7), v(9), v(11), v(13)); err != nil {
			return before, err
		}
		if after.Position != before.Position {
			if _, err := tx.Exec(`UPDATE webhooks SET position = $2 WHERE id = $1`, id, v(10)); err != nil {
				return before, err
			}
		}
		if after.Enabled && !before.Enabled {
			if _, err := tx.Exec(`UPDATE webhook_failures SET attempt = 0, next_at = $2 WHERE webhook_id = $1`, id,
				at); err != nil {
				return before, err
			}
		}
		return after, Audit(tx, at, by, action, WebhookSubject(id), before.Public(), after.Public())
	})
}

func (o Operations) DeleteWebhook(ctx context.Context, clientID, id string, by Actor, at time.Time) error {
	return o.write(ctx, "delete a webhook", func(tx Tx) error {
		known, err := OneOr(WebhookNotFound(id), tx, scanWebhook, selectWebhook+o.db.LockClient, id, clientID)
		if err != nil {
			return err
		}
		if err := Run(tx.Exec,
			Step{Text: `DELETE FROM webhooks WHERE id = $1`, Args: []any{id}},
			Step{Text: `DELETE FROM webhook_failures WHERE webhook_id = $1`, Args: []any{id}},
			Step{Text: `DELETE FROM webhook_deliveries WHERE webhook_id = $1`, Args: []any{id}}); err != nil {
			return err
		}
		return Audit(tx, at, by, ActionDeleteWebhook, WebhookSubject(id), known.Public(), nil)
	})
}

const deliveryColumns = `id, webhook_id, at, event_id, type, subject, attempt, duration_ms, status, error, answer,
	next_at`

func scanDelivery(r Scanner) (d api.WebhookDelivery, err error) {
	return d, r.Scan(&d.ID, &d.WebhookID, &d.At, &d.EventID, &d.Type, &d.Subject, &d.Attempt, &d.Duration, &d.Status,
		&d.Error, &d.Answer, &d.NextAt)
}

var deliveryOrder = Order{ID: `d.id`, Columns: map[string]SortColumn{"at": {`d.at`, false, true}}}

func (o Operations) AddWebhookDeliveries(ctx context.Context, sent []api.WebhookDelivery) error {
	return o.db.Write(ctx, "keep what was sent to webhooks", func(tx Tx) error { return addDeliveries(tx, sent) })
}

func addDeliveries(tx Tx, sent []api.WebhookDelivery) error {
	for _, d := range sent {
		if _, err := tx.Exec(`INSERT INTO webhook_deliveries (`+deliveryColumns+`)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) ON CONFLICT DO NOTHING`, d.ID, d.WebhookID, d.At,
			d.EventID, string(d.Type), d.Subject, d.Attempt, d.Duration, d.Status, d.Error, d.Answer,
			d.NextAt); err != nil {
			return err
		}
	}
	return nil
}

func (o Operations) ListWebhookDeliveries(
	ctx context.Context, query WebhookQuery,
) (List[api.WebhookDelivery], error) {
	return inSnapshot(notBehind(ctx), o, "list what was sent to a webhook", o.db.SnapshotInOrder,
		func(q Querier) (List[api.WebhookDelivery], error) {
			texts := countedTexts{columns: deliveryColumns, order: deliveryOrder,
				from: ` FROM webhook_deliveries AS d WHERE d.webhook_id = @webhook`}
			count, pages, args, err := texts.build(Named{"webhook": query.ID}, WebhookSort(), query.Window, query.After)
			if err != nil {
				return List[api.WebhookDelivery]{}, err
			}
			return readCounted(q, count, pages, args, query.Window, scanDelivery,
				func(d api.WebhookDelivery) *Cursor { return &Cursor{Values: []any{d.At}, ID: d.ID} })
		})
}

func (o Operations) PurgeWebhookDeliveries(ctx context.Context, before time.Time) (purged int64, err error) {
	purged, err = o.purge(ctx, "delete what was sent to webhooks", `
		WITH old AS MATERIALIZED (
			SELECT id FROM webhook_deliveries WHERE at < $1 ORDER BY at LIMIT $2`+o.db.SkipLocked+`)
		DELETE FROM webhook_deliveries WHERE id IN (SELECT id FROM old)`, before)
	if err != nil {
		return purged, err
	}
	ids, err := Read(notBehind(ctx), o.db, "list the webhooks", func(q Querier) ([]string, error) {
		return All(q, ScanValue[string], `SELECT id FROM webhooks`)
	})
	for _, id := range ids {
		for err == nil {
			var n int64
			n, err = writeFor(ctx, o, "delete what was sent to a webhook", func(tx Tx) (int64, error) {
				return tx.Exec(`DELETE FROM webhook_deliveries WHERE id IN (SELECT id FROM webhook_deliveries
					WHERE webhook_id = $1 ORDER BY at DESC, id DESC LIMIT $2 OFFSET $3)`, id, purgeChunk,
					api.MaxWebhookDeliveries)
			})
			if purged += n; n < purgeChunk {
				break
			}
		}
	}
	return purged, err
}

func (o Operations) AuditEntry(ctx context.Context, key AuditKey) (entry AuditEntry, found bool, err error) {
	entries, err := inSnapshot(notBehind(ctx), o, "read an entry of the audit log", o.db.Snapshot,
		func(q Querier) ([]AuditEntry, error) {
			entries, err := o.auditOf(q, []AuditKey{key})
			if err == nil && entries[0].Subject != "" {
				err = o.completeUpdates(q, entries)
			}
			return entries, err
		})
	if err != nil {
		return entry, false, err
	}
	return entries[0], entries[0].Subject != "", nil
}

// KeyOfRedemption is the key of the entry for a redemption that was made, if the subject is one.
func KeyOfRedemption(subject string) AuditKey {
	id, _ := strings.CutPrefix(subject, redemptionPrefix)
	return AuditKey{ID: cmp.Or(id, subject)}
}
