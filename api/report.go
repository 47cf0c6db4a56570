package api

import (
	"slices"
	"sync"
	"time"
)

// ReportBy says what a report groups redemptions by.
type ReportBy string

// The groups of a report.
const (
	ReportByDay    ReportBy = "day" // in UTC
	ReportByPerk   ReportBy = "perk"
	ReportByCity   ReportBy = "city" // of the perk, without regard to case
	ReportByStatus ReportBy = "status"
	ReportByActor  ReportBy = "actor" // who redeemed, as the client said; "" for those who were not named
)

// ReportDimensions returns everything that a report can group by.
func ReportDimensions() []ReportBy {
	return []ReportBy{ReportByDay, ReportByPerk, ReportByCity, ReportByStatus, ReportByActor}
}

// ReportByRule returns what is wrong with the group of a report, or "".
func ReportByRule(by ReportBy) string {
	if !slices.Contains(ReportDimensions(), by) {
		return "must be " + listOf(ReportDimensions())
	}
	return ""
}

// The longest time that a report covers, the time by default, and the most rows of one.
const (
	MaxReportDays     = 92
	DefaultReportDays = 30
	MaxReportRows     = 1000
)

// RedemptionCounts is a number of redemptions, and how many of them have each status.
type RedemptionCounts struct {
	Total    int64 `json:"total"`
	Pending  int64 `json:"pending"`
	Approved int64 `json:"approved"`
	Rejected int64 `json:"rejected"`
	Voided   int64 `json:"voided"`
}

// Of returns the count of a status.
func (c *RedemptionCounts) Of(status RedemptionStatus) *int64 {
	return map[RedemptionStatus]*int64{
		StatusPending: &c.Pending, StatusApproved: &c.Approved, StatusRejected: &c.Rejected, StatusVoided: &c.Voided,
	}[status]
}

// Add adds other counts.
func (c *RedemptionCounts) Add(other RedemptionCounts) {
	c.Total += other.Total
	for _, status := range RedemptionStatuses() {
		*c.Of(status) += *other.Of(status)
	}
}

// ReportRow is the counts of one day, perk, city, status or actor.
type ReportRow struct {
	Key   string  `json:"key"`   // a date such as 2026-03-01, the id of a perk, a city, a status or a name
	Title *string `json:"title"` // of a perk; nil for others
	RedemptionCounts
}

// Report is the response of GET /reports/redemptions: rows of days and statuses in their order, and of others the
// most frequent first.
type Report struct {
	Data []ReportRow `json:"data"` // never nil on the wire
	Meta ReportMeta  `json:"meta"`
}

// ReportMeta says what a report counts.
type ReportMeta struct {
	By     ReportBy         `json:"by"`
	Since  time.Time        `json:"since"`
	Until  time.Time        `json:"until"`  // exclusive
	Totals RedemptionCounts `json:"totals"` // also of the rows that are left out
	IsMore bool             `json:"more"`   // there are rows beyond the first MaxReportRows
}

// MarshalJSON writes the times as wireTime does.
func (m ReportMeta) MarshalJSON() ([]byte, error) {
	return EncodeJSON(struct {
		By     ReportBy         `json:"by"`
		Since  wireTime         `json:"since"`
		Until  wireTime         `json:"until"`
		Totals RedemptionCounts `json:"totals"`
		IsMore bool             `json:"more"`
	}{m.By, wireTime(m.Since), wireTime(m.Until), m.Totals, m.IsMore})
}

// notOfReports are the fields of a RedemptionFilter that reports do not take.
var notOfReports = []string{"perk", "user", "status"}

// ReportFilterFields returns the fields of a RedemptionFilter that a report takes. Only reports pay for it.
var ReportFilterFields = sync.OnceValue(func() []FilterField[RedemptionFilter] {
	return slices.DeleteFunc(slices.Clone(RedemptionFilterFields), func(field FilterField[RedemptionFilter]) bool {
		return slices.Contains(notOfReports, field.Name)
	})
})

// ReportMeta reads the parameters of a report at an instant, and which redemptions it is of.
func (p *Parameters) ReportMeta(at time.Time) (meta ReportMeta, filter RedemptionFilter) {
	for _, name := range notOfReports {
		if _, given := p.Given(name); given {
			p.Fields.Add(name, "is not a filter of reports; they take actor, since, until and own")
		}
	}
	readFilter(p, ReportFilterFields(), &filter)
	meta = ReportMeta{By: ReportByDay, Since: filter.Since, Until: filter.Until}
	if by, given := p.Given("by"); given {
		meta.By = ReportBy(by)
		p.Fields.check("by", ReportByRule(meta.By))
	}
	if meta.Until.IsZero() {
		// Nothing is redeemed later than now, and a report whose counts stay the same keeps its ETag for a minute.
		meta.Until = at.Add(time.Minute - 1).Truncate(time.Minute)
	}
	if meta.Since.IsZero() {
		meta.Since = meta.Until.AddDate(0, 0, -DefaultReportDays)
	}
	switch {
	case !meta.Since.Before(meta.Until):
		p.Fields.Add("since", "must be earlier than until, which is now by default")
	case meta.Until.Sub(meta.Since) > MaxReportDays*24*time.Hour:
		p.Fields.Add("since", "must be at most %d days before until, which is now by default", MaxReportDays)
	}
	filter.Since, filter.Until = meta.Since, meta.Until
	return meta, filter
}
