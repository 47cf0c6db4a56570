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

// maxKept bounds the files of a responses folder.
const maxKept = 200

// responses is a client.Cache of private files. Each client at an address has a folder of its own, which a logout deletes.
type responses struct {
	folder string
	scope  string // what else decides about a response
}

func (s *Session) responses(c Connection) (*responses, error) {
	folder, err := s.Folder()
	return &responses{responsesFolder(folder, c.Key()), c.token}, err
}

func responsesFolder(folder string, key SecretKey) string {
	return filepath.Join(folder, "cache", "responses-"+HashOf(key.Profile, key.APIURL, key.ClientID))
}

// HashOf is a name for a file about these values, which may not be valid in one.
func HashOf(values ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(values, "\x00")))
	return hex.EncodeToString(sum[:16])
}

func (r *responses) path(key string) string {
	return filepath.Join(r.folder, HashOf(r.scope, key)+".json")
}

// Load returns nothing if the file cannot be read: the service can be asked.
func (r *responses) Load(key string) (kept client.Kept, ok bool) {
	err := command.ReadPrivateJSON(r.path(key), &kept)
	return kept, err == nil
}

// Save writes the file if it can, and deletes the oldest ones above the bound.
func (r *responses) Save(key string, response client.Kept) {
	if command.WritePrivateJSON(r.path(key), response) != nil {
		return
	}
	entries, _ := os.ReadDir(r.folder)
	if len(entries) <= maxKept {
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
	for _, file := range files[:max(0, len(files)-maxKept)] {
		_ = os.Remove(filepath.Join(r.folder, file.Name()))
	}
}
