// Package manual writes the manual pages of a tree of commands, for both programs. It needs no library beyond what a program loads
// anyway, so that perksctl can show its own pages without starting later.
package manual

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.com/perks/api"
	"example.com/perks/cli/usage"
)

// Book is what all pages of a program share.
type Book struct {
	Section  int           // of the manual: 1 is for commands, 8 for those of an administrator
	Build    api.BuildInfo // its version and its date are in each page
	Chapters []Chapter     // of the program's own page
}

// Chapter is a list of terms, under a heading in capitals.
type Chapter struct {
	Heading string
	Terms   []Term
}

// Term is a word with what it means.
type Term struct{ Name, Text string }

// Page is the manual page of a command.
type Page struct {
	Name string `json:"name"`
	File string `json:"file"`
	Text string `json:"text"` // roff, with the macros of man(7)
}

// Pages returns the pages of a command and of all below it.
func (b Book) Pages(cmd *cobra.Command) []Page {
	pages := []Page{b.Page(cmd)}
	for _, member := range members(cmd) {
		pages = append(pages, b.Pages(member)...)
	}
	return pages
}

// Write writes pages into a folder, which it makes if it is missing. Everybody may read a manual.
func Write(folder string, pages []Page) error {
	if err := os.MkdirAll(folder, 0o755); err != nil { // #nosec G301
		return err
	}
	for _, page := range pages {
		if err := os.WriteFile(filepath.Join(folder, page.File), []byte(page.Text), 0o644); err != nil { // #nosec G306
			return err
		}
	}
	return nil
}

func nameOf(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// Page returns the page of a command.
func (b Book) Page(cmd *cobra.Command) Page {
	cmd.InitDefaultHelpFlag()
	var page strings.Builder
	date, _, _ := strings.Cut(b.Build.Date, "T")
	program := cmd.Root().Name()
	fmt.Fprintf(&page, ".TH %q %q %q %q %q\n", strings.ToUpper(nameOf(cmd)), fmt.Sprint(b.Section), date, program+" "+b.Build.Version, program)
	page.WriteString(".nh\n.ad l\n") // a hyphen or wide gaps would change what people copy

	heading(&page, "NAME")
	fmt.Fprintf(&page, "%s \\- %s\n", escape(nameOf(cmd)), escape(cmd.Short))
	heading(&page, "SYNOPSIS")
	fmt.Fprintf(&page, "\\fB%s\\fR\n", escape(cmd.UseLine()))
	if cmd.Long != "" {
		heading(&page, "DESCRIPTION")
		text(&page, cmd.Long)
	}
	if list := members(cmd); len(list) > 0 {
		heading(&page, "COMMANDS")
		for _, member := range list {
			term(&page, escape(strings.Join(append([]string{member.Name()}, member.Aliases...), ", ")), member.Short)
		}
	}
	options(&page, "OPTIONS", cmd.NonInheritedFlags())
	options(&page, "GLOBAL OPTIONS", cmd.InheritedFlags())
	if cmd.Example != "" {
		heading(&page, "EXAMPLES")
		literal(&page, strings.Split(cmd.Example, "\n"))
	}
	if !cmd.HasParent() {
		for _, chapter := range b.Chapters {
			heading(&page, chapter.Heading)
			for _, one := range chapter.Terms {
				term(&page, escape(one.Name), one.Text)
			}
		}
	}
	b.related(&page, cmd)
	return Page{nameOf(cmd), fmt.Sprintf("%s.%d", nameOf(cmd), b.Section), page.String()}
}

// related names the pages above and below.
func (b Book) related(page *strings.Builder, cmd *cobra.Command) {
	list := members(cmd)
	if cmd.HasParent() {
		list = append([]*cobra.Command{cmd.Parent()}, list...)
	}
	if len(list) == 0 {
		return
	}
	heading(page, "SEE ALSO")
	for i, other := range list {
		end := ","
		if i == len(list)-1 {
			end = ""
		}
		fmt.Fprintf(page, ".BR %s (%d)%s\n", escape(nameOf(other)), b.Section, end)
	}
}

// members are the commands below, without the hidden ones and help, whose page would be that of any command.
func members(cmd *cobra.Command) (list []*cobra.Command) {
	for _, member := range cmd.Commands() {
		if member.IsAvailableCommand() && member.Name() != "help" {
			list = append(list, member)
		}
	}
	return list
}

func options(page *strings.Builder, title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	heading(page, title)
	flags.VisitAll(func(flag *pflag.Flag) {
		if flag.Hidden {
			return
		}
		name := `\fB` + escape("--"+flag.Name) + `\fR`
		if flag.Shorthand != "" {
			name = `\fB` + escape("-"+flag.Shorthand) + `\fR, ` + name
		}
		value, meaning := usage.ValueName(flag)
		switch {
		case flag.NoOptDefVal != "" && value != "":
			name += `[=\fI` + escape(value) + `\fR]`
		case value != "":
			name += ` \fI` + escape(value) + `\fR`
		}
		if shown := flag.DefValue; value != "" && !strings.Contains(meaning, "(default") && shown != "" && shown != "0" && shown != "0s" && shown != "[]" {
			meaning += " (default " + shown + ")"
		}
		term(page, name, meaning)
	})
}

func heading(page *strings.Builder, title string) { fmt.Fprintf(page, ".SH %s\n", title) }

// term writes a term, which is roff already, with its meaning. A long list without blanks can break behind each comma.
func term(page *strings.Builder, name, meaning string) {
	if !strings.HasPrefix(name, `\f`) {
		name = `\fB` + name + `\fR`
	}
	fmt.Fprintf(page, ".TP\n%s\n%s\n", name, strings.ReplaceAll(line(meaning), ",", `,\:`))
}

// text writes paragraphs, which blank lines separate. Indented lines stay as they are.
func text(page *strings.Builder, long string) {
	lines := strings.Split(long, "\n")
	for i := 0; i < len(lines); i++ {
		begin := i
		for i < len(lines) && strings.HasPrefix(lines[i], "  ") {
			i++
		}
		switch {
		case i > begin:
			literal(page, lines[begin:i])
			i--
		case lines[i] == "":
			page.WriteString(".PP\n")
		default:
			page.WriteString(line(lines[i]) + "\n")
		}
	}
}

// literal writes lines as they are, as far to the left as they allow.
func literal(page *strings.Builder, lines []string) {
	page.WriteString(".PP\n.nf\n")
	for _, one := range lines {
		page.WriteString(line(strings.TrimPrefix(one, "  ")) + "\n")
	}
	page.WriteString(".fi\n")
}

// line escapes a line, which roff would read as a request if it began with a full stop.
func line(one string) string {
	escaped := escape(one)
	if strings.HasPrefix(escaped, ".") {
		return `\&` + escaped
	}
	return escaped
}

// escape keeps the characters that roff reads as commands, or prints as others than a shell needs.
var escape = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`).Replace
