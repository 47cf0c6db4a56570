package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"example.com/perks/api/client"
	"example.com/perks/cmd/dev/programs"
	"example.com/perks/store"
)

// target is a perksd over databases of its own, the live one and a sandbox, and who may call it.
type target struct {
	stage   programs.Stage
	server  *programs.Service
	metrics string // where they are read
	world   world
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
	t := &target{stage: programs.Stage{Programs: folder, Folder: folder}}
	defer func() {
		if err != nil {
			t.close()
		}
	}()
	build := exec.CommandContext(ctx, "go", "build", "-o", folder, "example.com/perks/cmd/perksd")
	if output, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building perksd: %w\n%s", err, output)
	}
	sandbox := "sqlite:" + filepath.Join(folder, "sandbox.db")
	credentials, err := t.fill(ctx, sandbox)
	if err != nil {
		return nil, err
	}
	// Behind a proxy every request can have an address of its own, so that the limit of failed tokens is met by some of them
	// and not by all.
	t.server, err = t.stage.Serve("--sandbox-database", sandbox, "--behind-proxy", "--token-ttl", "24h", "--metrics-addr", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	if t.metrics, err = findMetrics(t.server.Log); err != nil {
		return nil, err
	}
	return t, t.enter(ctx, credentials)
}

// fill makes the clients and the records.
func (t *target) fill(ctx context.Context, sandbox string) (map[string]client.Credentials, error) {
	clients := map[string][]string{
		"owner":   nil,
		"other":   nil,
		"reader":  {"--scope", "perks:read,properties:read"},
		"sandbox": {"--sandbox-only"},
	}
	credentials := map[string]client.Credentials{}
	for id, flags := range clients {
		output, err := t.stage.Run(ctx, append([]string{"perksd", "client", "create", "--name", id, "--id", id, "-o", "json"}, flags...)...)
		if err != nil {
			return nil, err
		}
		var created struct {
			Secret string `json:"client_secret"`
		}
		if err := json.Unmarshal([]byte(output), &created); err != nil {
			return nil, fmt.Errorf("reading the new client: %w", err)
		}
		credentials[id] = client.Credentials{ID: id, Secret: created.Secret}
	}
	sample := []string{"perksd", "demo-data", "--perks", fmt.Sprint(perks), "--users", fmt.Sprint(users)}
	if _, err := t.stage.Run(ctx, append(sample, "--properties", fmt.Sprint(properties), "--owner", "owner")...); err != nil {
		return nil, err
	}
	if _, err := t.stage.Run(ctx, append(sample, "--database", sandbox)...); err != nil {
		return nil, err
	}
	var err error
	t.world, err = t.learn(ctx)
	return credentials, err
}

// learn reads which ids there are.
func (t *target) learn(ctx context.Context) (w world, err error) {
	if w.perks, err = t.ids(ctx, "perks", "id"); err != nil {
		return w, err
	}
	if w.users, err = t.ids(ctx, "users", "id"); err != nil {
		return w, err
	}
	w.properties, err = t.ids(ctx, "properties", "propertyId")
	return w, err
}

func (t *target) ids(ctx context.Context, kind, member string) ([]string, error) {
	output, err := t.stage.Run(ctx, "perksd", "export", kind, "-o", "jsonl")
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
func (t *target) enter(ctx context.Context, credentials map[string]client.Credentials) error {
	api, err := client.New(client.Config{BaseURL: t.server.Address + "/v2"})
	if err != nil {
		return err
	}
	t.world.secrets, t.world.tokens = map[string]string{}, map[string]string{}
	for id, c := range credentials {
		token, err := api.Token(ctx, c)
		if err != nil {
			return fmt.Errorf("getting a token for %s: %w", id, err)
		}
		t.world.secrets[id], t.world.tokens[id] = c.Secret, token.AccessToken
	}
	return nil
}

// address is the server's HOST:PORT.
func (t *target) address() string { return strings.TrimPrefix(t.server.Address, "http://") }

// finish stops the server and returns what is wrong with what it leaves behind: its log, and its redemptions.
func (t *target) finish() []finding {
	var found []finding
	if err := t.server.Stop(); err != nil {
		found = append(found, finding{what: err.Error()})
	}
	t.server = nil
	found = append(found, t.readLog()...)
	for _, database := range []string{"perks.db", "sandbox.db"} {
		found = append(found, t.countRedemptions(database)...)
	}
	return found
}

// readLog looks for panics, and for secrets.
func (t *target) readLog() (found []finding) {
	log, err := os.ReadFile(filepath.Join(t.stage.Folder, "perksd.log"))
	if err != nil {
		return []finding{{what: err.Error()}}
	}
	if at := bytes.Index(log, []byte("panic")); at >= 0 {
		found = append(found, finding{what: "the log tells of a panic: " + string(log[at:min(len(log), at+400)])})
	}
	for id, secret := range t.world.secrets {
		if bytes.Contains(log, []byte(secret)) {
			found = append(found, finding{what: "the log holds the secret of " + id})
		}
	}
	for id, token := range t.world.tokens {
		if bytes.Contains(log, []byte(token)) {
			found = append(found, finding{what: "the log holds a token of " + id})
		}
	}
	return found
}

// countRedemptions looks for a user who holds one perk twice.
func (t *target) countRedemptions(database string) (found []finding) {
	path := "sqlite:" + filepath.Join(t.stage.Folder, database)
	output, err := t.stage.Run(context.Background(), "perksd", "export", "redemptions", "-o", "jsonl", "--database", path)
	if err != nil {
		return []finding{{what: err.Error()}}
	}
	live := map[[2]string]bool{}
	for line := range strings.Lines(output) {
		var r store.RedemptionRecord
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			return []finding{{what: err.Error()}}
		}
		slot := [2]string{r.PerkID, r.UserID}
		if live[slot] {
			found = append(found, finding{what: fmt.Sprintf("%s: user %s has redeemed perk %s twice", database, r.UserID, r.PerkID)})
		}
		live[slot] = true
	}
	if len(live) == 0 {
		found = append(found, finding{what: database + " has no redemption: the storm has hit nothing"})
	}
	return found
}

// close ends the server, if it still runs, and removes all files.
func (t *target) close() {
	var err error
	if t.server != nil {
		err = t.server.Stop()
	}
	if err = errors.Join(err, os.RemoveAll(t.stage.Folder)); err != nil {
		fmt.Fprintln(os.Stderr, "storm:", err)
	}
}
