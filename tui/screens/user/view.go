package user

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

// layout is the height of each part, from the top.
type layout struct {
	tabs        int
	errorBanner int
	body        int // where the body begins
	height      int // the body's lines
	footer      int
}

// minWidthForNouns is the least width for the position with its noun.
const minWidthForNouns = 40

func (s *Screen) Resize(width, height int) { s.width, s.height = width, height }

// arrange lays out the parts, and fills the tables. In a low window the rows lose their lines last.
func (s *Screen) arrange() {
	if s.detail != nil {
		s.scroll.Resize(s.width, s.height)
		s.scroll.Set(widget.Pairs(s.shell.Theme, s.width, s.pairs()))
		return
	}
	l := layout{}
	if s.height >= 2 && s.id != "" {
		l.tabs = 1
	}
	if s.height >= 4 && s.footer(false) != "" {
		l.footer = 1
	}
	if errorBanner := s.errorBanner(); errorBanner != "" {
		l.errorBanner = min(len(display.Wrap("! "+errorBanner, s.width)), max(1, s.height/3), max(0, s.height-l.tabs-l.footer-1))
	}
	l.body = l.tabs + l.errorBanner
	l.height = max(1, s.height-l.body-l.footer)
	s.layout = l
	s.available.table.Sort(s.columns.Sorted(s.order.Field), s.order.Desc)
	for _, t := range []*tab{s.available, s.redeemed} {
		t.table.SetRows(t.rows(t.loader.Value))
		t.table.Resize(s.width, l.height)
	}
}

func (s *Screen) View() string {
	s.arrange()
	if s.detail != nil {
		return s.scroll.View()
	}
	theme, l := s.shell.Theme, s.layout
	var parts []string
	if l.tabs > 0 {
		parts = append(parts, widget.Tabs(theme, s.width, s.labels(), s.at()))
	}
	if l.errorBanner > 0 {
		parts = append(parts, widget.Capped(theme.Bad, "! "+s.errorBanner(), s.width, l.errorBanner)...)
	}
	if kind, title, advice := s.notice(); title != "" {
		parts = append(parts, widget.Notice(theme, kind, title, advice, s.width, l.height))
	} else {
		s.tab.table.SetTheme(theme)
		parts = append(parts, s.tab.table.View())
	}
	if l.footer > 0 {
		parts = append(parts, theme.Muted.Render(display.Cut(s.footer(s.width >= minWidthForNouns), s.width)))
	}
	return display.Crop(strings.Join(parts, "\n"), s.width, s.height)
}

func (s *Screen) AccessibleText() string {
	if s.detail != nil {
		return strings.Join(widget.AccessiblePairs(s.pairs()), "\n")
	}
	var lines []string
	if s.id != "" {
		lines = append(lines, widget.AccessibleTabs(s.labels(), s.at()))
	}
	if errorBanner := s.errorBanner(); errorBanner != "" {
		lines = append(lines, "Problem: "+errorBanner)
	}
	if kind, title, advice := s.notice(); title != "" {
		return strings.Join(append(lines, widget.AccessibleNotice(kind, title, advice)), "\n")
	}
	for i, line := range s.tab.lines(s.tab.loader.Value) {
		line = fmt.Sprintf("%d. %s", i+1, line)
		if i == s.tab.table.Cursor() {
			line += " Chosen."
		}
		lines = append(lines, line)
	}
	return strings.Join(append(lines, s.footer(true)), "\n")
}

func (s *Screen) labels() []string { return []string{s.available.label(), s.redeemed.label()} }

// at is the index of the shown tab.
func (s *Screen) at() int {
	if s.tab == s.redeemed {
		return 1
	}
	return 0
}

// notice is shown instead of rows: what happened, and what to do next. The title is empty if there are rows.
func (s *Screen) notice() (kind widget.NoticeKind, title, advice string) {
	user, list := display.Line(s.id), s.tab.loader
	switch {
	case s.id == "":
		return widget.Empty, "No user is chosen.", s.shell.Key(actions.ForUser) + " chooses one."
	case s.isUnknown():
		title := "There is no live user " + user + "."
		if s.shell.Account.Profile.Sandbox {
			title = "There is no user " + user + " in the sandbox."
		}
		return widget.Failure, title, "Check the id; capitals count. " + s.shell.Key(actions.ForUser) + " opens another user."
	case !list.Has && list.Err != nil && !list.Busy():
		title, advice := s.explain(list.Err)
		return widget.Failure, title, advice
	case !list.Has:
		what := [...]string{" can redeem", " has redeemed"}[s.at()]
		return widget.Loading, widget.LoadingTitle("what "+user+what, s.shell.Now().Sub(s.tab.since)), ""
	case list.Value.len() > 0:
		return 0, "", ""
	case s.tab == s.available:
		return widget.Empty, user + " can redeem nothing now.",
			"All perks are expired, sold out or redeemed. " + s.shell.Key(actions.NextTab) + " shows the redemptions."
	}
	return widget.Empty, user + " has redeemed nothing yet.", s.shell.Key(actions.NextTab) + " shows available perks."
}

// isUnknown tells whether the service has no such user.
func (s *Screen) isUnknown() bool {
	return client.IsNotFound(s.available.loader.Err) || client.IsNotFound(s.redeemed.loader.Err)
}

// explain says what went wrong, and what to do next.
func (s *Screen) explain(err error) (what, next string) {
	var invalid *api.Error
	if errors.As(err, &invalid) && len(invalid.Fields["user_id"]) > 0 {
		return "The user's id " + display.Line(invalid.Fields["user_id"][0]) + ".", s.shell.Key(actions.ForUser) + " opens another user."
	}
	return s.shell.Explain(err)
}

// errorBanner says above old rows why there are no newer ones.
func (s *Screen) errorBanner() string {
	list := s.tab.loader
	if s.id == "" || !list.Has || list.Err == nil || list.Busy() || s.isUnknown() {
		return ""
	}
	title, advice := s.explain(list.Err)
	return title + " " + s.shell.Age(list.At) + " " + advice
}

// footer says which rows are shown, in which order, and how many are marked.
func (s *Screen) footer(named bool) string {
	if s.id == "" || s.isUnknown() {
		return ""
	}
	parts := []string{s.tab.position(named)}
	if s.tab == s.available {
		if parts[0] != "" && s.order != screen.DefaultOrder() {
			parts = append(parts, screen.OrderWords(s.order))
		}
		parts = append(parts, s.marks.Summary(s.available.loader.Value.perks))
	}
	if s.tab.loader.Busy() && s.tab.loader.Has {
		parts = append(parts, "loading ...")
	}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), ", ")
}

func (s *Screen) pairs() []widget.Pair {
	r := s.detail
	when := "not known"
	if !r.RedeemedAt.IsZero() {
		when = display.Instant(r.RedeemedAt, s.shell.Now()) + ", " + s.when(*r)
	}
	perk := display.Line(r.PerkID)
	if title := s.title(*r); title != "" {
		perk = title + " (" + perk + ")"
	}
	return []widget.Pair{
		{Label: "Redemption", Value: display.Line(r.ID)},
		{Label: "Perk", Value: perk},
		{Label: "User", Value: display.Line(cmp.Or(r.UserID, s.id))},
		{Label: "Redeemed", Value: when},
		{Label: "Status", Value: statusText(r.Status)},
		{Label: "Metadata", Value: metadataIndented(r.Metadata)},
	}
}

// statusText says what a status means to the user.
func statusText(status api.RedemptionStatus) string {
	return cmp.Or(map[api.RedemptionStatus]string{
		api.StatusApproved: "approved: the user has the perk",
		api.StatusPending:  "pending: waiting for approval",
		api.StatusRejected: "rejected: the user does not have the perk, and can redeem it again",
		"":                 "not known",
	}[status], display.Line(string(status)))
}

// maxSummary is the greatest width of the metadata in a row.
const maxSummary = 160

// metadataSummary writes metadata as "shop=Mitte till=4". What is no object stays as it is.
func metadataSummary(metadata json.RawMessage) string {
	decoder := json.NewDecoder(bytes.NewReader(metadata))
	if start, err := decoder.Token(); err != nil || start != json.Delim('{') {
		return display.Cut(display.Line(string(metadata)), maxSummary)
	}
	var parts []string
	for length := 0; decoder.More() && length < maxSummary; {
		name, err := decoder.Token()
		var value json.RawMessage
		if err != nil || decoder.Decode(&value) != nil {
			break
		}
		var text string
		if json.Unmarshal(value, &text) != nil || string(value) == "null" {
			text = string(value)
		}
		part := name.(string) + "=" + text
		parts = append(parts, part)
		length += display.Width(part)
	}
	return display.Cut(display.Line(strings.Join(parts, " ")), maxSummary)
}

func metadataIndented(metadata json.RawMessage) string {
	if slices.Contains([]string{"", "{}", "null"}, string(bytes.TrimSpace(metadata))) {
		return "none"
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, metadata, "", "  "); err != nil {
		return display.Text(string(metadata))
	}
	return display.Text(strings.ReplaceAll(indented.String(), "\t", " "))
}
