package cluster

import (
	"errors"
	"fmt"
)

// Freeze stops the server and all its children where they are, as a disk that hangs or a machine without a processor to
// spare does: connections stay open and nothing is answered until Thaw.
func (c *Cluster) Freeze() error { return c.signalAll(true) }

// Thaw lets a frozen server go on.
func (c *Cluster) Thaw() error { return c.signalAll(false) }

func (c *Cluster) signalAll(freeze bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.server == nil {
		return errors.New("the PostgreSQL server is not running")
	}
	if err := freezeFamily(c.server.command.Process, freeze); err != nil {
		return fmt.Errorf("stop the PostgreSQL server where it is, or let it go on: %w", err)
	}
	return nil
}
