package main

import (
	"context"
	"encoding/base32"
	"encoding/base64"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/cli/command"
	"example.com/perks/server"
	"example.com/perks/store"
)

// clientView is a client as it is printed. Secret is only set when it is new.
type clientView struct {
	ID          string    `json:"client_id"`
	Secret      string    `json:"client_secret,omitempty"`
	Name        string    `json:"name"`
	Scope       string    `json:"scope"`
	SandboxOnly bool      `json:"sandbox_only"`
	NamesActors bool      `json:"actors"`
	Disabled    bool      `json:"disabled"`
	CreatedAt   time.Time `json:"created_at"`

	ExpiresAt       *time.Time `json:"expires_at"`
	LastTokenAt     *time.Time `json:"last_token_at"`
	SecretCreatedAt time.Time  `json:"secret_created_at"`
	OldSecretUntil  *time.Time `json:"old_secret_until"` // null if none works any more

	secretMade string // how long ago
}

func (p *program) viewClient(c store.Client) clientView {
	now := p.now()
	view := clientView{ID: c.ID, Name: c.Name, Scope: c.Scopes.String(), SandboxOnly: c.SandboxOnly,
		NamesActors: c.NamesActors, Disabled: c.Disabled, CreatedAt: c.CreatedAt.UTC(),
		ExpiresAt: orNull(c.ExpiresAt), LastTokenAt: orNull(c.LastTokenAt), SecretCreatedAt: c.CreatedAt.UTC()}
	if !c.SecretAt.IsZero() {
		view.SecretCreatedAt = c.SecretAt.UTC()
	}
	if until := c.OldSecretUntil(); now.Before(until) {
		view.OldSecretUntil = orNull(until)
	}
	view.secretMade = display.Age(now.Sub(view.SecretCreatedAt))
	return view
}

var clientTable = table[clientView]{
	columns: []string{"CLIENT_ID", "NAME", "SCOPE", "SANDBOX_ONLY", "ACTORS", "DISABLED", "CREATED_AT",
		"EXPIRES_AT", "LAST_TOKEN_AT", "SECRET_MADE", "OLD_SECRET_UNTIL"},
	cells: func(c clientView) []string {
		return []string{c.ID, c.Name, c.Scope, strconv.FormatBool(c.SandboxOnly), strconv.FormatBool(c.NamesActors),
			strconv.FormatBool(c.Disabled), timeText(c.CreatedAt), timeOrDash(c.ExpiresAt),
			timeOrDash(c.LastTokenAt), c.secretMade, timeOrDash(c.OldSecretUntil)}
	},
}

func (p *program) clientCommand() *cobra.Command {
	return group("client", "Manage the clients that may call the API",
		p.clientCreateCommand(),
		p.clientListCommand(),
		p.clientUpdateCommand(),
		p.clientRotateSecretCommand(),
		p.clientSwitchCommand("disable", "Disable a client and its tokens", true),
		p.clientSwitchCommand("enable", "Enable a client again", false),
	)
}

type clientCreateOptions struct {
	name, id, scope, expires string
	sandboxOnly, actors      bool
}

// expiresFlag adds --expires. readExpiry reads it.
func expiresFlag(cmd *cobra.Command, text *string) {
	cmd.Flags().StringVar(text, "expires", "never", "the `DATE` from which on the client is refused: "+
		"2027-01-31 is midnight UTC, 2027-01-31T18:00:00Z a time, and never removes it")
}

// readExpiry returns the zero time for never.
func readExpiry(cmd *cobra.Command, text string, now time.Time) (at time.Time, err error) {
	at, isInstant := readInstant(text)
	switch {
	case text == "never":
		return time.Time{}, nil
	case !isInstant:
		return at, usagef(cmd, "--expires %q is not a date: write 2027-01-31, 2027-01-31T18:00:00Z, or never", text)
	case !at.After(now):
		return at, usagef(cmd, "--expires %s has passed; to refuse a client now, use 'perksd client disable'", text)
	}
	return at, nil
}

func (p *program) clientCreateCommand() *cobra.Command {
	var o clientCreateOptions
	cmd := &cobra.Command{
		Use:   "create --name NAME",
		Short: "Create a client, and print its id and secret once",
		Long: "Create a client, and print its id and secret.\n\n" +
			"The secret is printed only now; the database stores a hash of it. If it is lost, make another with\n" +
			"'perksd client rotate-secret'.",
		Example: "  perksd client create --name 'Front desk' --scope perks:read,perks:redeem\n" +
			"  perksd client create --name Importer --id importer -o json",
		Args: command.NoArgs,
	}
	cmd.Flags().StringVar(&o.name, "name", "", "the client's name (required)")
	cmd.Flags().StringVar(&o.id, "id", "", "the client's id (default: derived from the name)")
	cmd.Flags().StringVar(&o.scope, "scope", "",
		"the scopes of its tokens, separated by commas, of "+listed(api.AllScopes())+" (default "+listed(
			api.DefaultScopes())+")")
	actorsFlag(cmd, &o.actors)
	cmd.Flags().BoolVar(&o.sandboxOnly, "sandbox-only", false, "allow only the sandbox addresses")
	expiresFlag(cmd, &o.expires)
	output := outputFlag(cmd, "table", "json")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		client, err := o.client(cmd, p.random)
		if err != nil {
			return err
		}
		secret, hash, err := p.newSecret()
		if err != nil {
			return err
		}
		client.Secret, client.CreatedAt = hash, p.now()
		if client.ExpiresAt, err = readExpiry(cmd, o.expires, p.now()); err != nil {
			return err
		}
		return p.withStore(cmd.Context(), func(db store.Store) error {
			if err := db.CreateClient(cmd.Context(), client, p.operator); err != nil {
				return err
			}
			return p.printSecret(output.value, client, secret)
		})
	}
	return cmd
}

// actorsFlag binds the permission of a client to name who sits at it.
func actorsFlag(cmd *cobra.Command, actors *bool) {
	cmd.Flags().BoolVar(actors, "actors", false, "let it say who sits at it, in the header "+api.HeaderActor)
}

// client checks the flags and returns the client without a secret.
func (o *clientCreateOptions) client(cmd *cobra.Command, random io.Reader) (none store.Client, _ error) {
	if problem := clientNameProblem(o.name); problem != "" {
		return none, usagef(cmd, "--name %s", problem)
	}
	scopes, err := api.ParseScopes(o.scope)
	if err != nil {
		return none, usagef(cmd, "%s", err)
	}
	if len(scopes) == 0 {
		// An empty variable in a script must not grant what it does not name.
		if cmd.Flags().Changed("scope") {
			return none, usagef(cmd, "--scope names no scope; leave it out for %s", listed(api.DefaultScopes()))
		}
		scopes = api.DefaultScopes()
	}
	if o.id == "" {
		if o.id, err = newClientID(o.name, random); err != nil {
			return none, err
		}
	}
	if strings.HasPrefix(o.id, "-") {
		return none, usagef(cmd, "--id must not begin with '-', like a flag: %q", o.id)
	}
	if !clientID.MatchString(o.id) {
		return none, usagef(cmd, "--id must be 1 to 64 characters of A-Z, a-z, 0-9, '.', '_' and '-'")
	}
	return store.Client{ID: o.id, Name: o.name, Scopes: scopes, SandboxOnly: o.sandboxOnly,
		NamesActors: o.actors}, nil
}

// listed writes scopes as the flag takes them.
func listed(scopes api.Scopes) string { return strings.ReplaceAll(scopes.String(), " ", ",") }

// clientNameProblem allows only names that can be printed on a terminal.
func clientNameProblem(name string) string {
	const most = 120
	switch {
	case strings.TrimSpace(name) == "":
		return "is required"
	case utf8.RuneCountInString(name) > most:
		return fmt.Sprintf("must be at most %d characters long", most)
	case strings.ContainsFunc(name, func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }):
		return "must not contain control characters"
	}
	return ""
}

// clientID excludes colons, which end the id in HTTP Basic authentication, and all that URL-encoding changes.
var clientID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

var notInClientID = regexp.MustCompile(`[^a-z0-9]+`)

// newClientID makes an id that people recognise in a log and that is unique: the name, and 40 random bits.
func newClientID(name string, random io.Reader) (string, error) {
	var raw [5]byte
	if _, err := io.ReadFull(random, raw[:]); err != nil {
		return "", fmt.Errorf("making a client id: %w", err)
	}
	readable := notInClientID.ReplaceAllString(strings.ToLower(name), "-")
	readable = strings.Trim(readable[:min(len(readable), 32)], "-")
	if readable == "" {
		readable = "client"
	}
	return readable + "-" + strings.ToLower(base32.StdEncoding.EncodeToString(raw[:])), nil
}

// newSecret returns a secret, 32 random bytes in base64url, and its hash.
func (p *program) newSecret() (string, store.SecretHash, error) {
	var raw [32]byte
	if _, err := io.ReadFull(p.random, raw[:]); err != nil {
		return "", store.SecretHash{}, fmt.Errorf("making a secret: %w", err)
	}
	secret := base64.RawURLEncoding.EncodeToString(raw[:])
	return secret, server.HashSecret(secret), nil
}

func (p *program) printSecret(format string, client store.Client, secret string) error {
	view := p.viewClient(client)
	view.Secret = secret
	if format == "json" {
		return printJSON(p.Out, view)
	}
	ends := ""
	if view.ExpiresAt != nil {
		ends += fmt.Sprintf("expires_at     %s\n", timeText(*view.ExpiresAt))
	}
	if view.OldSecretUntil != nil {
		ends += fmt.Sprintf("old secret     works until %s\n", timeText(*view.OldSecretUntil))
	}
	_, err := fmt.Fprintf(p.Out, "client_id      %s\n"+
		"client_secret  %s\n"+
		"name           %s\n"+
		"scope          %s\n"+
		"sandbox_only   %t\n%s\n"+
		"Store the secret where only the client can read it. perksd won't show it again.\n",
		view.ID, view.Secret, view.Name, view.Scope, view.SandboxOnly, ends)
	return err
}

func (p *program) clientListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List all clients, oldest first",
		Long: "List all clients, oldest first: when each expires, when it last got a token, how old its secret is,\n" +
			"and until when an old one works.\n\n" +
			"The time of the last token may be up to an hour behind.",
		Args: command.NoArgs,
	}
	output := outputFlag(cmd, "table", "json", "jsonl")
	cmd.RunE = p.onStore(func(ctx context.Context, db store.Store, _ []string) error {
		clients, err := db.Clients(ctx)
		views := make([]clientView, len(clients))
		for i, c := range clients {
			views[i] = p.viewClient(c)
		}
		return clientTable.print(p.Out, output.value, sequence(views, err))
	})
	return cmd
}

// maxKeepOld is how long a rotation can keep the old secret.
const maxKeepOld = 365 * 24 * time.Hour

func (p *program) clientRotateSecretCommand() *cobra.Command {
	var keepOld string
	var dropOld bool
	cmd := &cobra.Command{
		Use:   "rotate-secret ID",
		Short: "Give a client a new secret, and print it once",
		Long: "Give a client a new secret, and print it once.\n\n" +
			"The old secret no longer gets tokens, unless --keep-old keeps it for a time: then change the secret\n" +
			"wherever the client runs, and end the old one with --drop-old, or let it end. Secrets that earlier\n" +
			"rotations have kept work until their own ends, and a rotation without --keep-old ends them too.\n\n" +
			"Existing tokens stay valid until they expire; 'perksd client disable' ends those too.",
		Example: "  perksd client rotate-secret front-desk --keep-old 48h\n" +
			"  perksd client rotate-secret front-desk --drop-old",
		Args: command.Exactly("ID"),
	}
	cmd.Flags().StringVar(&keepOld, "keep-old", "",
		"keep the old secret for this `TIME`, such as 48h or 7d, at most 365d (default not at all)")
	cmd.Flags().BoolVar(&dropOld, "drop-old", false, "make no new secret, but end the old one now")
	output := outputFlag(cmd, "table", "json")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		keep, isAge := readAge(keepOld)
		switch keeps := cmd.Flags().Changed("keep-old"); {
		case keeps && dropOld:
			return usagef(cmd, "--keep-old makes a new secret, --drop-old ends the old one: use only one of them")
		case keeps && (!isAge || keep < time.Second || keep > maxKeepOld):
			return usagef(cmd, "--keep-old must be a time from 1s to 365d, such as 48h or 7d, not %q", keepOld)
		}
		return p.withExistingStore(cmd.Context(), func(db store.Store) error {
			if dropOld {
				return p.dropOldSecret(cmd.Context(), db, args[0], output.value)
			}
			return p.rotateSecret(cmd.Context(), db, args[0], keep, output.value)
		})
	}
	return cmd
}

// rotateSecret keeps the old secret for a time, unless that is 0.
func (p *program) rotateSecret(
	ctx context.Context, db store.Store, id string, keep time.Duration, format string,
) error {
	secret, hash, err := p.newSecret()
	if err != nil {
		return err
	}
	client, err := db.Client(ctx, id)
	if err != nil {
		return err
	}
	now, until := p.now(), time.Time{}
	if keep > 0 {
		until = now.Add(keep)
		if client.Disabled {
			return command.Usagef("client %s is disabled, so it has no secret to keep: leave out --keep-old, or run "+
				"'perksd client enable %[1]s' first", id)
		}
	}
	// Nothing may fail between this and printing the secret: the old one may no longer work.
	client, err = db.ChangeClient(ctx, id, p.operator, now, store.Rotation(hash, until, now))
	if err != nil {
		return err
	}
	return p.printSecret(format, client, secret)
}

func (p *program) dropOldSecret(ctx context.Context, db store.Store, id, format string) error {
	before, err := db.Client(ctx, id)
	if err != nil {
		return err
	}
	client, err := db.ChangeClient(ctx, id, p.operator, p.now(), store.DropOldSecrets)
	if err != nil {
		return err
	}
	said := "The old secret of client %s has ended.\n"
	switch {
	case format == "json":
		return printJSON(p.Out, p.viewClient(client))
	case !p.now().Before(before.OldSecretUntil()):
		said = "Client %s has no old secret that works.\n"
	}
	_, err = fmt.Fprintf(p.Out, said, id)
	return err
}

func (p *program) clientSwitchCommand(verb, short string, disabled bool) *cobra.Command {
	return &cobra.Command{
		Use:   verb + " ID",
		Short: short,
		Long:  short + ". Running servers notice within seconds.",
		Args:  command.Exactly("ID"),
		RunE: p.onStore(func(ctx context.Context, db store.Store, args []string) error {
			if err := db.SetClientDisabled(ctx, args[0], disabled, p.operator, p.now()); err != nil {
				return err
			}
			client, err := db.Client(ctx, args[0])
			if err != nil {
				return err
			}
			but := "."
			if refused := client.Refusal(p.now()); refused != "" && !disabled {
				but = fmt.Sprintf(", but %s. To let it in, run 'perksd client update %s --expires DATE'.", refused,
					args[0])
			}
			_, err = fmt.Fprintf(p.Out, "Client %s is %sd%s\n", args[0], verb, but)
			return err
		}),
	}
}

func (p *program) clientUpdateCommand() *cobra.Command {
	var name, scope, expires string
	var actors bool
	cmd := &cobra.Command{
		Use:   "update ID",
		Short: "Change a client's name, scopes or expiry, or let it name who sits at it",
		Long: "Change a client's name, scopes or expiry, or whether it may say who sits at it (--actors,\n" +
			"--actors=false).\n\n" +
			"A removed scope is removed from existing tokens too, within 5s on running servers. An added one is in\n" +
			"new tokens. From its expiry on, a client is refused as if it were disabled, with its existing tokens.\n" +
			"Servers warn 14 days before, in the log and by the metric perks_clients_expiring.",
		Example: "  perksd client update front-desk --scope perks:read,perks:redeem\n  perksd client update " +
			"front-desk --name 'Front desk, ground floor'\n" +
			"  perksd client update front-desk --expires 2027-01-31\n" +
			"  perksd client update front-desk --actors",
		Args: command.Exactly("ID"),
	}
	cmd.Flags().StringVar(&name, "name", "", "the client's name")
	cmd.Flags().StringVar(&scope, "scope", "", "all scopes of its tokens from now on, separated by commas")
	expiresFlag(cmd, &expires)
	actorsFlag(cmd, &actors)
	output := outputFlag(cmd, "table", "json")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var change store.ClientChange
		if cmd.Flags().Changed("actors") {
			change.NamesActors = &actors
		}
		if cmd.Flags().Changed("name") {
			if problem := clientNameProblem(name); problem != "" {
				return usagef(cmd, "--name %s", problem)
			}
			change.Name = &name
		}
		if cmd.Flags().Changed("scope") {
			scopes, err := api.ParseScopes(scope)
			if err != nil {
				return usagef(cmd, "%s", err)
			}
			if len(scopes) == 0 {
				return usagef(cmd, "--scope names no scope; use 'perksd client disable' to disable a client")
			}
			change.Scopes = scopes
		}
		if cmd.Flags().Changed("expires") {
			at, err := readExpiry(cmd, expires, p.now())
			if err != nil {
				return err
			}
			change.ExpiresAt = &at
		}
		if change.Name == nil && change.Scopes == nil && change.ExpiresAt == nil && change.NamesActors == nil {
			return usagef(cmd, "say what to change with --name, --scope, --expires or --actors")
		}
		return p.withExistingStore(cmd.Context(), func(db store.Store) error {
			client, err := db.UpdateClient(cmd.Context(), args[0], change, p.operator, p.now())
			if err != nil {
				return err
			}
			return clientTable.printOne(p.Out, output.value, p.viewClient(client))
		})
	}
	return cmd
}
