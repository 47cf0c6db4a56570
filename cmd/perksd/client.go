package main

import (
	"encoding/base64"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"example.com/perks/server/auth"
	"example.com/perks/store"
)

func (p *program) clientCommand() *cobra.Command {
	return group("client", "Say which programs and people may call the service",
		p.clientCreateCommand(),
		p.clientListCommand(),
		p.clientUpdateCommand(),
		p.clientRotateSecretCommand(),
		p.clientSwitchCommand("disable", "Shut a client out, its tokens too", true),
		p.clientSwitchCommand("enable", "Let a client in again", false),
	)
}

// clientView is a client as it is printed. Secret is set in the one answer that shows it.
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
	return clientView{ID: c.ID, Name: c.Name, Scope: c.Scopes.String(), SandboxOnly: c.SandboxOnly, Disabled: c.Disabled, CreatedAt: c.CreatedAt.UTC()}
}

// printSecret shows a client with its new secret.
func (p *program) printSecret(format string, client store.Client, secret string) error {
	view := viewClient(client)
	view.Secret = secret
	if format == "json" {
		return printJSON(p.stdout, view)
	}
	_, err := fmt.Fprintf(p.stdout, "client_id      %s\nclient_secret  %s\nname           %s\nscope          %s\nsandbox_only   %s\n\n"+
		"The secret cannot be shown again. Keep it where only the client can read it.\n",
		view.ID, view.Secret, view.Name, view.Scope, strconv.FormatBool(view.SandboxOnly))
	return err
}

// newSecret makes what a client proves itself with, 32 random bytes in base64url, and the hash that is kept of it.
func (p *program) newSecret() (string, store.SecretHash, error) {
	var raw [32]byte
	if _, err := io.ReadFull(p.random, raw[:]); err != nil {
		return "", store.SecretHash{}, fmt.Errorf("making a secret: %w", err)
	}
	secret := base64.RawURLEncoding.EncodeToString(raw[:])
	return secret, auth.HashSecret(secret), nil
}
