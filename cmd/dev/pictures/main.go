// Command screenshots makes the pictures of the terminal UI in docs/screenshots: it starts the real perksd over sample data, works
// with the real perksctl tui in a real terminal, and draws what that shows.
//
// It presses keys and reads the screen as a person would, and knows nothing of the programs' insides.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"example.com/perks/cmd/dev/programs"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "screenshots:", err)
		os.Exit(1)
	}
}

// album is the folder of the pictures.
const album = "docs/screenshots"

// run uses the programs in bin.
func run(ctx context.Context) (err error) {
	bin, err := filepath.Abs("bin")
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "screenshots-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	s := &studio{Stage: programs.Stage{Programs: bin, Folder: folder}, id: "demo"}
	if s.secret, err = s.NewClient(ctx, "Demo", s.id); err != nil {
		return err
	}
	if _, err := s.Run(ctx, "perksd", "demo-data", "--perks", "2000", "--users", "200", "--properties", "20", "--owner", s.id); err != nil {
		return err
	}
	server, err := s.Serve()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	s.address = server.Address
	return errors.Join(s.dark(ctx), s.light(ctx))
}

// studio is where the pictures are made.
type studio struct {
	programs.Stage
	address, id, secret string // the service's, and the client's
}

// shown is the address that the pictures show: the same in each run, and as long as that of a free port.
const shown = "http://127.0.0.1:48080"

// mask puts into a screen what is the same in each run.
func (s *studio) mask(screen string) string {
	if len(s.address) == len(shown) {
		screen = strings.ReplaceAll(screen, s.address, shown)
	}
	return screen
}
