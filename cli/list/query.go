package list

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/cli/command"
)

// queryFlag is the flag with words and filters in one line, in the language of api.ParseQuery.
const queryFlag = "query"

// ReadQuery returns the filter of --query alone, which must be given.
func ReadQuery[F any](cmd *cobra.Command, fields []api.FilterField[F]) (filter F, err error) {
	if flag := cmd.Flags().Lookup(queryFlag); flag.Changed && isBlank(flag.Value.String()) {
		return filter, command.Usagef("--%s must not be empty. Say which records are meant, such as city:leeds.",
			queryFlag)
	}
	filter, _, err = readQuery(cmd, fields)
	return filter, err
}

// isBlank tells whether a query has no word: quotes alone hold none, too.
func isBlank(query string) bool { return strings.Trim(query, " \t\"") == "" }

// readQuery returns the filter of --query and its parts, none without the flag.
func readQuery[F any](cmd *cobra.Command, fields []api.FilterField[F]) (filter F, parts []api.QueryPart, err error) {
	flag := cmd.Flags().Lookup(queryFlag)
	if flag == nil || !flag.Changed {
		return filter, nil, nil
	}
	text := flag.Value.String()
	if isBlank(text) {
		return filter, nil, mustNotBeEmpty(queryFlag)
	}
	filter, problems := api.ParseQuery(fields, text)
	if len(problems) == 0 {
		return filter, api.QueryParts(fields, text), nil
	}
	problem := problems[0]
	if !strings.HasSuffix(problem.Text, "?") {
		problem.Text += "."
	}
	width := func(from, to int) int { return display.Width(display.Line(text[from:to])) }
	return filter, nil, &command.Advised{
		Err: command.Usagef("--%s: %s", queryFlag, problem.Text),
		Advice: "    " + display.Line(text) + "\n" +
			strings.Repeat(" ", 4+width(0, problem.From)) +
			strings.Repeat("^", max(1, width(problem.From, problem.To))),
	}
}

// disagreement names the flag of a field and the part of the query that also sets it; nil if no part does.
func disagreement[F any](cmd *cobra.Command, field api.FilterField[F], parts []api.QueryPart) error {
	at := slices.IndexFunc(parts, func(part api.QueryPart) bool { return slices.Contains(part.Fields, field.Name) })
	if at < 0 {
		return nil
	}
	flag, query := cmd.Flags().Lookup(field.Flag), cmd.Flags().Lookup(queryFlag).Value.String()
	return command.Usagef("--%s=%s and %s in --%s disagree. Leave one of them out.", flag.Name, flag.Value,
		query[parts[at].From:parts[at].To], queryFlag)
}
