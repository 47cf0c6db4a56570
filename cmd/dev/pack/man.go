package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"example.com/perks/api"
	"example.com/perks/cli"
	"example.com/perks/cli/command"
	"example.com/perks/cli/session"
)

// dateOf takes the date that builds agree upon, in seconds since 1970, so that a page built twice is the same twice.
func dateOf(epoch string, now time.Time) (time.Time, error) {
	if epoch == "" {
		return now, nil
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH %q is not a number of seconds", epoch)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// writeManual writes the manual pages of perksctl, one for each command, into a folder. perksctl does not carry what makes them.
func writeManual(dir string, date time.Time) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	header := doc.GenManHeader{Section: "1", Date: &date, Source: "perksctl " + api.Build().Version, Manual: "perksctl"}
	return doc.GenManTree(tree(), &header, dir)
}

// tree is the tree of commands, with what concerns every command in the page of the first.
func tree() *cobra.Command {
	s, _, _ := command.BufferedStreams("")
	root := cli.NewRoot(session.New(s, func(string) string { return "" }, api.Build().Version))
	root.DisableAutoGenTag = true // it would say today's date
	root.InitDefaultHelpCmd()
	root.Long += section("ENVIRONMENT", cli.Environment()) + section("EXIT STATUS", cli.ExitCodes())
	return root
}

// section is a section of the page in the Markdown of which cobra makes manual pages.
func section(heading string, meanings []cli.Meaning) string {
	var text strings.Builder
	fmt.Fprintf(&text, "\n\n# %s\n", heading)
	for _, m := range meanings {
		fmt.Fprintf(&text, "\n**%s**\n: %s\n", m.Name, m.Text)
	}
	return text.String()
}
