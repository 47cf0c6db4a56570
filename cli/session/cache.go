package session

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"example.com/perks/api/client"
	"example.com/perks/cli/command"
)

// Store keeps what can be asked for again in private files of one directory.
type Store[T any] struct {
	Dir   string // "" keeps nothing
	Scope string // what else decides about a value, beside its key
	Most  int    // how many values are kept
}

// responses returns the store of a client at an address, which a logout deletes.
func (s *Session) responses(c Connection) (Store[client.Kept], error) {
	dir, err := s.Dir()
	return Store[client.Kept]{Dir: responsesDir(dir, c.Key()), Scope: c.token, Most: 200}, err
}

func responsesDir(dir string, key SecretKey) string {
	return filepath.Join(dir, "cache", "responses-"+HashOf(key.Profile, key.APIURL, key.ClientID))
}

// HashOf is a name for a file about these values, which may not be valid in one.
func HashOf(values ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(values, "\x00")))
	return hex.EncodeToString(sum[:16])
}

func (s Store[T]) path(key string) string { return filepath.Join(s.Dir, HashOf(s.Scope, key)+".json") }

// Load returns nothing if the file cannot be read: the service can be asked.
func (s Store[T]) Load(key string) (value T, ok bool) {
	err := command.ReadPrivateJSON(s.path(key), &value)
	return value, err == nil
}

// Save writes the file if it can, and deletes the oldest ones if there are too many.
func (s Store[T]) Save(key string, value T) {
	if s.Dir == "" || command.WritePrivateJSON(s.path(key), value) != nil {
		return
	}
	entries, _ := os.ReadDir(s.Dir)
	if len(entries) <= s.Most {
		return
	}
	var files []fs.FileInfo
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil {
			files = append(files, info)
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int {
		return cmp.Or(a.ModTime().Compare(b.ModTime()), cmp.Compare(a.Name(), b.Name()))
	})
	for _, file := range files[:max(0, len(files)-s.Most)] {
		_ = os.Remove(filepath.Join(s.Dir, file.Name()))
	}
}
