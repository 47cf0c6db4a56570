package manual

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"example.com/perks/api"
)

func TestAPageShowsPlainTextsAsTheyAre(t *testing.T) {
	run := func(*cobra.Command, []string) {}
	root := &cobra.Command{Use: "mail", Short: "Send mail", Run: run}
	root.PersistentFlags().BoolP("quiet", "q", false, "say *nothing* <at> all")
	send := &cobra.Command{
		Use: "send WHOM", Short: "Send a message", Run: run, Example: "  mail send 'the boss'",
		Long: "Send my_own_text to *@*.\n.mailrc isn't read.\n\nA table:\n  a-b    c_d_\n  e      *f*\nThe end.",
	}
	send.Flags().String("from", "", "the `ADDRESS` of the sender")
	root.AddCommand(send, &cobra.Command{Use: "debug", Hidden: true, Run: run})
	directory := filepath.Join(t.TempDir(), "man", "man1")
	build := api.BuildInfo{Version: "v1.2", Date: "2026-03-04T05:06:07Z"}
	if err := write(root, "1", directory, build); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(directory, "mail-send.1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		`.TH "MAIL-SEND" "1" "Mar 2026" "mail v1.2" "mail"`, "Send my_own_text to *@*.\n\\&.mailrc isn't read.\n",
		"A table:\n\n.EX\na-b    c_d_\ne      *f*\n.EE\n", "\\fB--from\\fP=\"\"\n\tthe \\fBADDRESS\\fR of the sender\n",
		"\tsay *nothing* <at> all\n", ".EX\n  mail send 'the boss'\n.EE\n",
	} {
		if !strings.Contains(strings.ReplaceAll(string(text), `*\&`, "*"), part) {
			t.Errorf("the page lacks %q:\n%s", part, text)
		}
	}
	if pages, err := os.ReadDir(directory); err != nil || len(pages) != 2 {
		t.Errorf("%v, %v", pages, err)
	}
}
