package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"example.com/perks/server/auth"
	"example.com/perks/store"
)

// credentials are the clients and signing keys of a database.
type credentials struct {
	clients []store.Client
	keys    []store.SigningKey // that have not expired
	latest  time.Time          // when the audit log's last entry was written
}

func readCredentials(ctx context.Context, db store.Store, at time.Time) (c credentials, err error) {
	if c.clients, err = db.Clients(ctx); err != nil {
		return c, err
	}
	if c.keys, err = db.SigningKeys(ctx, at); err != nil {
		return c, err
	}
	for entry, err := range db.Audit(ctx, store.AuditQuery{Last: 1}) {
		if err != nil {
			return c, err
		}
		c.latest = entry.At
	}
	return c, nil
}

func (c credentials) areNone() bool { return len(c.clients)+len(c.keys) == 0 }

func (c credentials) client(id string) (store.Client, bool) {
	i := slices.IndexFunc(c.clients, func(client store.Client) bool { return client.ID == id })
	if i < 0 {
		return store.Client{}, false
	}
	return c.clients[i], true
}

// hasKey reports whether the key is there with the same expiry: a key that was rotated since has another.
func (c credentials) hasKey(key store.SigningKey) bool {
	return slices.ContainsFunc(c.keys, func(k store.SigningKey) bool { return k.ID == key.ID && k.ExpiresAt.Equal(key.ExpiresAt) })
}

// whyNotLater says why c cannot be a later state of the backup, and is empty if it can. Clients are never deleted, and the
// audit log only grows.
func (c credentials) whyNotLater(backup credentials) string {
	for _, was := range backup.clients {
		if is, there := c.client(was.ID); !there || !is.CreatedAt.Equal(was.CreatedAt) {
			return fmt.Sprintf("the database to be replaced is not a later state of the backup, because it lacks the client %q", was.ID)
		}
	}
	if c.latest.Before(backup.latest) {
		return "the database to be replaced is older than the backup, by the last entries of their audit logs"
	}
	return ""
}

// restoration copies clients and signing keys from the former database to the restored one, so that whoever was shut out
// after the backup stays out.
type restoration struct {
	by     store.Actor
	at     time.Time
	forget bool // --forget-revocations

	former  credentials
	unknown string   // why perksd can't tell what was revoked; empty if it can
	carried []string // how the restored database differs from the backup, a sentence each
}

func (p *program) newRestoration(forget bool) *restoration {
	return &restoration{by: p.operator, at: p.now(), forget: forget}
}

// readFormer reads the database that is replaced, or keeps err as the reason why it can't.
func (r *restoration) readFormer(ctx context.Context, former store.Store, err error) {
	if err == nil {
		r.former, err = readCredentials(ctx, former, r.at)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.unknown = "the database to be replaced is not there"
	case err != nil:
		r.unknown = fmt.Sprintf("the database to be replaced cannot be read (%v)", err)
	}
}

// applyTo changes the restored database. If it fails or is interrupted, start over from the backup: what it has written is
// newer than the former database, which cannot be told from a backup that is.
func (r *restoration) applyTo(ctx context.Context, restored store.Store) error {
	backup, err := readCredentials(ctx, restored, r.at)
	if err != nil {
		return err
	}
	if r.unknown == "" {
		r.unknown = r.former.whyNotLater(backup)
	}
	switch {
	case backup.areNone(): // a sandbox, or nobody who could have been shut out since
		r.unknown = ""
	case r.unknown != "" && !r.forget:
		return fmt.Errorf("nothing was done: %s, so perksd can't tell what was revoked after the backup. Its clients (%s) would get in with the "+
			"secrets and scopes they had then. To restore it anyway, add --forget-revocations: that drops its signing keys, which ends every token. "+
			"Then check 'perksd client list'", r.unknown, whoIsLetIn(backup))
	case r.unknown != "":
		r.former = credentials{clients: backup.clients}
	}
	if err := r.carryClients(ctx, restored, backup); err != nil {
		return err
	}
	for _, key := range slices.Backward(backup.keys) { // the newest last: it gets a successor
		if err := r.carryKey(ctx, restored, key); err != nil {
			return err
		}
	}
	return restored.AuditRestore(ctx, store.Restored{RevocationsKnown: r.unknown == "", CarriedOver: append([]string{}, r.carried...)}, r.by, r.at)
}

// whoIsLetIn names the clients that are enabled.
func whoIsLetIn(c credentials) string {
	const shown = 10
	var names []string
	for _, client := range c.clients {
		if !client.Disabled {
			names = append(names, client.ID)
		}
	}
	switch {
	case len(names) == 0:
		return "none is enabled"
	case len(names) > shown:
		return fmt.Sprintf("%s and %d others", strings.Join(names[:shown], ", "), len(names)-shown)
	}
	return strings.Join(names, ", ")
}

func (r *restoration) carryClients(ctx context.Context, restored store.Store, backup credentials) error {
	for _, is := range r.former.clients {
		was, there := backup.client(is.ID)
		if !there {
			if err := restored.CreateClient(ctx, is, r.by); err != nil {
				return err
			}
			r.note("client %s, made after the backup, stays", is.ID)
			continue
		}
		if was.Secret != is.Secret {
			if err := restored.SetClientSecret(ctx, is.ID, is.Secret, r.by, r.at); err != nil {
				return err
			}
			r.note("client %s keeps its newer secret", is.ID)
		}
		if was.Name != is.Name || was.Scopes.String() != is.Scopes.String() {
			if _, err := restored.UpdateClient(ctx, is.ID, store.ClientChange{Name: &is.Name, Scopes: is.Scopes}, r.by, r.at); err != nil {
				return err
			}
			r.note("client %s stays %q with the scopes %s", is.ID, is.Name, is.Scopes)
		}
		if was.Disabled != is.Disabled {
			if err := restored.SetClientDisabled(ctx, is.ID, is.Disabled, r.by, r.at); err != nil {
				return err
			}
			r.note("client %s stays %s", is.ID, map[bool]string{true: "disabled", false: "enabled"}[is.Disabled])
		}
	}
	return nil
}

// carryKey drops a key of the backup unless it signs just as it did then.
func (r *restoration) carryKey(ctx context.Context, restored store.Store, key store.SigningKey) error {
	if r.former.hasKey(key) {
		return nil
	}
	successor, err := auth.NewSigningKey(r.at)
	if err != nil {
		return err
	}
	succeeded, err := restored.DropSigningKey(ctx, key.ID, successor, r.by)
	if err != nil {
		return err
	}
	r.note("signing key %s was dropped, and its tokens are refused", key.ID)
	if succeeded {
		r.note("signing key %s was made in its place", successor.ID)
	}
	return nil
}

func (r *restoration) note(format string, args ...any) {
	r.carried = append(r.carried, fmt.Sprintf(format, args...))
}

// report says how the restored database differs from the backup, and what perksd can't tell.
func (r *restoration) report() string {
	var text strings.Builder
	if len(r.carried) > 0 {
		text.WriteString("Not as in the backup:\n")
		for _, sentence := range r.carried {
			fmt.Fprintf(&text, "  %s\n", sentence)
		}
	}
	if r.unknown != "" {
		fmt.Fprintf(&text, "perksd can't tell what was revoked after the backup: %s. These clients may call now: %s.\n"+
			"Disable those that should not ('perksd client disable ID'), and rotate secrets that leaked ('perksd client rotate-secret ID').\n",
			r.unknown, whoIsLetIn(r.former))
	}
	return text.String()
}
