package redemption

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/cli/command"
	"example.com/perks/cli/completion"
	"example.com/perks/cli/list"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

// NewReport makes the group of commands that count.
func NewReport(s *session.Session) *cobra.Command {
	return command.Group(cobra.Command{
		Use:     "report",
		Aliases: []string{"reports"},
		Short:   "Count redemptions",
		Example: "  perksctl report redemptions --by perk --since 2026-01-01 --until 2026-02-01",
	}, newReportRedemptions(s))
}

func newReportRedemptions(s *session.Session) *cobra.Command {
	var by string
	dimensions := api.Texts(api.ReportDimensions())
	cmd := session.Writes[api.ReportRow](s, &cobra.Command{
		Use:   "redemptions",
		Short: "Count redemptions by day, perk, city, status or actor",
		Long: fmt.Sprintf("Count the redemptions of your client, or of all clients with the scope "+
			"redemptions:read-all: of the last %d days, or\n"+
			"with --since and --until, of up to %d days. Days are in UTC. Perks, cities and actors are sorted by "+
			"their\n"+
			"count, at most %d of them. The field key holds the day, perk, city, status or the name of who redeemed,\n"+
			"empty where the client named nobody. Standard error shows the totals.",
			api.DefaultReportDays, api.MaxReportDays, api.MaxReportRows),
		Example: "  perksctl report redemptions\n" +
			"  perksctl report redemptions --by perk --since 2026-01-01 --until 2026-02-01 --output csv\n" +
			"  perksctl report redemptions --by city --own --jq '.[] | select(.total > 10) | .key'",
		Args: command.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if problem := api.ReportByRule(api.ReportBy(by)); problem != "" {
				return command.Usagef("--by %s, not %q.%s", problem, by, command.DidYouMean(by, dimensions))
			}
			filter, err := list.ReadFilter(cmd, api.ReportFilterFields())
			if err != nil {
				return err
			}
			view := output.View{Columns: []string{"key", "total", "pending", "approved", "rejected", "voided"},
				ID: "key", KeyName: by, Bar: "total"}
			if by == string(api.ReportByPerk) {
				view.Columns = slices.Insert(view.Columns, 1, "title")
			}
			view.Least = []string{"voided", "rejected", "pending", "approved"}
			printer, c, err := session.Begin[api.ReportRow](s, view)
			if err != nil {
				return err
			}
			report, err := c.Report(cmd.Context(), api.ReportBy(by), filter)
			if err != nil {
				return err
			}
			if err := printer.List(cmd.Context(), output.Each(report.Data)); err != nil {
				return err
			}
			meta := report.Meta
			s.Streams.Note("%s from %s to %s: %d pending, %d approved, %d rejected, %d voided.",
				display.Plural(meta.Totals.Total, "redemption", "redemptions"),
				meta.Since.UTC().Format(time.RFC3339), meta.Until.UTC().Format(time.RFC3339), meta.Totals.Pending,
				meta.Totals.Approved, meta.Totals.Rejected, meta.Totals.Voided)
			if meta.IsMore {
				s.Streams.Warn("There are more; only the first %d are shown. Choose a shorter time with --since and "+
					"--until.", len(report.Data))
			}
			return nil
		},
	})
	cmd.Flags().StringVar(&by, "by", dimensions[0], "what to count by: "+strings.Join(dimensions, ", "))
	completion.Flag(cmd, "by", completion.Fixed(dimensions...))
	list.BindFilter(cmd, api.ReportFilterFields(), values(s))
	return cmd
}
