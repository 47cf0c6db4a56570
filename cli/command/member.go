package command

import (
	"strings"

	"github.com/spf13/cobra"
)

// Member returns the command of a group that has the name or alias, or nil.
func Member(group *cobra.Command, word string) *cobra.Command {
	for _, member := range group.Commands() {
		if member.Name() == word || member.HasAlias(word) {
			return member
		}
	}
	return nil
}

// Members returns the names of a group's commands that begin as typed, each with its description as a shell's completion
// takes it.
func Members(group *cobra.Command, typed string) []string {
	var found []string
	for _, member := range group.Commands() {
		if member.IsAvailableCommand() && strings.HasPrefix(member.Name(), typed) {
			found = append(found, cobra.CompletionWithDesc(member.Name(), member.Short))
		}
	}
	return found
}

// Unknown says that a group has no such command, or that a command is no group.
func Unknown(cmd *cobra.Command, word string) error {
	if !cmd.HasSubCommands() {
		return Usagef("%s has no commands, so there is no %q. Run %s --help for what it takes.", cmd.CommandPath(), word, cmd.CommandPath())
	}
	var names []string
	for _, member := range cmd.Commands() {
		if member.IsAvailableCommand() {
			names = append(names, member.Name())
			names = append(names, member.Aliases...)
		}
	}
	return Usagef("%q is not a command of %s.%s Run %s --help for all of them.", word, cmd.CommandPath(), DidYouMean(word, names), cmd.CommandPath())
}
