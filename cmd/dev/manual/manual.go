// Package manual writes the manual pages of a program with cobra's generator. Only programs that are built with the tag
// manual import it, so that the generator and its parser of Markdown delay no start.
package manual

import (
	"bytes"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"example.com/perks/api"
)

// Main writes the pages of all commands into the directory that is the program's only argument, and ends the program.
func Main(root *cobra.Command, section string) {
	if len(os.Args) != 2 {
		log.Fatal("name the directory for the manual pages")
	}
	if err := write(root, section, os.Args[1], api.Build()); err != nil {
		log.Fatal(err)
	}
	os.Exit(0)
}

func write(root *cobra.Command, section, directory string, build api.BuildInfo) error {
	if err := os.MkdirAll(directory, 0o755); err != nil { // #nosec G301 -- everybody may read a manual
		return err
	}
	header := doc.GenManHeader{Section: section, Source: root.Name() + " " + build.Version, Manual: root.Name()}
	if date, err := time.Parse(time.RFC3339, build.Date); err == nil {
		header.Date = &date
	}
	return writePages(root, header, directory)
}

func writePages(cmd *cobra.Command, header doc.GenManHeader, directory string) error {
	cmd.DisableAutoGenTag = true
	cmd.Short, cmd.Long = escape(cmd.Short), escape(cmd.Long)
	cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) { flag.Usage = escape(flag.Usage) })
	var page bytes.Buffer
	own := header // GenMan adds the title
	if err := doc.GenMan(cmd, &own, &page); err != nil {
		return err
	}
	// Wide gaps would change what people copy.
	text := bytes.Replace(page.Bytes(), []byte("\n.SH NAME\n"), []byte("\n.ad l\n.SH NAME\n"), 1)
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-") + "." + header.Section
	if err := os.WriteFile(filepath.Join(directory, name), text, 0o644); err != nil { // #nosec G306 -- as above
		return err
	}
	for _, member := range cmd.Commands() {
		if member.IsAvailableCommand() && member.Name() != "help" {
			if err := writePages(member, header, directory); err != nil {
				return err
			}
		}
	}
	return nil
}

// escape keeps what Markdown would read as emphasis or HTML. Indented lines become code, which it keeps as it is.
func escape(text string) string {
	special := strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "<", `\<`)
	wasCode := true
	var markdown strings.Builder
	for line := range strings.Lines(text) {
		isCode := strings.HasPrefix(line, "  ")
		switch {
		case !isCode:
			line = special.Replace(line)
		case wasCode:
			line = "  " + line
		default:
			line = "\n  " + line
		}
		wasCode = isCode
		markdown.WriteString(line)
	}
	return markdown.String()
}
