package storetest

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

func TestTheNewestPostgresIsTaken(t *testing.T) {
	root := t.TempDir()
	if _, err := newestPostgres(root); !errors.Is(err, errNoPostgres) {
		t.Errorf("without any the error is %v", err)
	}
	for _, version := range []string{"9.6", "17", "8.4", "15"} {
		bin := filepath.Join(root, version, "bin")
		if err := os.MkdirAll(bin, 0o700); err != nil {
			t.Fatal(err)
		}
		if version == "17" {
			continue // removed but for its folder
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

func TestABouncerIsToldTheServerInItsOwnWords(t *testing.T) {
	for address, want := range map[string]string{
		"postgres://postgres@/d?host=/tmp/x&port=5433&sslmode=disable": "host='/tmp/x' port='5433' user='postgres'",
		"postgres://u:it's%20secret@db.example/d?sslmode=disable":      "host='db.example' port='5432' user='u' password='it''s secret'",
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
