package manual_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/cli/manual"
)

// example is a small tree with everything that a page can have.
func example() (root, send *cobra.Command) {
	run := func(*cobra.Command, []string) {}
	root = &cobra.Command{Use: "mail", Short: "Send mail", Run: run}
	root.PersistentFlags().BoolP("quiet", "q", false, "say nothing")
	send = &cobra.Command{
		Use: "send WHOM", Aliases: []string{"post"}, Short: "Send a message", Run: run,
		Long:    "Send a message to WHOM.\n.mailrc isn't read.\n\nA table:\n\n  a-b    c\\d\n  e      ~f\n\nThe end.",
		Example: "  mail send 'the boss'",
	}
	send.Flags().Int("tries", 3, "try this often")
	send.Flags().String("from", "", "the `address` of the sender, such as a@b")
	send.Flags().Lookup("from").NoOptDefVal = "me"
	send.Flags().Bool("secret", false, "not for everybody")
	send.Flags().Lookup("secret").Hidden = true
	root.AddCommand(send, &cobra.Command{Use: "debug", Hidden: true, Run: run})
	return root, send
}

var book = manual.Book{
	Section: 1, Build: api.BuildInfo{Version: "v1.2", Date: "2026-03-04T05:06:07Z"},
	Chapters: []manual.Chapter{{Heading: "EXIT STATUS", Terms: []manual.Term{{Name: "0", Text: "sent"}}}},
}

func TestPageOfACommand(t *testing.T) {
	_, send := example()
	want := `.TH "MAIL-SEND" "1" "2026-03-04" "mail v1.2" "mail"
.nh
.ad l
.SH NAME
mail\-send \- Send a message
.SH SYNOPSIS
\fBmail send WHOM [flags]\fR
.SH DESCRIPTION
Send a message to WHOM.
\&.mailrc isn\(aqt read.
.PP
A table:
.PP
.PP
.nf
a\-b    c\ed
e      \(tif
.fi
.PP
The end.
.SH OPTIONS
.TP
\fB\-\-from\fR[=\fIADDRESS\fR]
the address of the sender,\: such as a@b
.TP
\fB\-h\fR, \fB\-\-help\fR
help for send
.TP
\fB\-\-tries\fR \fIN\fR
try this often (default 3)
.SH GLOBAL OPTIONS
.TP
\fB\-q\fR, \fB\-\-quiet\fR
say nothing
.SH EXAMPLES
.PP
.nf
mail send \(aqthe boss\(aq
.fi
.SH SEE ALSO
.BR mail (1)
`
	if got := book.Page(send).Text; got != want {
		t.Errorf("the page is\n%s\nwant\n%s", got, want)
	}
}

func TestThePageOfTheProgramHasItsCommandsAndChapters(t *testing.T) {
	root, _ := example()
	page := book.Page(root).Text
	for _, part := range []string{
		".SH COMMANDS\n.TP\n\\fBsend, post\\fR\nSend a message\n.SH OPTIONS\n", ".SH EXIT STATUS\n.TP\n\\fB0\\fR\nsent\n", ".SH SEE ALSO\n.BR mail\\-send (1)\n",
	} {
		if !strings.Contains(page, part) {
			t.Errorf("the page lacks %q:\n%s", part, page)
		}
	}
	if strings.Contains(page, "debug") {
		t.Errorf("the page names a hidden command:\n%s", page)
	}
}

func TestWriteWritesThePagesOfAllThatCanBeSeen(t *testing.T) {
	root, send := example()
	folder := filepath.Join(t.TempDir(), "man", "man1")
	pages := book.Pages(root)
	if len(pages) != 2 || pages[0].Name != "mail" || pages[1] != book.Page(send) {
		t.Fatalf("%+v", pages)
	}
	if err := manual.Write(folder, pages); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(folder, "mail-send.1"))
	if err != nil || string(text) != pages[1].Text {
		t.Errorf("%s, %v", text, err)
	}
}
