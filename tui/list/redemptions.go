package list

import (
	"cmp"
	"context"
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/theme"
	"example.com/perks/tui/widget"
)

// Titles reads the titles of perks, because redemptions have only their ids.
type Titles struct{ *Lookup[api.Perk] }

// NewTitles makes a Titles that knows none.
func NewTitles(shell *screen.Shell) Titles {
	return Titles{NewLookup(shell, func(ctx context.Context, c *client.Client, id string) (api.Perk, error) {
		return c.Perk(ctx, id)
	})}
}

// Of is the title of a perk; "" if it is not known.
func (t Titles) Of(perkID string) string { return display.Line(t.Known(perkID).Title) }

// Perk names the perk of a redemption: by its title, or by its id until that is known.
func (t Titles) Perk(r *api.RedemptionRecord) string {
	return cmp.Or(t.Of(r.PerkID), display.Line(r.PerkID))
}

// Decidable is a redemption for a question, which names the perk as soon as its title is known.
func (t Titles) Decidable(r api.RedemptionRecord) screen.Decidable {
	return screen.Decidable{RedemptionRecord: r, Named: func() string { return t.Perk(&r) }}
}

// Status is the column of their status.
var Status = Column[*api.RedemptionRecord]{
	Column: widget.Column{Name: "Status", Min: 10},
	Cell:   func(r *api.RedemptionRecord) string { return screen.StatusWord(r.Status) },
	Mark:   func(r *api.RedemptionRecord) string { return screen.StatusMark(r.Status) },
	Tone:   func(r *api.RedemptionRecord) theme.Tone { return screen.StatusTone(r.Status) },
}

// Redemptions is a list of redemptions with the titles of their perks.
type Redemptions[F any] struct {
	*List[F, api.RedemptionRecord]
	Titles Titles
	// ColumnsOf returns the columns of what a filter selects; nil if all have those of the kind.
	ColumnsOf func(F) Columns[*api.RedemptionRecord]
}

// NewRedemptions makes a list of redemptions. The kind has what differs between such lists.
func NewRedemptions[F any](
	shell *screen.Shell, titles Titles, kind Kind[F, api.RedemptionRecord],
) *Redemptions[F] {
	r := &Redemptions[F]{Titles: titles}
	kind.One, kind.Many = "redemption", "redemptions"
	kind.ID = func(r *api.RedemptionRecord) string { return r.ID }
	kind.Muted = func(r *api.RedemptionRecord) bool { return screen.IsFree(r.Status) }
	kind.OnRows = r.completeRows
	r.List = New(shell, kind)
	return r
}

// completeRows has the columns that suit the rows, and reads what these lack.
func (r *Redemptions[F]) completeRows() tea.Cmd {
	if r.ColumnsOf != nil {
		if columns := r.ColumnsOf(r.loader.Value.query.filter); columns[0].Name != r.all[0].Name {
			r.all = columns
			r.hide(r.hiddenColumns())
		}
	}
	return r.ReadTitles()
}

// Drop takes a redemption out of the rows before the list is loaded again. The cursor stays on its row, or goes to the
// next one.
func (r *Redemptions[F]) Drop(id string) {
	is := func(record api.RedemptionRecord) bool { return record.ID == id }
	at, cursor := slices.IndexFunc(r.shown, is), r.table.Cursor()
	if at < 0 {
		return
	}
	pages := slices.Clone(r.loader.Value.pages)
	for i := range pages {
		pages[i].Data = slices.DeleteFunc(slices.Clone(pages[i].Data), is)
		pages[i].Meta.Total = max(0, pages[i].Meta.Total-1)
	}
	r.loader.Value.pages = pages
	if at < cursor {
		cursor--
	}
	r.Redraw()
	r.table.SetCursor(cursor)
}

// ReadTitles reads the titles of the perks of those that are visible, or will be next, and then of marked ones.
func (r *Redemptions[F]) ReadTitles() tea.Cmd {
	var perks []string
	for _, of := range slices.Concat(r.Near(), r.Marked()) {
		perks = append(perks, of.PerkID)
	}
	return r.Titles.Read(perks...)
}

func (r *Redemptions[F]) Update(msg tea.Msg) tea.Cmd {
	if r.Titles.Take(msg) {
		r.Redraw()
		return r.ReadTitles()
	}
	if _, reconnected := msg.(screen.Reconnected); reconnected {
		r.Titles.Retry()
	}
	return r.List.Update(msg)
}

func (r *Redemptions[F]) Close() {
	r.List.Close()
	r.Titles.Cancel()
}
