package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// Save copies the server with all its databases, as it is now, to a folder that is not there yet or is empty. The copy
// belongs to whoever runs this process, and outlives it: StartFrom begins with it.
func (c *Cluster) Save(ctx context.Context, folder string) error {
	copying := exec.CommandContext(ctx, c.programs.path("pg_basebackup"), "--dbname", c.DSN(""), "--pgdata", folder,
		"--checkpoint", "fast", "--wal-method", "stream")
	if output, err := copying.CombinedOutput(); err != nil {
		return errors.Join(ctx.Err(), fmt.Errorf("copy the PostgreSQL server to %s: %w: %s", folder, err, output))
	}
	return nil
}

// StartFrom is Start for a server that begins as a copy of the one that was saved in the folder. What is saved stays as it
// is. It must come from a server of the same major version.
func StartFrom(ctx context.Context, folder string, options Options) (*Cluster, error) {
	c, err := newCluster(options)
	if err != nil {
		return nil, err
	}
	if err := c.copyFrom(folder); err != nil {
		return nil, errors.Join(fmt.Errorf("make a PostgreSQL server of %s: %w", folder, err), c.Stop())
	}
	if err := c.Restart(ctx); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

// copyFrom copies the files as whoever runs this process, who may read them, and gives them to the account.
func (c *Cluster) copyFrom(folder string) error {
	if err := os.CopyFS(c.data(), os.DirFS(folder)); err != nil {
		return err
	}
	if err := os.Chmod(c.data(), 0o700); err != nil { // the server insists
		return err
	}
	if !c.folder.account.other {
		return nil
	}
	return filepath.WalkDir(c.data(), func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, c.folder.account.uid, c.folder.account.gid)
	})
}
