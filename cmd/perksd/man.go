package main

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"example.com/perks/api/build"
)

// manCommand is for those who make packages, so help does not list it.
func (p *program) manCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "man FOLDER",
		Short:  "Write the manual pages, one for each command",
		Args:   arguments("FOLDER"),
		Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			date, err := p.dateOfPages()
			if err != nil {
				return err
			}
			if err := os.MkdirAll(args[0], 0o750); err != nil {
				return err
			}
			root := cmd.Root()
			root.DisableAutoGenTag = true // it would say today's date
			return doc.GenManTree(root, &doc.GenManHeader{
				Section: "8",
				Date:    &date,
				Source:  "perksd " + build.Read().Version,
				Manual:  "perksd",
			}, args[0])
		},
	}
}

// dateOfPages is the one that builds agree upon, in seconds since 1970, so that a page made twice is the same twice.
func (p *program) dateOfPages() (time.Time, error) {
	epoch := p.getenv("SOURCE_DATE_EPOCH")
	if epoch == "" {
		return p.now().UTC(), nil
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH %q is not a number of seconds", epoch)
	}
	return time.Unix(seconds, 0).UTC(), nil
}
