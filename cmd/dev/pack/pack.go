// Command pack makes of built programs what people install: packages, archives, the image of a container, lists of what
// is in them, and the sums to check them by. It also knows under which licences everything may be used that the
// programs are built with.
//
// make release builds the programs, manual pages and scripts first and says which version they are. pack knows where
// these lie, and nothing of what the programs do.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"time"

	"example.com/perks/cmd/dev/programs"
)

const usage = "usage: pack release VERSION OS/ARCH... | pack licences"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 1 && args[0] == "licences":
		return listLicences(ctx)
	case len(args) > 2 && args[0] == "release":
		// Every file has the time of the commit, so that one commit always makes the same bytes.
		date, err := dateOf(os.Getenv("SOURCE_DATE_EPOCH"))
		if err != nil {
			return err
		}
		v, err := versionsOf(args[1], date)
		if err != nil {
			return err
		}
		platforms, err := parsePlatforms(args[2:])
		if err != nil {
			return err
		}
		return release(ctx, v, date, platforms)
	}
	return errors.New(usage)
}

// dateOf reads the commit's date from SOURCE_DATE_EPOCH.
func dateOf(epoch string) (time.Time, error) {
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH must be the commit's date in seconds since 1970, not %q",
			epoch)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// tool is a command line of a tool whose version .ci/tools keeps, which go builds when it is not there yet.
func tool(ctx context.Context, name string, args ...string) (*exec.Cmd, error) {
	path, err := programs.Output(exec.CommandContext(ctx, "go", "-C", ".ci/tools", "tool", "-n", name))
	if err != nil {
		return nil, err
	}
	return exec.CommandContext(ctx, strings.TrimSpace(path), args...), nil
}
