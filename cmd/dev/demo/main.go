// Command demo shows the product at work: it starts the real perksd over sample data, walks perksctl through a working
// day, and prints each command with its real output. It exits 0 only if every step did what it should.
//
// It drives the two programs as a person would, through their command lines alone, and knows nothing of their insides.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"example.com/perks/cmd/dev/programs"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// run uses the programs in bin and leaves its files in .demo, so that they can be looked at afterwards.
func run(ctx context.Context) (err error) {
	bin, err := filepath.Abs("bin")
	if err != nil {
		return err
	}
	folder, err := filepath.Abs(".demo")
	if err != nil {
		return err
	}
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	show := &shell{programs.Stage{Programs: bin, Folder: folder}, os.Stdout}

	server, err := prepare(ctx, show)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()

	for _, step := range tour() {
		if err := show.step(ctx, step); err != nil {
			return err
		}
	}
	if err := terminalUI(ctx, show); err != nil {
		return err
	}
	show.say("That is the tour. Its files are in .demo; 'make demo' starts afresh, and README.md says how to go on.")
	return nil
}
