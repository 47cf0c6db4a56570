package store

import (
	"context"
	"errors"
	"slices"
	"time"

	"example.com/perks/api"
)

// ReportQuery says which redemptions to count, and by what.
type ReportQuery struct {
	By           api.ReportBy
	ClientID     string // only those that this client made, unless it is ""
	Actor        string // only those that this actor made, unless it is ""
	Since, Until time.Time
	Within       time.Duration // how long the report may take
}

// ReportTooLong says that a report did not end in time.
func ReportTooLong() error {
	return api.FieldErrorf("since", "makes the report take too long; choose a later one, or an earlier until")
}

// countedColumns are those of api.RedemptionCounts over redemptions AS r.
const countedColumns = `count(*) AS total, count(*) FILTER (WHERE r.status = 'pending') AS pending,
	count(*) FILTER (WHERE r.status = 'approved') AS approved,
	count(*) FILTER (WHERE r.status = 'rejected' AND r.voided = FALSE) AS rejected,
	count(*) FILTER (WHERE r.status = 'rejected' AND r.voided = TRUE) AS voided`

func countsOf(c *api.RedemptionCounts) []any {
	return []any{&c.Total, &c.Pending, &c.Approved, &c.Rejected, &c.Voided}
}

// ReportText returns the statement of a report. It reads the redemptions of the time, or of the client in that time, on
// an index, once and in one process. Only what is counted of a perk is joined with the perk.
func (d *Dialect) ReportText(query ReportQuery) (text string, args Named) {
	where, args, _ := d.redemptionConditions(RedemptionQuery{
		ClientID:         query.ClientID,
		RedemptionFilter: api.RedemptionFilter{Since: query.Since, Until: query.Until, Actor: query.Actor},
	})
	counted := func(key string) string {
		return `SELECT ` + key + ` AS key, ` + countedColumns + ` FROM redemptions AS r WHERE ` + where + ` GROUP BY 1`
	}
	key, title, group := `min(p.id)`, `min(p.title)`, `p.id`
	from := `(` + counted(d.RedemptionPerk) + `) AS c JOIN perks AS p ON p.` + d.PerkKey + ` = c.key`
	switch query.By {
	case api.ReportByDay, api.ReportByStatus:
		return counted(d.RedemptionDay), args
	case api.ReportByCity:
		key, title, group = `min(p.city`+d.ByCodePoint+`)`, `NULL`, `p.city_fold`
	case api.ReportByActor:
		key, title, group = `c.key`, `NULL`, `c.key`
		from = `(` + counted(`coalesce(r.actor, '')`) + `) AS c`
	}
	args["most"] = api.MaxReportRows + 1
	text = `SELECT ` + key + `, ` + title
	for _, end := range []string{``, ` OVER ()`} { // the counts of the row, and of all rows
		for _, column := range []string{`total`, `pending`, `approved`, `rejected`, `voided`} {
			sum := `sum(c.` + column + `)`
			if end != "" {
				sum = `sum(` + sum + `)` + end
			}
			text += `, CAST(` + sum + ` AS bigint)`
		}
	}
	text += ` FROM ` + from + ` GROUP BY ` + group + ` ORDER BY sum(c.total) DESC, ` + group + ` LIMIT @most`
	return text, args
}

func (o Operations) ReportRedemptions(ctx context.Context, query ReportQuery) (api.Report, error) {
	within := func(ctx context.Context, work func(Querier) error) error {
		return o.db.SnapshotWithin(ctx, query.Within, work)
	}
	report, err := inSnapshot(ctx, o, "report redemptions", within, func(q Querier) (api.Report, error) {
		return o.report(q, query)
	})
	if errors.Is(err, ErrTimeLimit) {
		err = ReportTooLong()
	}
	return report, err
}

func (o Operations) report(q Querier, query ReportQuery) (report api.Report, err error) {
	report.Meta = api.ReportMeta{By: query.By, Since: query.Since, Until: query.Until}
	text, args := o.db.ReportText(query)
	if query.By == api.ReportByDay || query.By == api.ReportByStatus {
		counts := map[int64]api.RedemptionCounts{}
		for day, err := range Each(q, scanDay, text, args) {
			if err != nil {
				return report, err
			}
			counts[day.number] = day.RedemptionCounts
			report.Meta.Totals.Add(day.RedemptionCounts)
		}
		report.Data = statusRows(report.Meta.Totals)
		if query.By == api.ReportByDay {
			report.Data = dayRows(query.Since, query.Until, counts)
		}
		return report, nil
	}
	report.Data, err = All(q, func(r Scanner) (row api.ReportRow, err error) {
		return row, r.Scan(slices.Concat([]any{&row.Key, &row.Title}, countsOf(&row.RedemptionCounts),
			countsOf(&report.Meta.Totals))...)
	}, text, args)
	if report.Meta.IsMore = len(report.Data) > api.MaxReportRows; report.Meta.IsMore {
		report.Data = report.Data[:api.MaxReportRows]
	}
	return report, err
}

// countedDay is the counts of a day, by its number since 1970.
type countedDay struct {
	number int64
	api.RedemptionCounts
}

func scanDay(r Scanner) (d countedDay, err error) {
	return d, r.Scan(append([]any{&d.number}, countsOf(&d.RedemptionCounts)...)...)
}

// dayRows are those of all days of a time, also without redemptions.
func dayRows(since, until time.Time, counts map[int64]api.RedemptionCounts) (rows []api.ReportRow) {
	for day := since.UTC().Truncate(24 * time.Hour); day.Before(until); day = day.AddDate(0, 0, 1) {
		rows = append(rows, api.ReportRow{Key: day.Format(time.DateOnly),
			RedemptionCounts: counts[day.Unix()/(24*60*60)]})
	}
	return rows
}

// statusRows are those of all statuses, also without redemptions.
func statusRows(totals api.RedemptionCounts) (rows []api.ReportRow) {
	for _, status := range api.RedemptionStatuses() {
		row := api.ReportRow{Key: string(status), RedemptionCounts: api.RedemptionCounts{Total: *totals.Of(status)}}
		*row.Of(status) = row.Total
		rows = append(rows, row)
	}
	return rows
}
