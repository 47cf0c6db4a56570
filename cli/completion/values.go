package completion

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.com/perks/api"
	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
	"example.com/perks/tui/widget"
)

// register makes the completions of every command. What no function is known for completes to nothing, rather than to the
// names of files that lie about.
func register(root *cobra.Command, s *session.Session) {
	s.Streams, _, _ = command.BufferedStreams("")
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	v := values{s, newLive(s)}
	walk(root, func(cmd *cobra.Command) {
		if complete := v.ofArguments(path(cmd)); complete != nil && cmd.ValidArgsFunction == nil {
			cmd.ValidArgsFunction = complete
		}
		add := func(flag *pflag.Flag) {
			if complete := v.ofFlag(flag); complete != nil {
				_ = cmd.RegisterFlagCompletionFunc(flag.Name, complete) // fails where the command has made its own, which is better
			}
			_, flag.Usage = pflag.UnquoteUsage(flag)
		}
		cmd.LocalFlags().VisitAll(add)
	})
}

func walk(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, member := range cmd.Commands() {
		walk(member, visit)
	}
}

// path is the words of a command behind the name of the program.
func path(cmd *cobra.Command) string {
	_, words, _ := strings.Cut(cmd.CommandPath(), " ")
	return words
}

// values knows what can stand where.
type values struct {
	session *session.Session
	live    *live
}

// ofArguments returns the completion of a command's arguments, nil if there is none.
func (v values) ofArguments(path string) cobra.CompletionFunc {
	switch path {
	case "perk get":
		return v.perks
	case "perk redeem":
		return first(v.perks)
	case "profile use", "profile delete":
		return first(v.profiles)
	case "api":
		return first(anyCase(methods()))
	}
	return nil
}

// ofFlag returns the completion of a flag's value, nil if there is none. A flag means the same wherever it stands, so that
// its name is enough.
func (v values) ofFlag(flag *pflag.Flag) cobra.CompletionFunc {
	switch flag.Name {
	case "output":
		return fixed(formats()...)
	case "fields":
		return list(func(cmd *cobra.Command) []string { return recordFields(cmd) })
	case "sort":
		return list(sortKeys)
	case "set":
		return settings
	case "profile":
		return v.profiles
	case "category":
		return v.categories
	case "city":
		return v.cities
	case "type":
		return fixed("available\twhat the user can redeem now", "redeemed\twhat the user has redeemed")
	case "theme":
		return fixed(themes()...)
	case "format":
		return fixed("csv", "json", "jsonl")
	case "file":
		return files("csv", "json", "jsonl")
	case "from-file":
		return files("json")
	}
	if value, _ := pflag.UnquoteUsage(flag); value == "file" {
		return files()
	}
	return nil
}

func formats() []string {
	return []string{output.Table, output.JSON, output.YAML, output.CSV, output.JSONL, output.IDs}
}

func themes() []string {
	var names []string
	for _, name := range widget.ThemeNames() {
		names = append(names, string(name))
	}
	return names
}

func methods() []string { return []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"} }

// sortKeys returns each field twice: ascending and descending.
func sortKeys(cmd *cobra.Command) []string {
	fields := api.PerkSortFields()
	if kind, err := cmd.Flags().GetString("type"); err == nil && kind == "redeemed" {
		fields = api.RedemptionSortFields()
	}
	var keys []string
	for _, field := range fields {
		keys = append(keys, field, "-"+field)
	}
	return keys
}

// settings completes the name before the = of --set.
func settings(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	var names []string
	for _, field := range api.PropertyPatchFields() {
		names = append(names, field+"=")
	}
	return beginning(names, typed), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// first completes the first argument alone.
func first(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return cobra.NoFileCompletions(cmd, args, typed)
		}
		return complete(cmd, args, typed)
	}
}

func fixed(choices ...string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return beginning(choices, typed), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// anyCase offers the choices in the case that was begun, because shells drop what does not begin with what was typed.
func anyCase(choices []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		offered := choices
		if typed != "" && typed == strings.ToLower(typed) {
			offered = nil
			for _, choice := range choices {
				offered = append(offered, strings.ToLower(choice))
			}
		}
		return fixed(offered...)(cmd, args, typed)
	}
}

// files has the shell complete names of files, only those with the extensions if there are any.
func files(extensions ...string) cobra.CompletionFunc {
	if len(extensions) == 0 {
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
	}
	return cobra.FixedCompletions(extensions, cobra.ShellCompDirectiveFilterFileExt)
}

// list completes the last entry of a comma-separated list, with what stands before it left in place. An entry that is
// there is not offered again, in either direction of sorting.
func list(all func(*cobra.Command) []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		before := typed[:strings.LastIndexByte(typed, ',')+1]
		used := map[string]bool{}
		for entry := range strings.SplitSeq(before, ",") {
			used[strings.TrimPrefix(strings.TrimSpace(entry), "-")] = true
		}
		var choices []string
		for _, choice := range all(cmd) {
			if !used[strings.TrimPrefix(choice, "-")] {
				choices = append(choices, before+choice)
			}
		}
		return beginning(choices, typed), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveKeepOrder
	}
}

func beginning(choices []string, typed string) []string {
	var kept []string
	for _, choice := range choices {
		if strings.HasPrefix(choice, typed) {
			kept = append(kept, choice)
		}
	}
	return kept
}
