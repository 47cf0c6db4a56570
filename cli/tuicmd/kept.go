package tuicmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"example.com/perks/cli/command"
	"example.com/perks/cli/session"
)

// lockTime is how long another process may take that changes the same file.
const lockTime = 3 * time.Second

// kept is a list in a file for its owner alone. A file that cannot be read is an empty list, because none of it is worth
// stopping for; before another takes its place it is put aside, because somebody may miss the text of a draft.
type kept[T any] struct {
	path string // "" where there is no folder to keep anything in
	told io.Writer

	warned sync.Once
}

func (k *kept[T]) load() []T {
	list, _ := k.read()
	return list
}

func (k *kept[T]) read() (list []T, readable bool) {
	if k.path == "" {
		return nil, true
	}
	text, err := command.ReadPrivate(k.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, true
	}
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	if err != nil {
		k.warned.Do(func() {
			fmt.Fprintf(k.told, "warning: %s cannot be read and is begun anew: %s.\n", filepath.Base(k.path), err)
		})
		return nil, false
	}
	return list, true
}

// change replaces the list. Other processes that change it come before or after.
func (k *kept[T]) change(change func([]T) []T) error {
	if k.path == "" {
		return errors.New("there is no home folder to keep it in: set " + session.EnvConfigDir)
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockTime)
	defer cancel()
	unlock, err := command.LockFile(ctx, k.path)
	if err != nil {
		return err
	}
	defer unlock()
	list, readable := k.read()
	if !readable {
		if err := os.Rename(k.path, k.path+".unreadable"); err != nil {
			return err
		}
	}
	list = change(list)
	if len(list) == 0 {
		if err := os.Remove(k.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	text, err := json.Marshal(list)
	if err != nil {
		return err
	}
	return command.WritePrivate(k.path, text)
}
