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
	Disabled    bool      `json:"disabled"`
	CreatedAt   time.Time `json:"created_at"`
}

func viewClient(c store.Client) clientView {
	return clientView{ID: c.ID, Name: c.Name, Scope: c.Scopes.String(), SandboxOnly: c.SandboxOnly,
		Disabled: c.Disabled, CreatedAt: c.CreatedAt.UTC()}
}

var clientTable = table[clientView]{
	columns: []string{"CLIENT_ID", "NAME", "SCOPE", "SANDBOX_ONLY", "DISABLED", "CREATED_AT"},
	cells: func(c clientView) []string {
		return []string{c.ID, c.Name, c.Scope, strconv.FormatBool(c.SandboxOnly), strconv.FormatBool(c.Disabled),
			timeText(c.CreatedAt)}
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
	name, id, scope string
	sandboxOnly     bool
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
	cmd.Flags().BoolVar(&o.sandboxOnly, "sandbox-only", false, "allow only the sandbox addresses")
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
		return p.withStore(cmd.Context(), func(db store.Store) error {
			if err := db.CreateClient(cmd.Context(), client, p.operator); err != nil {
				return err
			}
			return p.printSecret(output.value, client, secret)
		})
	}
	return cmd
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
	return store.Client{ID: o.id, Name: o.name, Scopes: scopes, SandboxOnly: o.sandboxOnly}, nil
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
	view := viewClient(client)
	view.Secret = secret
	if format == "json" {
		return printJSON(p.Out, view)
	}
	_, err := fmt.Fprintf(p.Out, "client_id      %s\n"+
		"client_secret  %s\n"+
		"name           %s\n"+
		"scope          %s\n"+
		"sandbox_only   %t\n\n"+
		"Store the secret where only the client can read it. perksd won't show it again.\n",
		view.ID, view.Secret, view.Name, view.Scope, view.SandboxOnly)
	return err
}

func (p *program) clientListCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "List all clients, oldest first", Args: command.NoArgs}
	output := outputFlag(cmd, "table", "json", "jsonl")
	cmd.RunE = p.onStore(func(ctx context.Context, db store.Store, _ []string) error {
		clients, err := db.Clients(ctx)
		views := make([]clientView, len(clients))
		for i, c := range clients {
			views[i] = viewClient(c)
		}
		return clientTable.print(p.Out, output.value, sequence(views, err))
	})
	return cmd
}

func (p *program) clientRotateSecretCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rotate-secret ID",
		Short: "Give a client a new secret, and print it once",
		Long: "Give a client a new secret, and print it once.\n\n" +
			"The old secret no longer gets tokens. Existing tokens stay valid until they expire; 'perksd client\n" +
			"disable' ends those too.",
		Args: command.Exactly("ID"),
	}
	output := outputFlag(cmd, "table", "json")
	cmd.RunE = p.onStore(func(ctx context.Context, db store.Store, args []string) error {
		secret, hash, err := p.newSecret()
		if err != nil {
			return err
		}
		client, err := db.Client(ctx, args[0])
		if err != nil {
			return err
		}
		// Nothing may fail between this and printing the secret: the old one no longer works.
		if err := db.SetClientSecret(ctx, client.ID, hash, p.operator, p.now()); err != nil {
			return err
		}
		return p.printSecret(output.value, client, secret)
	})
	return cmd
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
			_, err := fmt.Fprintf(p.Out, "Client %s is %sd.\n", args[0], verb)
			return err
		}),
	}
}

func (p *program) clientUpdateCommand() *cobra.Command {
	var name, scope string
	cmd := &cobra.Command{
		Use:   "update ID",
		Short: "Change a client's name or scopes",
		Long: "Change a client's name or scopes.\n\n" +
			"A removed scope is removed from existing tokens too, within 5s on running servers. An added one is in\n" +
			"new tokens.",
		Example: "  perksd client update front-desk --scope perks:read,perks:redeem\n  perksd client update " +
			"front-desk --name 'Front desk, ground floor'",
		Args: command.Exactly("ID"),
	}
	cmd.Flags().StringVar(&name, "name", "", "the client's name")
	cmd.Flags().StringVar(&scope, "scope", "", "all scopes of its tokens from now on, separated by commas")
	output := outputFlag(cmd, "table", "json")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var change store.ClientChange
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
		if change.Name == nil && change.Scopes == nil {
			return usagef(cmd, "say what to change with --name or --scope")
		}
		return p.withExistingStore(cmd.Context(), func(db store.Store) error {
			client, err := db.UpdateClient(cmd.Context(), args[0], change, p.operator, p.now())
			if err != nil {
				return err
			}
			return clientTable.printOne(p.Out, output.value, viewClient(client))
		})
	}
	return cmd
}
