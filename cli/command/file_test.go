package command

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestFileReplacesArguments(t *testing.T) {
	for args, want := range map[string]string{
		"42":                      "",
		"42 --title":              "",
		"--file rows.csv":         "",
		"":                        "ID is missing",
		"--file rows.csv 42":      `"42" cannot be combined with --file`,
		"--file rows.csv --title": "--title is for one record",
	} {
		var file string
		cmd := &cobra.Command{Use: "do {ID | --file FILE}", SilenceErrors: true, SilenceUsage: true}
		cmd.Flags().StringVar(&file, "file", "", "")
		cmd.Flags().Bool("title", false, "")
		cmd.Args = OrFile(&file, Exactly("ID"))
		cmd.RunE = func(cmd *cobra.Command, args []string) error { return NotWithFile(cmd, file, "title") }
		cmd.SetArgs(strings.Fields(args))
		err := cmd.Execute()
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", args, err, want)
		}
	}
}
