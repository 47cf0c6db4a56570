package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"example.com/perks/cli/command"
	"example.com/perks/server"
	"example.com/perks/store"
	"example.com/perks/store/postgres"
	"example.com/perks/store/sqlite"
)

func (p *program) backupCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Back up a SQLite database to a new file",
		Long: "Copy a SQLite database to a new file, consistently, while servers use it.\n\n" +
			"The copy is a database like the original. To restore it, stop the server and use 'perksd restore'. An\n" +
			"existing file is not overwritten. PostgreSQL has pg_dump: 'perksd backup' prints how to call it.",
		Example: "  perksd backup perks-$(date +%F).db",
		Args:    command.Exactly("FILE"),
	}
	p.sandboxFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx, path := cmd.Context(), args[0]
		db, err := p.target(ctx)
		if err == nil && p.sandbox { // opening it checks that it is not the live database
			err = p.withExistingStore(ctx, func(store.Store) error { return nil })
		}
		if err != nil {
			return err
		}
		if err := db.backup(ctx, path); err != nil {
			return err
		}
		made, err := os.Stat(path)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(p.Out, "Backed up %s%s to %s (%.1f MiB).\n", p.ifSandbox("the sandbox "), db.name(),
			path, float64(made.Size())/(1<<20))
		return err
	}
	return cmd
}

func (p *program) restoreCommand() *cobra.Command {
	var former string
	var forget bool
	// Without a file, pg_restore has filled the database, and only clients and signing keys are copied to it.
	carriesOver := func(args []string) bool { return former != "" || forget && len(args) == 0 }
	cmd := &cobra.Command{
		Use:   "restore [FILE]",
		Short: "Replace a database with a backup",
		Long: "Replace a SQLite database with a copy of a backup that 'perksd backup' made. Stop the server first:\n" +
			"if anything uses the database, the command does nothing.\n\n" +
			"It checks the backup before it changes anything, and migrates it to this program's version. It keeps\n" +
			"the former database beside the new one, and prints its name. Redemptions made after the backup are\n" +
			"lost, and can be made again.\n\n" +
			"Clients and signing keys are not restored. What was disabled, rotated, narrowed or dropped after the\n" +
			"backup stays so, and newer clients are kept. A signing key that was rotated since is dropped, so\n" +
			"clients have to get new tokens. The command and the audit log list each difference from the backup.\n" +
			"If the database to be replaced is missing, damaged or not a later state of the backup, the command\n" +
			"needs --forget-revocations.\n\n" +
			"PostgreSQL has pg_restore: 'perksd restore FILE' prints how to call it, to fill a database beside the\n" +
			"former one. Then 'perksd restore --former ADDRESS' copies clients and signing keys from the former\n" +
			"database to that of --database.",
		Example: "  perksd restore perks-2026-01-31.db",
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if carriesOver(args) {
			return command.NoArgs(cmd, args)
		}
		return command.Exactly("FILE")(cmd, args)
	}
	cmd.Flags().StringVar(&former, "former", "",
		"the `ADDRESS` of the PostgreSQL database that the one of --database replaces")
	cmd.Flags().BoolVar(&forget, "forget-revocations", false,
		"restore even if perksd can't tell what was revoked after the backup")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		db, err := parseDatabase(p.database)
		if err != nil {
			return err
		}
		r := &restoration{by: p.operator, at: p.now(), forget: forget}
		if carriesOver(args) {
			return p.carryOver(cmd.Context(), db, former, r)
		}
		replaced, err := db.restore(cmd.Context(), args[0], r)
		if err != nil {
			return err
		}
		if replaced != "" {
			replaced = " The former one is " + replaced + "."
		}
		_, err = fmt.Fprintf(p.Out, "Restored %s from %s.%s\n%s", db.name(), args[0], replaced, r.report())
		return err
	}
	return cmd
}

// carryOver is the last step of restoring a PostgreSQL database, after pg_restore.
func (p *program) carryOver(ctx context.Context, db database, address string, r *restoration) error {
	if _, isFile := db.(sqliteFile); isFile {
		return command.Usagef("name the backup: perksd restore FILE; with SQLite the former database is the " +
			"file that is replaced")
	}
	if setUp, err := isSetUp(ctx, db); err != nil || !setUp {
		return cmp.Or(err, fmt.Errorf("perksd was never set up in the database %s; fill it with pg_restore first, as "+
			"'perksd restore FILE' says", db.name()))
	}
	if err := r.readFormerDatabase(ctx, address, db); err != nil {
		return err
	}
	if err := withOpen(ctx, db, slog.New(slog.NewTextHandler(p.Err, nil)), func(
		restored store.Store,
	) error {
		return r.applyTo(ctx, restored)
	}); err != nil {
		return fmt.Errorf("%w.\nIf this or an earlier attempt has changed anything, drop the database %s, make and "+
			"fill it again, as 'perksd restore FILE' says", err, db.name())
	}
	_, err := fmt.Fprintf(p.Out, "Copied clients and signing keys to %s.\n%s", db.name(), r.report())
	return err
}

// readFormerDatabase is readFormer for a PostgreSQL database beside the restored one.
func (r *restoration) readFormerDatabase(ctx context.Context, address string, restored database) error {
	if address == "" {
		r.readFormer(ctx, nil, errors.New("--former does not name it"))
		return nil
	}
	former, err := parseDatabase(address)
	if err != nil {
		return err
	}
	if err := requireMigrated(ctx, former); err != nil {
		r.readFormer(ctx, nil, err)
		return nil
	}
	same, err := restored.sameAs(ctx, former)
	r.mayBeSame = errors.Is(err, postgres.ErrStandby)
	if err != nil && !r.mayBeSame || same {
		return cmp.Or(err, error(command.Usagef("--former and --database name the same database")))
	}
	return withOpen(ctx, former, slog.New(slog.DiscardHandler),
		func(db store.Store) error { r.readFormer(ctx, db, nil); return nil })
}

func (f sqliteFile) restore(ctx context.Context, backup string, r *restoration) (former string, err error) {
	former, err = sqlite.Restore(ctx, backup, string(f), r.at, sqlite.CarryOver{
		Former:   func(former *sqlite.DB, err error) { r.readFormer(ctx, former, err) },
		Restored: func(restored *sqlite.DB) error { return r.applyTo(ctx, restored) },
	})
	if errors.Is(err, sqlite.ErrInUse) {
		return "",
			fmt.Errorf("%s is in use; stop the server, and every other perksd that works on it, and restore again", f)
	}
	return former, err
}

// restore leaves the work to PostgreSQL's own programs. They restore the backup to another database, because servers
// may use this one, which then gets the clients and signing keys.
func (d *postgresDatabase) restore(ctx context.Context, backup string, _ *restoration) (former string, err error) {
	name := d.dbname + "_restored"
	direct, advice, server, err := d.direct(ctx)
	creator, owner := *direct, ""
	if err == nil && !server.MayCreate && server.Creator != "" {
		creator.user, owner = server.Creator, " --owner="+shellWord(d.user)
		advice += fmt.Sprintf("as %q may create no database, but %q may, ", d.user, server.Creator)
	}
	return "",
		command.Usagef("perksd restore works on a file of SQLite; a backup of PostgreSQL goes into a new "+
			"database, which --database has to name from then on. Stop all servers first; then create it, fill it, "+
			"and copy clients and signing keys to it, %[7]swith: "+
			"createdb --maintenance-db=%[1]s --template=template0 --encoding=UTF8%[8]s %[2]s && "+
			"pg_restore --exit-on-error --no-owner --dbname=%[3]s %[4]s && "+
			"perksd restore --database=%[5]s --former=%[6]s",
			shellWord(creator.addressOf(d.dbname, false)), shellWord(name), shellWord(direct.addressOf(name, false)),
			shellWord(backup), shellWord(direct.addressOf(name, true)), shellWord(d.addressOf(d.dbname,
				true)), advice, owner)
}

// credentials are the clients and signing keys of a database.
type credentials struct {
	clients []store.Client
	keys    []store.SigningKey // that have not expired
	latest  time.Time          // of the last entry of the audit log
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

// client returns nil if there is none.
func (c credentials) client(id string) *store.Client {
	for i := range c.clients {
		if c.clients[i].ID == id {
			return &c.clients[i]
		}
	}
	return nil
}

// notLaterThan returns why c can't be a later state of the backup, or "". Clients stay, and the audit log only grows.
func (c credentials) notLaterThan(backup credentials) string {
	for _, was := range backup.clients {
		if is := c.client(was.ID); is == nil || !is.CreatedAt.Equal(was.CreatedAt) {
			return fmt.Sprintf("the database to be replaced is not a later state of the backup, because it lacks the "+
				"client %q", was.ID)
		}
	}
	if c.latest.Before(backup.latest) {
		return "the database to be replaced is older than the backup, by the last entries of their audit logs"
	}
	return ""
}

// restoration copies clients and signing keys from the former database to the restored one, so that what was revoked
// after the backup stays revoked.
type restoration struct {
	by     store.Actor
	at     time.Time
	forget bool // --forget-revocations

	mayBeSame bool // the former database is on a standby, perhaps of the restored one
	former    credentials
	unknown   string   // why perksd can't tell what was revoked; empty if it can
	carried   []string // how the restored database differs from the backup, a sentence each
}

// readFormer reads the database that is replaced, or stores why it can't.
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

// applyTo changes the restored database. If it fails or is interrupted, start again from the backup: its own changes
// would make the backup look newer than the former database.
func (r *restoration) applyTo(ctx context.Context, restored store.Store) error {
	backup, err := readCredentials(ctx, restored, r.at)
	if err != nil {
		return err
	}
	if r.unknown == "" {
		r.unknown = r.former.notLaterThan(backup)
	}
	// It was read first, so what it has and the restored one lacks did not come from there.
	if r.unknown == "" && r.mayBeSame && !r.former.latest.After(backup.latest) {
		r.unknown = "the former database is on a standby, perhaps of the restored one, as its audit log has nothing " +
			"newer; promote it (pg_ctl promote) to make sure"
	}
	switch {
	// a sandbox, or a database without anything that could have been revoked
	case len(backup.clients)+len(backup.keys) == 0:
		r.unknown = ""
	case r.unknown != "" && !r.forget:
		return fmt.Errorf("nothing was done: %s, so perksd can't tell what was revoked after the backup. Its clients "+
			"(%s) would have the secrets and scopes that they had then. To restore it anyway, add "+
			"--forget-revocations: that drops its signing keys, and so invalidates every token. Then check 'perksd "+
			"client list'", r.unknown, enabledClients(backup, r.at))
	case r.unknown != "":
		r.former = credentials{clients: backup.clients}
	}
	if err := r.carryClients(ctx, restored, backup); err != nil {
		return err
	}
	for _, key := range slices.Backward(backup.keys) { // the newest last, because it gets a successor
		if err := r.carryKey(ctx, restored, key); err != nil {
			return err
		}
	}
	return restored.AuditRestore(ctx,
		store.Restored{RevocationsKnown: r.unknown == "", CarriedOver: append([]string{}, r.carried...)}, r.by, r.at)
}

// enabledClients names those that get tokens at the time.
func enabledClients(c credentials, at time.Time) string {
	var names []string
	for _, client := range c.clients {
		if client.Refusal(at) == "" {
			names = append(names, client.ID)
		}
	}
	if len(names) == 0 {
		return "none is enabled"
	}
	const shown = 10
	if more := len(names) - shown; more > 0 {
		return fmt.Sprintf("%s and %d others", strings.Join(names[:shown], ", "), more)
	}
	return strings.Join(names, ", ")
}

func (r *restoration) carryClients(ctx context.Context, restored store.Store, backup credentials) error {
	lastTokens := map[string]time.Time{}
	for _, is := range r.former.clients {
		if !is.LastTokenAt.IsZero() {
			lastTokens[is.ID] = is.LastTokenAt
		}
		was := backup.client(is.ID)
		if was == nil {
			if err := restored.CreateClient(ctx, is, r.by); err != nil {
				return err
			}
			r.note("client %s, made after the backup, stays", is.ID)
			continue
		}
		if err := r.carrySecrets(ctx, restored, is, *was); err != nil {
			return err
		}
		renamed := was.Name != is.Name || was.Scopes.String() != is.Scopes.String()
		if renamed || !was.ExpiresAt.Equal(is.ExpiresAt) {
			change := store.ClientChange{Name: &is.Name, Scopes: is.Scopes, ExpiresAt: &is.ExpiresAt}
			if _, err := restored.UpdateClient(ctx, is.ID, change, r.by, r.at); err != nil {
				return err
			}
		}
		if renamed {
			r.note("client %s stays %q with the scopes %s", is.ID, is.Name, is.Scopes)
		}
		switch {
		case was.ExpiresAt.Equal(is.ExpiresAt):
		case is.ExpiresAt.IsZero():
			r.note("client %s still never expires", is.ID)
		default:
			r.note("client %s still expires at %s", is.ID, timeText(is.ExpiresAt))
		}
		if was.NamesActors != is.NamesActors {
			if _, err := restored.UpdateClient(ctx, is.ID, store.ClientChange{NamesActors: &is.NamesActors}, r.by,
				r.at); err != nil {
				return err
			}
			r.note("client %s still %s say who sits at it", is.ID,
				map[bool]string{true: "may", false: "may not"}[is.NamesActors])
		}
		if was.Disabled != is.Disabled {
			if err := restored.SetClientDisabled(ctx, is.ID, is.Disabled, r.by, r.at); err != nil {
				return err
			}
			r.note("client %s stays %s", is.ID, map[bool]string{true: "disabled", false: "enabled"}[is.Disabled])
		}
	}
	return restored.NoteTokens(ctx, lastTokens)
}

// carrySecrets carries the secrets of a client over, and the ends of old ones.
func (r *restoration) carrySecrets(ctx context.Context, restored store.Store, is, was store.Client) error {
	if was.Secret == is.Secret && slices.Equal(was.OldSecrets, is.OldSecrets) {
		return nil
	}
	_, err := restored.ChangeClient(ctx, is.ID, r.by, r.at, func(c *store.Client) (action string) {
		c.Secret, c.SecretAt, c.OldSecrets = is.Secret, is.SecretAt, is.OldSecrets
		if was.Secret != is.Secret {
			return store.ActionRotateSecret
		}
		return store.ActionDropOldSecret
	})
	switch {
	case was.Secret != is.Secret:
		r.note("client %s keeps its newer secret", is.ID)
	case r.at.Before(was.OldSecretUntil()):
		r.note("client %s stays without its old secret", is.ID)
	}
	return err
}

// carryKey drops a key of the backup unless it is unchanged in the former database.
func (r *restoration) carryKey(ctx context.Context, restored store.Store, key store.SigningKey) error {
	// Rotation changes a key's expiry.
	if slices.ContainsFunc(r.former.keys, func(
		k store.SigningKey,
	) bool {
		return k.ID == key.ID && k.ExpiresAt.Equal(key.ExpiresAt)
	}) {
		return nil
	}
	successor := server.NewSigningKey(r.at)
	succeeded, err := restored.DropSigningKey(ctx, key.ID, successor, r.by)
	if err != nil {
		return err
	}
	r.note("signing key %s was dropped, and its tokens are refused", key.ID)
	if succeeded {
		r.note("signing key %s replaces it", successor.ID)
	}
	return nil
}

func (r *restoration) note(format string, args ...any) {
	r.carried = append(r.carried, fmt.Sprintf(format, args...))
}

// report describes how the restored database differs from the backup, and what is unknown.
func (r *restoration) report() string {
	var text strings.Builder
	if len(r.carried) > 0 {
		text.WriteString("Different from the backup:\n")
		for _, sentence := range r.carried {
			fmt.Fprintf(&text, "  %s\n", sentence)
		}
	}
	if r.unknown != "" {
		fmt.Fprintf(&text, "perksd can't tell what was revoked after the backup: %s. These clients are enabled: %s.\n"+
			"Disable those that should not ('perksd client disable ID'), and rotate secrets that leaked "+
			"('perksd client rotate-secret ID').\n",
			r.unknown, enabledClients(r.former, r.at))
	}
	return text.String()
}
