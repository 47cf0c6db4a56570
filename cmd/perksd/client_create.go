package main

import (
	"context"
	"encoding/base32"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/store"
)

type clientCreateOptions struct {
	name, id, scope string
	sandboxOnly     bool
	output          *choice
}

func (p *program) clientCreateCommand() *cobra.Command {
	var o clientCreateOptions
	cmd := &cobra.Command{
		Use:   "create --name NAME",
		Short: "Make a client and print its id and secret, this once",
		Long: "Make a client and print its id and secret.\n\n" +
			"The secret is printed this once; the database keeps only a hash of it. When it is lost, 'perksd client rotate-secret' makes another.",
		Example: "  perksd client create --name 'Front desk' --scope perks:read,perks:redeem\n" +
			"  perksd client create --name Importer --id importer -o json",
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, err := o.client(cmd, p.random)
			if err != nil {
				return err
			}
			return p.createClient(cmd.Context(), client, o.output.value)
		},
	}
	cmd.Flags().StringVar(&o.name, "name", "", "what people call the client (required)")
	cmd.Flags().StringVar(&o.id, "id", "", "the client's id (default: made from the name)")
	cmd.Flags().StringVar(&o.scope, "scope", "", "what its tokens may be used for, with commas between (default: all of "+strings.ReplaceAll(api.AllScopes().String(), " ", ",")+")")
	cmd.Flags().BoolVar(&o.sandboxOnly, "sandbox-only", false, "keep it to the sandbox addresses")
	o.output = outputFlag(cmd, "table", "json")
	return cmd
}

// client checks the flags and makes the client of them, without a secret.
func (o *clientCreateOptions) client(cmd *cobra.Command, random io.Reader) (store.Client, error) {
	if problem := clientNameProblem(o.name); problem != "" {
		return store.Client{}, usagef(cmd, "--name %s", problem)
	}
	scopes, err := api.ParseScopes(o.scope)
	if err != nil {
		return store.Client{}, usagef(cmd, "%w", err)
	}
	if len(scopes) == 0 {
		// A script whose variable is empty by mistake must not hand out everything.
		if cmd.Flags().Changed("scope") {
			return store.Client{}, usagef(cmd, "--scope names no scope; leave it out for all of them")
		}
		scopes = api.AllScopes()
	}
	if o.id == "" {
		if o.id, err = newClientID(o.name, random); err != nil {
			return store.Client{}, err
		}
	}
	if strings.HasPrefix(o.id, "-") {
		return store.Client{}, usagef(cmd, "--id must not begin with '-', which other commands would take for a flag: %q", o.id)
	}
	if !clientID.MatchString(o.id) {
		return store.Client{}, usagef(cmd, "--id must be 1 to 64 characters of A-Z, a-z, 0-9, '.', '_' and '-'")
	}
	return store.Client{ID: o.id, Name: o.name, Scopes: scopes, SandboxOnly: o.sandboxOnly}, nil
}

func (p *program) createClient(ctx context.Context, client store.Client, format string) error {
	secret, hash, err := p.newSecret()
	if err != nil {
		return err
	}
	client.Secret, client.CreatedAt = hash, p.now()
	return p.withStore(ctx, func(db store.Store) error {
		if err := db.CreateClient(ctx, client, p.operator); err != nil {
			return err
		}
		return p.printSecret(format, client, secret)
	})
}

const maxClientName = 120

// clientNameProblem keeps names to what can be printed on a terminal.
func clientNameProblem(name string) string {
	switch {
	case strings.TrimSpace(name) == "":
		return "is required: what do people call this client?"
	case utf8.RuneCountInString(name) > maxClientName:
		return fmt.Sprintf("must be at most %d characters long", maxClientName)
	case strings.ContainsFunc(name, func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }):
		return "must not contain control characters"
	}
	return ""
}

// clientID has no colon, which ends the id in HTTP Basic authentication, and nothing that URL-encoding changes.
var clientID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

var notInClientID = regexp.MustCompile(`[^a-z0-9]+`)

// newClientID makes an id that people recognise in a log and that no other client has: the name, and 40 random bits.
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
