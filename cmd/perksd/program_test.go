package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestWrongUsageExitsWithCode2AndNamesTheHelp(t *testing.T) {
	const all = "audit, backup, client, completion, demo-data, dev, doctor, export, health, import, keys, migrate, " +
		"property, redemption, restore, sandbox, serve, version"
	tests := []struct {
		args []string
		want string
	}{
		{[]string{}, "name one of the commands " + all + " (see 'perksd --help')"},
		{[]string{"sevre"}, `there is no command "sevre": did you mean "serve"? The commands are ` + all +
			" (see 'perksd --help')"},
		{[]string{"client"}, "name one of the commands create, disable, enable, list, rotate-secret, update (see " +
			"'perksd client --help')"},
		{[]string{"client", "mak"}, `there is no command "mak"; the commands are create, disable, enable, list, ` +
			`rotate-secret, update (see 'perksd client --help')`},
		{[]string{"client", "list", "all"}, `unexpected argument "all" (see 'perksd client list --help')`},
		{[]string{"client", "disable"}, "ID is missing (see 'perksd client disable --help')"},
		{[]string{"client", "list", "--colour"}, "there is no flag --colour (see 'perksd client list --help')"},
		{[]string{"client", "list", "-o", "xml"},
			`--output "xml": it must be one of table, json, jsonl (see 'perksd client list --help')`},
		{[]string{"client", "list", "--database", "mysql://root:password@db"},
			"a database must be of the form sqlite:PATH or postgres://USER@HOST:PORT/DATABASE"},
		{[]string{"client", "list", "--database", "sqlite:"},
			"a database must be of the form sqlite:PATH or postgres://USER@HOST:PORT/DATABASE"},
	}
	o := newOperator(t)
	for _, test := range tests {
		o.refuses(exitUsage, test.want, test.args...)
	}
}

func TestReadingCommandsDoNotSetUpADatabase(t *testing.T) {
	o := newOperator(t)
	message := "perksd was never set up in the database " + o.database().name() +
		"; name another with --database, or set this one up with 'perksd migrate'"
	commands := [][]string{
		{"client", "list"}, {"client", "disable", "x"}, {"client", "rotate-secret", "x"}, {"export", "perks"},
		{"redemption", "list"},
		{"redemption", "approve", "x"}, {"property", "restore", "1"}, {"audit"}, {"keys", "rotate"},
	}
	for _, args := range commands {
		o.refuses(exitFailure, message, args...)
	}
	if status := o.must("migrate", "--status", "-o", "jsonl"); strings.Contains(status, `"applied_at":"`) {
		t.Errorf("one of them has set the database up:\n%s", status)
	}
}

func TestEveryCommandHasHelp(t *testing.T) {
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
