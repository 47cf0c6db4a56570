package main

import (
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestWrongUsageEndsWithCode2AndSaysWhereToReadMore(t *testing.T) {
	tests := []struct {
		args []string
		want string
	}{
		{nil, "name one of the commands audit, client, demo-data, export, import, keys, migrate, property, redemption, serve (see 'perksd --help')"},
		{[]string{"sevre"}, `there is no command "sevre"; the commands are audit, client, demo-data, export, import, keys, migrate, property, redemption, serve (see 'perksd --help')`},
		{[]string{"client"}, "name one of the commands create, disable, enable, list, rotate-secret (see 'perksd client --help')"},
		{[]string{"client", "mak"}, `there is no command "mak"; the commands are create, disable, enable, list, rotate-secret (see 'perksd client --help')`},
		{[]string{"client", "list", "all"}, `the argument "all" is one too many (see 'perksd client list --help')`},
		{[]string{"client", "disable"}, "ID is missing (see 'perksd client disable --help')"},
		{[]string{"client", "list", "--colour"}, "unknown flag: --colour (see 'perksd client list --help')"},
		{[]string{"client", "list", "-o", "xml"}, `invalid argument "xml" for "-o, --output" flag: it must be one of table, json, jsonl (see 'perksd client list --help')`},
		{[]string{"client", "list", "--database", "mysql://root:password@db"}, "a database must be of the form sqlite:PATH"},
		{[]string{"client", "list", "--database", "sqlite:"}, "a database must be of the form sqlite:PATH"},
	}
	for _, test := range tests {
		newOperator(t).refuses(exitUsage, test.want, test.args...)
	}
}

func TestPostgresIsRefusedWithoutShowingItsPassword(t *testing.T) {
	newOperator(t).refuses(exitFailure, "PostgreSQL is not supported by this build; use a database of the form sqlite:PATH",
		"migrate", "--database", "postgres://perks:hunter2@db.example/perks")
}

func TestCommandsThatLookDoNotMakeADatabase(t *testing.T) {
	commands := [][]string{
		{"client", "list"}, {"client", "disable", "x"}, {"client", "rotate-secret", "x"}, {"export", "perks"}, {"redemption", "list"},
		{"redemption", "approve", "x"}, {"property", "restore", "1"}, {"audit"}, {"keys", "rotate"},
	}
	for _, args := range commands {
		o := newOperator(t)
		o.refuses(exitFailure, "there is no database "+o.path("perks.db")+"; name another with --database, or make this one with 'perksd migrate'", args...)
		if _, err := os.Stat(o.path("perks.db")); err == nil {
			t.Errorf("perksd %s made a database", strings.Join(args, " "))
		}
	}
}

func TestEveryCommandExplainsItself(t *testing.T) {
	o := newOperator(t)
	for _, cmd := range allCommands(o.program("", nil, nil).root()) {
		path := strings.Fields(cmd.CommandPath())[1:]
		help := o.must(append(path, "--help")...)
		if cmd.Short == "" || !strings.Contains(help, "Usage:") {
			t.Errorf("%s does not say what it does", cmd.CommandPath())
		}
	}
	if got := o.must("--version"); got != "perksd version dev\n" {
		t.Errorf("--version prints %q", got)
	}
}

func allCommands(cmd *cobra.Command) []*cobra.Command {
	commands := []*cobra.Command{cmd}
	for _, child := range cmd.Commands() {
		commands = append(commands, allCommands(child)...)
	}
	return commands
}
