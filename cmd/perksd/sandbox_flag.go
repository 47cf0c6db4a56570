package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

const sandboxFlagName = "sandbox"

// sandboxFlag declares --sandbox for a command that works on either database.
func (p *program) sandboxFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&p.sandbox, sandboxFlagName, false, "work on the sandbox, the database of --sandbox-database, in place of the live one")
}

// whyNoSandbox says of commands, and of groups of them, why they do not work on the sandbox.
var whyNoSandbox = []struct{ path, reason string }{
	{"perksd serve", "serve answers from both databases"},
	{"perksd client", "clients are in the live database alone, and may use the sandbox too"},
	{"perksd keys", "the keys of tokens are in the live database alone, and tokens hold for the sandbox too"},
	{"perksd property", "the sandbox has no properties"},
	{"perksd import properties", "the sandbox has no properties"},
	{"perksd export properties", "the sandbox has no properties"},
	{"perksd restore", "restore works on the file that --database names, which may be the sandbox's"},
	{"perksd", "this command has nothing to do with it"},
}

// catchSandboxFlag lets every other command understand --sandbox, so that it can be refused with a reason.
func (p *program) catchSandboxFlag(cmd *cobra.Command) {
	if cmd.Flags().Lookup(sandboxFlagName) == nil {
		p.sandboxFlag(cmd)
		cmd.Flags().Lookup(sandboxFlagName).Hidden = true
	}
	for _, child := range cmd.Commands() {
		p.catchSandboxFlag(child)
	}
}

// checkSandboxFlag refuses --sandbox where it would be ignored. It also refuses a command line that names the sandbox's
// database but not the sandbox, and would change the live one: in the environment the name lies for all commands, but who
// types it means it.
func (p *program) checkSandboxFlag(cmd *cobra.Command, databaseTyped bool) error {
	flag := cmd.Flags().Lookup(sandboxFlagName)
	if flag == nil || cmd.HasSubCommands() { // cobra's own commands have no such flag
		return nil
	}
	takesIt := !flag.Hidden
	switch {
	case p.sandbox && !takesIt && !isFreeOfChoice(cmd):
		return usagef(cmd, "--sandbox: %s; leave it out, and PERKSD_SANDBOX too", reasonAgainstSandbox(cmd))
	case databaseTyped && takesIt && !p.sandbox:
		return usagef(cmd, "--sandbox-database only says where the sandbox is: add --sandbox to work on it, or leave both out to work on the live database")
	}
	return nil
}

// isFreeOfChoice holds for the commands that are for the sandbox alone, and those that work on no database. PERKSD_SANDBOX in
// the environment must not stop them.
func isFreeOfChoice(cmd *cobra.Command) bool {
	return slices.ContainsFunc([]string{"perksd sandbox", "perksd version", "perksd completion", "perksd man"}, func(path string) bool {
		return isUnder(cmd, path)
	})
}

func reasonAgainstSandbox(cmd *cobra.Command) string {
	for _, why := range whyNoSandbox {
		if isUnder(cmd, why.path) {
			return why.reason
		}
	}
	return ""
}

func isUnder(cmd *cobra.Command, path string) bool {
	return strings.HasPrefix(cmd.CommandPath()+" ", path+" ")
}

// ifSandbox is the words when the command works on the sandbox, and nothing otherwise.
func (p *program) ifSandbox(words string) string {
	if p.sandbox {
		return words
	}
	return ""
}
