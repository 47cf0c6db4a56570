// Command pack makes of built programs what people install: Debian packages, an archive, and the sums to check them by. It
// also knows under which licences everything may be used that the programs are built with.
//
// make package builds the programs, manual pages and scripts first and says which version they are. pack knows where these lie,
// and nothing of what the programs do.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"time"
)

const usage = "usage: pack packages VERSION ARCH... | pack licences | pack version VERSION"

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
	case len(args) > 2 && args[0] == "packages":
		date, err := commitDate()
		if err != nil {
			return err
		}
		return packages(ctx, args[1], date, args[2:])
	case len(args) == 2 && args[0] == "version":
		date, err := commitDate()
		if err != nil {
			return err
		}
		version, err := debianVersion(args[1], date)
		if err == nil {
			fmt.Println(version)
		}
		return err
	case len(args) == 1 && args[0] == "licences":
		return listLicences(ctx)
	}
	return errors.New(usage)
}

// commitDate is the time that every file in the packages has, so that one commit always makes the same bytes.
func commitDate() (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH must be the commit's date in seconds since 1970, not %q", text)
	}
	return time.Unix(seconds, 0).UTC(), nil
}
