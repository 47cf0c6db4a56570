package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"example.com/perks/cli/private"
)

// Secrets keeps client secrets between runs.
type Secrets interface {
	// Get returns the secret, or ErrNoSecret.
	Get(ctx context.Context, key SecretKey) (string, error)
	// Set keeps the secret in the place of an earlier one.
	Set(ctx context.Context, key SecretKey, secret string) error
	// Delete forgets the secret. It is no error if there is none.
	Delete(ctx context.Context, key SecretKey) error
	// Place says, as the end of a sentence, where secrets are kept.
	Place() string
}

// ErrNoSecret says that no secret is kept under the key.
var ErrNoSecret = errors.New("no secret is kept")

// SecretKey names a secret. The address is part of it, so that a profile that is pointed elsewhere does not take its
// secret along.
type SecretKey struct {
	Profile, APIURL, ClientID string
}

func (k SecretKey) String() string { return fmt.Sprintf("%s %s %s", k.Profile, k.ClientID, k.APIURL) }

// Key returns the name of the connection's secret.
func (c Connection) Key() SecretKey { return SecretKey{c.Profile, c.APIURL, c.ClientID} }

// Secrets returns where this session keeps secrets.
func (s *Session) Secrets() (Secrets, error) {
	dir, err := s.dir()
	return fileSecrets(filepath.Join(dir, "secrets.json")), err
}

// fileSecrets is a file for its owner alone: a JSON object from keys to secrets.
type fileSecrets string

func (f fileSecrets) Place() string {
	return fmt.Sprintf("the file %s, which only you can read", string(f))
}

func (f fileSecrets) Get(_ context.Context, key SecretKey) (string, error) {
	all, err := f.load()
	if err != nil {
		return "", err
	}
	secret, ok := all[key.String()]
	if !ok {
		return "", ErrNoSecret
	}
	return secret, nil
}

func (f fileSecrets) Set(ctx context.Context, key SecretKey, secret string) error {
	return f.change(ctx, func(all map[string]string) { all[key.String()] = secret })
}

func (f fileSecrets) Delete(ctx context.Context, key SecretKey) error {
	return f.change(ctx, func(all map[string]string) { delete(all, key.String()) })
}

func (f fileSecrets) change(ctx context.Context, change func(map[string]string)) error {
	unlock, err := private.Lock(ctx, string(f))
	if err != nil {
		return err
	}
	defer unlock()
	all, err := f.load()
	if err != nil {
		return err
	}
	change(all)
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return fmt.Errorf("keep the secret: %w", err)
	}
	if err := private.Write(string(f), append(text, '\n')); err != nil {
		return fmt.Errorf("keep the secret: %w", err)
	}
	return nil
}

func (f fileSecrets) load() (map[string]string, error) {
	all := map[string]string{}
	text, err := private.Read(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the kept secrets: %w", err)
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w. Move it away and log in again", f, err)
	}
	return all, nil
}
