package storetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/jackc/pgx/v5"
)

// Save copies the server with all its databases, as it is now, to a directory that is not there yet or is empty. The
// copy belongs to the user of this process, and outlives it: StartPostgresFrom begins with it.
func (c *PostgresServer) Save(ctx context.Context, directory string) error {
	if err := c.backUp(ctx, directory); err != nil {
		return fmt.Errorf("copy the PostgreSQL server to %s: %w", directory, err)
	}
	return nil
}

// StartPostgresFrom is Start for a server that begins as a copy of the one that was saved in the directory. What is
// saved stays as it is. It must come from a server of the same major version.
func StartPostgresFrom(ctx context.Context, directory string, options PostgresOptions) (*PostgresServer, error) {
	return startFilled(ctx, options, "make a PostgreSQL server of "+directory, func(c *PostgresServer) error {
		if err := os.CopyFS(c.data(), os.DirFS(directory)); err != nil {
			return err
		}
		return c.ownData()
	})
}

// ownData gives the data, which the user of this process has written, to the account.
func (c *PostgresServer) ownData() error {
	if err := os.Chmod(c.data(), 0o700); err != nil { // the server insists
		return err
	}
	if !c.directory.account.other {
		return nil
	}
	return filepath.WalkDir(c.data(), func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, c.directory.account.uid, c.directory.account.gid)
	})
}

// backUp copies the files of the running server through PostgreSQL's functions for backups. pg_basebackup does the
// same, but not every distribution of PostgreSQL has it, and none copies a server that is newer.
func (c *PostgresServer) backUp(ctx context.Context, to string) error {
	conn, err := pgx.Connect(ctx, c.DSN(superuser))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	start, stop := `pg_backup_start('copy', true)`, `pg_backup_stop(false)`
	if majorVersion(conn.PgConn().ParameterStatus("server_version")) < 15 {
		start, stop = `pg_start_backup('copy', true, false)`, `pg_stop_backup(false, false)`
	}
	// The slot keeps the server from removing WAL that the copy needs. It ends with the connection.
	if _, err := conn.Exec(ctx, `SELECT pg_create_physical_replication_slot('copy', true, true)`); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, `SELECT `+start); err != nil {
		return err
	}
	if err := copyChanging(c.data(), to, ".", isOfTheRunningServer); err != nil {
		return err
	}
	var label string
	if err := conn.QueryRow(ctx, `SELECT labelfile FROM `+stop).Scan(&label); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(to, "backup_label"), []byte(label), 0o600); err != nil {
		return err
	}
	// After the end of the backup, which is in the WAL too.
	return copyChanging(c.data(), to, "pg_wal", func(string) bool { return false })
}

// isOfTheRunningServer reports what a copy must not have: what belongs to the server's process, its slots, and
// temporary files. Of the WAL, it leaves what is in the directory.
func isOfTheRunningServer(path string) bool {
	inDirectory := slices.Contains([]string{"pg_wal", "pg_replslot", "pg_dynshmem", "pg_stat_tmp"}, filepath.Dir(path))
	return inDirectory || strings.HasPrefix(path, "postmaster.") || strings.Contains(path, "pgsql_tmp")
}

// copyChanging copies a part of a directory whose files may vanish meanwhile.
func copyChanging(from, to, part string, skips func(path string) bool) error {
	return filepath.WalkDir(filepath.Join(from, part), func(source string, entry fs.DirEntry, err error) error {
		path, relErr := filepath.Rel(from, source)
		if err := errors.Join(err, relErr); err != nil {
			return unlessVanished(err)
		}
		target := filepath.Join(to, path)
		switch {
		case skips(path) && entry.IsDir():
			return fs.SkipDir
		case skips(path):
			return nil
		case entry.IsDir():
			return os.MkdirAll(target, 0o700)
		}
		return unlessVanished(copyFile(source, target))
	})
}

func unlessVanished(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func copyFile(from, to string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Close())
}

// majorVersion is the number at the start of a version such as "15.18 (Debian 15.18-1)" or "18beta1", or 0.
func majorVersion(version string) int {
	major, _ := strconv.Atoi(version[:len(version)-len(strings.TrimLeftFunc(version, unicode.IsDigit))])
	return major
}
