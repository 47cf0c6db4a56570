package user

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/list"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/theme"
	"example.com/perks/tui/widget"
)

// redeemed is the redemptions of a user, newest first.
type redeemed struct {
	*list.List[struct{}, api.Redemption]
	shell  *screen.Shell
	titles list.Titles
}

func newRedeemed(shell *screen.Shell, id string) *redeemed {
	r := &redeemed{shell: shell, titles: list.NewTitles(shell)}
	newest := screen.FirstOrder("redeemed_at")
	r.List = list.New(shell, list.Kind[struct{}, api.Redemption]{
		One: "redemption", Many: "redemptions", Settings: "redeemed", NoMarks: true,
		Called: func(struct{}) string { return "Redeemed" }, None: display.Line(id) + " has redeemed nothing yet.",
		Orders: func(struct{}) []string { return []string{newest.Field} },
		Order:  func(struct{}) api.SortKey { return newest },
		Fetch: func(ctx context.Context, c *client.Client, _ struct{}, options client.ListOptions) (api.Page[api.Redemption], error) {
			return c.UserRedemptions(ctx, id, options)
		},
		ID:    func(r *api.Redemption) string { return r.ID },
		Title: func(of *api.Redemption) string { return cmp.Or(r.titles.Of(of.PerkID), display.Line(of.PerkID)) },
		Muted: func(r *api.Redemption) bool { return r.Status == api.StatusRejected },
		Columns: screen.Columns[*api.Redemption]{
			{Column: widget.Column{Name: "When", Min: 10}, Sort: newest.Field, Cell: r.when},
			{Column: widget.Column{Name: "Title", Min: 13, Share: 4}, Cell: func(of *api.Redemption) string { return cmp.Or(r.titles.Of(of.PerkID), display.Line(of.PerkID)) }},
			{Column: widget.Column{Name: "Status", Min: 8}, Cell: func(r *api.Redemption) string { return display.Line(string(r.Status)) }, Tone: statusTone},
			{Column: widget.Column{Name: "Perk", Min: 7, Share: 2, Drop: 1}, Cell: func(r *api.Redemption) string { return display.Line(r.PerkID) }},
			{Column: widget.Column{Name: "Metadata", Min: 12, Share: 3, Drop: 2}, Cell: func(r *api.Redemption) string { return metadataSummary(r.Metadata) }},
			{Column: widget.Column{Name: "Id", Min: 8, Share: 2, Drop: 3}, Cell: func(r *api.Redemption) string { return display.Line(r.ID) }},
		},
	})
	return r
}

// statusTone is how a status is meant.
func statusTone(r *api.Redemption) theme.Tone {
	return map[api.RedemptionStatus]theme.Tone{api.StatusPending: theme.Warning, api.StatusApproved: theme.Good, api.StatusRejected: theme.Quiet}[r.Status]
}

// of is the redemption that keeps the user from redeeming a perk again; nil if none of those on the page does.
func (r *redeemed) of(perkID string) *api.Redemption {
	shown := r.Shown()
	at := slices.IndexFunc(shown, func(of api.Redemption) bool { return of.PerkID == perkID && of.Status != api.StatusRejected })
	if at < 0 {
		return nil
	}
	return &shown[at]
}

func (r *redeemed) when(of *api.Redemption) string {
	if of.RedeemedAt.IsZero() {
		return "not known"
	}
	return display.Age(r.shell.Now().Sub(of.RedeemedAt))
}

// Update also reads titles.
func (r *redeemed) Update(msg tea.Msg) tea.Cmd {
	if r.titles.Take(msg) {
		r.Redraw()
	}
	return tea.Batch(r.List.Update(msg), r.readTitles())
}

func (r *redeemed) Do(id actions.ID) tea.Cmd { return tea.Batch(r.List.Do(id), r.readTitles()) }

// readTitles reads the titles of the perks on the page.
func (r *redeemed) readTitles() tea.Cmd {
	var perks []string
	for _, of := range r.Shown() {
		perks = append(perks, of.PerkID)
	}
	return r.titles.Read(perks...)
}

func (r *redeemed) Close() {
	r.List.Close()
	r.titles.Cancel()
}

// pairs is all of a redemption.
func (s *Screen) pairs() []widget.Pair {
	r := s.detail
	when := "not known"
	if !r.RedeemedAt.IsZero() {
		when = display.Instant(r.RedeemedAt, s.shell.Now()) + ", " + s.redeemed.when(&r.Redemption)
	}
	perk := display.Line(r.PerkID)
	if title := s.redeemed.titles.Of(r.PerkID); title != "" {
		perk = title + " (" + perk + ")"
	}
	pairs := []widget.Pair{
		{Label: "Redemption", Value: display.Line(r.ID)},
		{Label: "Perk", Value: perk},
		{Label: "User", Value: display.Line(cmp.Or(r.UserID, s.id))},
		{Label: "Redeemed", Value: when},
		{Label: "Status", Value: statusText(r.Status)},
		{Label: "Metadata", Value: metadataIndented(r.Metadata)},
	}
	if r.DecidedAt != nil {
		pairs = append(pairs, widget.Pair{Label: "Decided", Value: display.Instant(*r.DecidedAt, s.shell.Now())})
	}
	if r.Reason != nil {
		pairs = append(pairs, widget.Pair{Label: "Reason", Value: display.Line(*r.Reason)})
	}
	if r.ClientID != "" {
		pairs = append(pairs, widget.Pair{Label: "Client", Value: display.Line(r.ClientID)})
	}
	return pairs
}

// statusText says what a status means to the user.
func statusText(status api.RedemptionStatus) string {
	return cmp.Or(map[api.RedemptionStatus]string{
		api.StatusApproved: "approved: the user has the perk",
		api.StatusPending:  "pending: waiting for approval",
		api.StatusVoided:   "voided: the user does not have the perk any more, and can redeem it again",
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
	indented, err := display.IndentJSON(metadata, "")
	if err != nil {
		return display.Text(string(metadata))
	}
	return display.Text(strings.ReplaceAll(string(indented), "\t", " "))
}
