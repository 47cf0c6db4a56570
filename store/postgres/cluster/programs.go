package cluster

import (
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
)

var errNoPostgres = errors.New("PostgreSQL's server programs were found neither on the PATH nor in /usr/lib/postgresql; " +
	"install PostgreSQL 15 or newer (apt-get install postgresql), or let " + namedServer + " hold the address of a running server")

var errNoPgBouncer = errors.New("pgbouncer was found neither on the PATH nor in /usr/sbin; " +
	"install PgBouncer (apt-get install pgbouncer)")

// programs is the folder of one PostgreSQL's programs. All are taken from the same one: Debian puts scripts of the same
// names on the PATH, which choose a version by themselves.
type programs string

func findPostgres() (programs, error) {
	if path, err := exec.LookPath("postgres"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			return programs(filepath.Dir(path)), nil
		}
	}
	return newestPostgres("/usr/lib/postgresql")
}

// newestPostgres looks through Debian's folders, which are named by their versions.
func newestPostgres(root string) (programs, error) {
	found, err := filepath.Glob(filepath.Join(root, "*", "bin", "postgres"))
	if err != nil || len(found) == 0 {
		return "", errNoPostgres
	}
	version := func(path string) float64 {
		n, _ := strconv.ParseFloat(filepath.Base(filepath.Dir(filepath.Dir(path))), 64)
		return n
	}
	newest := slices.MaxFunc(found, func(a, b string) int { return int(10 * (version(a) - version(b))) })
	return programs(filepath.Dir(newest)), nil
}

func (p programs) path(name string) string { return filepath.Join(string(p), name) }

func findPgBouncer() (string, error) {
	for _, name := range []string{"pgbouncer", "/usr/sbin/pgbouncer"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errNoPgBouncer
}
