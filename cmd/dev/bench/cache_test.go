package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// inCheckout changes to a new directory with the files that determine the content of a filled database.
func inCheckout(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, pattern := range content("sqlite") {
		write(t, filepath.Join(filepath.Dir(pattern), "import"+filepath.Ext(pattern)), "first")
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestTheCacheFillsMissingAndOutdatedDatabases(t *testing.T) {
	inCheckout(t)
	c := cache{"databases"}
	filled := 0
	get := func(perks int64) string {
		t.Helper()
		path, err := c.get("sqlite", perks, func(path string) error {
			filled++
			write(t, path, "database")
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(path); err != nil || string(text) != "database" {
			t.Errorf("%s holds %q, %v", path, text, err)
		}
		return path
	}
	expect := func(n int, when string) {
		t.Helper()
		if filled != n {
			t.Errorf("%s, %d databases are filled, want %d", when, filled, n)
		}
	}

	small, large := get(10), get(100)
	expect(2, "at first")
	if get(10) != small || get(100) != large {
		t.Error("the same database has another path the second time")
	}
	expect(2, "the second time")

	write(t, "store/sqlite/migrations/0002.sql", "another table")
	if get(10) == small {
		t.Error("a database of another schema is reused")
	}
	expect(3, "after a migration")
	if left := files(t, "databases"); len(left) != 2 {
		t.Errorf("the cache keeps %v", left)
	}
	if _, err := os.Stat(large); err != nil {
		t.Errorf("another size was removed: %v", err)
	}

	monthsAgo := time.Now().Add(-2 * staleAfter)
	if err := os.Chtimes(get(10), monthsAgo, monthsAgo); err != nil {
		t.Fatal(err)
	}
	get(10)
	expect(4, "after months")
}

func TestTheCacheDropsHalfFilledDatabases(t *testing.T) {
	inCheckout(t)
	c := cache{"databases"}
	full := errors.New("the disk is full")
	if _, err := c.get("sqlite", 10, func(path string) error {
		write(t, path, "half a database")
		return full
	}); !errors.Is(err, full) {
		t.Errorf("the error is %v", err)
	}
	if left := files(t, "databases"); len(left) > 0 {
		t.Errorf("the cache keeps %v", left)
	}
}

func files(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}
