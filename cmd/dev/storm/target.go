package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/cmd/dev/programs"
)

// target is a perksd with its own live database and sandbox, and the clients that may call it.
type target struct {
	workspace programs.Workspace
	server    *programs.Process
	metrics   string // where they are read
	fixtures  fixtures
}

// What is in the databases before the storm.
const (
	perks      = 1000
	users      = 500
	properties = 4000
)

func openTarget(ctx context.Context) (_ *target, err error) {
	folder, err := os.MkdirTemp("", "perks-storm-")
	if err != nil {
		return nil, err
	}
	t := &target{workspace: programs.Workspace{Programs: folder, Folder: folder}}
	defer func() {
		if err != nil {
			t.close()
		}
	}()
	if err := programs.Build(ctx, folder, "example.com/perks/cmd/perksd"); err != nil {
		return nil, err
	}
	sandbox := "sqlite:" + filepath.Join(folder, "sandbox.db")
	credentials, err := t.fill(ctx, sandbox)
	if err != nil {
		return nil, err
	}
	// Behind a proxy every request can have an address of its own, so that the limit of failed tokens is met by some of them
	// and not by all.
	t.server, err = t.workspace.Serve("--sandbox-database", sandbox, "--behind-proxy", "--token-ttl", "24h",
		"--audit-rate", "0", "--metrics-addr", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	if t.metrics, err = t.server.Metrics(); err != nil {
		return nil, err
	}
	if err := t.issueTokens(ctx, credentials); err != nil {
		return nil, err
	}
	return t, t.redeem(ctx)
}

// fill makes the clients and the records, and reads which ids there are.
func (t *target) fill(ctx context.Context, sandbox string) (map[string]client.Credentials, error) {
	credentials := map[string]client.Credentials{}
	for id, flags := range map[string][]string{
		"owner":   {"--scope", strings.ReplaceAll(api.AllScopes().String(), " ", ",")},
		"other":   {"--scope", "perks:read,perks:redeem,properties:create,properties:write,redemptions:read,redemptions:decide,redemptions:void"},
		"reader":  {"--scope", "perks:read,properties:read"},
		"sandbox": {"--sandbox-only"},
	} {
		var err error
		if credentials[id], err = t.workspace.NewClient(ctx, id, flags...); err != nil {
			return nil, err
		}
	}
	sample := []string{"perksd", "demo-data", "--perks", fmt.Sprint(perks), "--users", fmt.Sprint(users)}
	owned := []string{"--properties", fmt.Sprint(properties), "--redemptions", "0", "--owner", "owner"}
	for _, flags := range [][]string{owned, {"--database", sandbox}} {
		if _, err := t.workspace.Run(ctx, append(sample, flags...)...); err != nil {
			return nil, err
		}
	}
	var errs [3]error
	t.fixtures.perks, errs[0] = t.ids(ctx, "perks", "id")
	t.fixtures.users, errs[1] = t.ids(ctx, "users", "id")
	t.fixtures.properties, errs[2] = t.ids(ctx, "properties", "propertyId")
	return credentials, errors.Join(errs[:]...)
}

func (t *target) ids(ctx context.Context, kind, member string) ([]string, error) {
	output, err := t.workspace.Run(ctx, "perksd", "export", kind, "-o", "jsonl")
	if err != nil {
		return nil, err
	}
	var ids []string
	for line := range strings.Lines(output) {
		var record map[string]json.RawMessage
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			return nil, fmt.Errorf("reading %s: %w", kind, err)
		}
		ids = append(ids, strings.Trim(string(record[member]), `"`))
	}
	return ids, nil
}

// enter gets a token for each client.
func (t *target) issueTokens(ctx context.Context, credentials map[string]client.Credentials) error {
	api, err := client.New(client.Config{BaseURL: t.server.URL + "/v2"})
	if err != nil {
		return err
	}
	t.fixtures.secrets, t.fixtures.tokens = map[string]string{}, map[string]string{}
	for id, c := range credentials {
		token, err := api.Token(ctx, c)
		if err != nil {
			return fmt.Errorf("getting a token for %s: %w", id, err)
		}
		t.fixtures.secrets[id], t.fixtures.tokens[id] = c.Secret, token.AccessToken
	}
	return nil
}

// redeem makes redemptions, live and in the sandbox. Perks that cannot be redeemed are left out.
func (t *target) redeem(ctx context.Context) error {
	for _, sandbox := range []bool{false, true} {
		c, err := client.New(client.Config{BaseURL: t.server.URL + "/v2", Sandbox: sandbox, Tokens: client.StaticToken(t.fixtures.tokens["owner"])})
		if err != nil {
			return err
		}
		for i, perkID := range t.fixtures.perks {
			made, _, err := c.Redeem(ctx, perkID, api.RedeemRequest{UserID: t.fixtures.users[i%len(t.fixtures.users)]}, "")
			if refused, ok := errors.AsType[*client.Error](err); ok && refused.Status == http.StatusConflict {
				continue
			}
			if err != nil {
				return fmt.Errorf("redeeming %s: %w", perkID, err)
			}
			t.fixtures.redemptions = append(t.fixtures.redemptions, made.ID)
		}
	}
	return nil
}

// address is the server's HOST:PORT.
func (t *target) address() string { return strings.TrimPrefix(t.server.URL, "http://") }

// finish stops the server and returns what is wrong with what it leaves behind: its log, and its redemptions.
func (t *target) finish() (wrong []string) {
	if err := t.server.Stop(); err != nil {
		wrong = append(wrong, err.Error())
	}
	log := t.server.Rest()
	t.server = nil
	if at := strings.Index(log, "panic"); at >= 0 {
		wrong = append(wrong, "the log tells of a panic: "+log[at:min(len(log), at+400)])
	}
	for what, texts := range map[string]map[string]string{"secret": t.fixtures.secrets, "token": t.fixtures.tokens} {
		for id, text := range texts {
			if strings.Contains(log, text) {
				wrong = append(wrong, "the log holds the "+what+" of "+id)
			}
		}
	}
	for _, database := range []string{"perks.db", "sandbox.db"} {
		wrong = append(wrong, t.countRedemptions(database)...)
	}
	return wrong
}

// countRedemptions looks for a user who holds one perk twice.
func (t *target) countRedemptions(database string) (wrong []string) {
	path := "sqlite:" + filepath.Join(t.workspace.Folder, database)
	output, err := t.workspace.Run(context.Background(), "perksd", "export", "redemptions", "-o", "jsonl", "--database", path)
	if err != nil {
		return []string{err.Error()}
	}
	live := map[[2]string]bool{}
	for line := range strings.Lines(output) {
		var r api.RedemptionRecord
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			return []string{err.Error()}
		}
		if r.Status == api.StatusRejected || r.Status == api.StatusVoided {
			continue
		}
		slot := [2]string{r.PerkID, r.UserID}
		if live[slot] {
			wrong = append(wrong, fmt.Sprintf("%s: user %s has redeemed perk %s twice", database, r.UserID, r.PerkID))
		}
		live[slot] = true
	}
	if len(live) == 0 {
		wrong = append(wrong, database+" has no redemption: the storm has hit nothing")
	}
	return wrong
}

// close ends the server, if it still runs, and removes all files.
func (t *target) close() {
	var err error
	if t.server != nil {
		err = t.server.Stop()
	}
	if err = errors.Join(err, os.RemoveAll(t.workspace.Folder)); err != nil {
		fmt.Fprintln(os.Stderr, "storm:", err)
	}
}
