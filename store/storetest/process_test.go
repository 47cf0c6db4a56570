package storetest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

func TestTheNewestPostgresIsUsed(t *testing.T) {
	root := t.TempDir()
	if _, err := newestPostgres(root); !errors.Is(err, errNoPostgres) {
		t.Errorf("with no version installed the error is %v", err)
	}
	for _, version := range []string{"9.6", "17", "8.4", "15"} {
		bin := filepath.Join(root, version, "bin")
		if err := os.MkdirAll(bin, 0o700); err != nil {
			t.Fatal(err)
		}
		if version == "17" {
			continue // removed except for its folder
		}
		if err := os.WriteFile(filepath.Join(bin, "postgres"), nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	found, err := newestPostgres(root)
	if want := filepath.Join(root, "15", "bin", "initdb"); err != nil || found.path("initdb") != want {
		t.Errorf("found %s (%v), want %s", found.path("initdb"), err, want)
	}
}

func TestPgBouncerGetsTheServerInItsSyntax(t *testing.T) {
	for address, want := range map[string]string{
		"postgres://postgres@/d?host=/tmp/x&port=5433&sslmode=disable": "host='/tmp/x' port='5433' user='postgres'",
		"postgres://u:it's%20secret@db.example/d?sslmode=disable": "host='db.example' port='5432' user='u' " +
			"password='it''s secret'",
	} {
		server, err := pgconn.ParseConfig(address)
		if err != nil {
			t.Fatal(err)
		}
		if got := upstream(server); got != want {
			t.Errorf("%s becomes %s, want %s", address, got, want)
		}
	}
}

func TestFoldersAreUsableByTheServer(t *testing.T) {
	usable, closed := t.TempDir(), t.TempDir()
	far := filepath.Join(t.TempDir(), strings.Repeat("far", 30))
	if err := os.Mkdir(far, 0o755); err != nil {
		t.Fatal(err)
	}
	for folder, mode := range map[string]os.FileMode{filepath.Dir(usable): 0o755, closed: 0o500} {
		if err := os.Chmod(folder, mode); err != nil {
			t.Fatal(err)
		}
	}
	for temporary, want := range map[string]string{usable: usable, closed: "/tmp", far: "/tmp"} {
		t.Setenv("TMPDIR", temporary)
		folder, err := newFolder()
		if err != nil {
			t.Fatal(err)
		}
		if got := filepath.Dir(folder.path); got != want {
			t.Errorf("with %s for temporary files the folder is in %s, want %s", temporary, got, want)
		}
		if err := folder.remove(); err != nil {
			t.Error(err)
		}
		if left, err := filepath.Glob(filepath.Join(temporary, "perks-pg-*")); err != nil || len(left) > 0 {
			t.Errorf("%v is left (%v)", left, err)
		}
	}
}
