package cluster

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// forgetProcess removes what a killed server leaves outside its data: the file that names its process, and the segment of
// shared memory of which that file holds the id at the end of its seventh line. A machine that crashed has neither.
func (c *Cluster) forgetProcess() error {
	path := filepath.Join(c.data(), "postmaster.pid")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if lines := strings.Split(string(text), "\n"); len(lines) >= 7 {
		if memory := strings.Fields(lines[6]); len(memory) == 2 {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			if err := c.folder.run(ctx, "ipcrm", "-m", memory[1]); err != nil {
				return err
			}
		}
	}
	return os.Remove(path)
}
