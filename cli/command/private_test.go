package command_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"example.com/perks/cli/command"
)

func TestWrittenFilesArePrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "secrets")
	for _, text := range []string{"first", "second"} {
		if err := command.WritePrivate(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		got, err := command.ReadPrivate(path)
		if err != nil || string(got) != text {
			t.Errorf("read %q, %v", got, err)
		}
	}
	for target, want := range map[string]fs.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		if info, err := os.Stat(target); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v", target, info.Mode().Perm(), want)
		}
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 1 {
		t.Errorf("left temporary files: %v", left)
	}
}

func TestFileReadableByOthersIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secrets")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := command.ReadPrivate(path); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("got %v", err)
	}
}

func TestMissingFileIsErrNotExist(t *testing.T) {
	if _, err := command.ReadPrivate(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestLockSerializesChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "count")
	if err := command.WritePrivate(path, []byte("0")); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			unlock, err := command.LockFile(context.Background(), path)
			if err != nil {
				t.Error(err)
				return
			}
			defer unlock()
			text, _ := command.ReadPrivate(path)
			n, _ := strconv.Atoi(string(text))
			if err := command.WritePrivate(path, []byte(strconv.Itoa(n+1))); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if got, _ := command.ReadPrivate(path); string(got) != "8" {
		t.Errorf("counted to %s, want 8", got)
	}
}

func TestLockStopsWithTheContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	unlock, err := command.LockFile(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := command.LockFile(ctx, path); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
