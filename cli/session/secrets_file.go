package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"example.com/perks/cli/command"
)

// secretFile is a file for its owner alone: a JSON object from keys to what is kept for them.
type secretFile string

// keptSecret is what the file knows of one key.
type keptSecret struct {
	Secret  string `json:"secret,omitempty"`
	Keyring bool   `json:"keyring,omitempty"` // the keyring holds one too, maybe an older one
}

func (f secretFile) get(key SecretKey) (keptSecret, error) {
	all, err := f.load()
	return all[key.String()], err
}

func (f secretFile) change(ctx context.Context, key SecretKey, change func(*keptSecret)) error {
	return f.update(ctx, func(all map[string]keptSecret) {
		kept := all[key.String()]
		change(&kept)
		all[key.String()] = kept
	})
}

func (f secretFile) remove(ctx context.Context, key SecretKey) error {
	return f.update(ctx, func(all map[string]keptSecret) { delete(all, key.String()) })
}

func (f secretFile) update(ctx context.Context, change func(map[string]keptSecret)) error {
	unlock, err := command.LockFile(ctx, string(f))
	if err != nil {
		return err
	}
	defer unlock()
	all, err := f.load()
	if err != nil {
		return err
	}
	change(all)
	text, err := json.MarshalIndent(all, "", "  ") // #nosec G117 -- a file of secrets, which only its owner reads
	if err != nil {
		return fmt.Errorf("keep the secret: %w", err)
	}
	if err := command.WritePrivate(string(f), append(text, '\n')); err != nil {
		return fmt.Errorf("keep the secret: %w", err)
	}
	return nil
}

func (f secretFile) load() (map[string]keptSecret, error) {
	all := map[string]keptSecret{}
	text, err := command.ReadPrivate(string(f))
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
