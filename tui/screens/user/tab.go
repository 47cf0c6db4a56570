package user

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

// tab is a list of which one page is shown.
type tab struct {
	name   string
	row    string // what a row is called, in the singular
	loader *screen.Loader[page]
	table  *widget.Table
	fetch  func(number int64) screen.Fetch[page]
	rows   func(page) []widget.Row
	lines  func(page) []string // the rows for the accessible mode

	now     func() time.Time
	asked   int64     // the page that was requested last
	since   time.Time // when that was
	landing screen.Landing
}

// page is a page of either list.
type page struct {
	meta        api.PageMeta
	perks       []api.Perk
	redemptions []api.Redemption
}

func (p page) len() int { return len(p.perks) + len(p.redemptions) }

func (p page) id(row int) string {
	if row < len(p.perks) {
		return p.perks[row].ID
	}
	return p.redemptions[row].ID
}

func (t *tab) load(number int64, to screen.Landing) tea.Cmd {
	t.asked, t.landing, t.since = number, to, t.now()
	return t.loader.Load(t.fetch(number))
}

func (t *tab) start() tea.Cmd { return t.load(1, screen.OnFirst) }

// reload loads the page that was requested last again.
func (t *tab) reload() tea.Cmd {
	if t.asked == 0 {
		return nil
	}
	return t.load(t.asked, t.landing)
}

func (t *tab) take(msg tea.Msg) tea.Cmd {
	was, row := t.loader.Value, t.selected()
	cmd, changed := t.loader.Handle(msg)
	if !changed || t.loader.Err != nil {
		return cmd
	}
	now, same := t.loader.Value, -1
	for i := range now.len() {
		if row >= 0 && now.id(i) == was.id(row) {
			same = i
		}
	}
	t.asked = now.meta.Page
	t.table.SetRows(t.rows(now))
	t.landing.Land(t.table, same)
	t.landing = screen.OnSame
	return cmd
}

// selected is the row under the cursor; -1 if there is none.
func (t *tab) selected() int {
	if row := t.table.Cursor(); t.loader.Has && row < t.loader.Value.len() {
		return row
	}
	return -1
}

func (t *tab) pages() screen.Pages {
	at := t.loader.Value.meta.Page
	if t.loader.Busy() {
		at = t.asked
	}
	return screen.Pages{Table: t.table, At: max(1, at), Last: t.loader.Value.meta.TotalPages, Busy: t.loader.Busy(), Load: t.load}
}

// count is how many rows there are in all.
func (t *tab) count() int64 { return max(t.loader.Value.meta.Total, int64(t.loader.Value.len())) }

// position says which rows are shown: "51 to 100 of 1,234, page 2 of 25". With named it adds what the rows are.
func (t *tab) position(named bool) string {
	meta, rows := t.loader.Value.meta, int64(t.loader.Value.len())
	if rows == 0 {
		return ""
	}
	first := (max(1, meta.Page)-1)*int64(meta.PerPage) + 1
	text := display.Count(first)
	if rows > 1 {
		text += " to " + display.Count(first+rows-1)
	}
	all := display.Count(t.count())
	if named {
		all = display.Plural(t.count(), t.row, t.row+"s")
	}
	text += " of " + all
	if meta.TotalPages > 1 {
		text += fmt.Sprintf(", page %s of %s", display.Count(max(1, meta.Page)), display.Count(meta.TotalPages))
	}
	return text
}

func (t *tab) label() string {
	if t.loader.Has {
		return t.name + " " + display.Count(t.count())
	}
	return t.name
}

func (s *Screen) availableTab() *tab {
	columns := screen.Columns[api.Perk]{
		{Column: widget.Column{Name: "Title", Min: 13, Share: 4}, Sort: "title", Cell: func(p api.Perk) string { return display.Line(p.Title) }},
		{Column: widget.Column{Name: "Discount", Min: 10, Share: 1, Drop: 2}, Sort: "discount_text", Cell: func(p api.Perk) string { return screen.Optional(p.DiscountText) }},
		{Column: widget.Column{Name: "Merchant", Min: 10, Share: 2, Drop: 3}, Sort: "merchant_name", Cell: func(p api.Perk) string { return screen.Optional(p.MerchantName) }},
		{Column: widget.Column{Name: "City", Min: 8, Share: 1, Drop: 4}, Sort: "city", Cell: func(p api.Perk) string { return display.Line(p.City) }},
		{Column: widget.Column{Name: "Valid", Min: 13, Drop: 1, Shorten: screen.ShortenValid}, Sort: "valid_to", Cell: func(p api.Perk) string { return screen.Valid(&p, s.shell.Now()) }},
	}
	s.columns = columns
	return &tab{
		name: "Available", row: "perk", now: s.shell.Now, loader: screen.NewLoader[page](s.shell), table: widget.NewTable(s.shell.Theme, columns.Drawn()...),
		rows: func(p page) (rows []widget.Row) {
			for _, perk := range p.perks {
				rows = append(rows, widget.Row{Cells: columns.Cells(perk), Marked: s.marks.Has(perk.ID)})
			}
			return rows
		},
		lines: func(p page) (lines []string) {
			for _, perk := range p.perks {
				line := strings.Join(slices.DeleteFunc(columns.Cells(perk), func(cell string) bool { return cell == "" }), ", ") + "."
				if s.marks.Has(perk.ID) {
					line += " Marked."
				}
				lines = append(lines, line)
			}
			return lines
		},
		fetch: func(number int64) screen.Fetch[page] {
			id, order := s.id, api.FormatSort([]api.SortKey{s.order})
			return func(ctx context.Context, c *client.Client) (page, error) {
				perks, err := screen.ReadPage(number, func(number int64) (api.Page[api.Perk], error) {
					options := client.ListOptions{Page: number, PerPage: screen.PerPage, Sort: order}
					return c.UserPerks(ctx, id, client.PerkListOptions{ListOptions: options})
				})
				return page{meta: perks.Meta, perks: perks.Data}, err
			}
		},
	}
}

func (s *Screen) redeemedTab() *tab {
	columns := screen.Columns[api.Redemption]{
		{Column: widget.Column{Name: "When", Min: 10, Share: 1}, Cell: s.when},
		{Column: widget.Column{Name: "Title", Min: 13, Share: 4, Drop: 1}, Cell: s.title},
		{Column: widget.Column{Name: "Perk", Min: 7, Share: 2}, Cell: func(r api.Redemption) string { return display.Line(r.PerkID) }},
		{Column: widget.Column{Name: "Status", Min: 8}, Cell: func(r api.Redemption) string { return display.Line(string(r.Status)) }},
		{Column: widget.Column{Name: "Id", Min: 8, Share: 2, Drop: 2}, Cell: func(r api.Redemption) string { return display.Line(r.ID) }},
		{Column: widget.Column{Name: "Metadata", Min: 12, Share: 3, Drop: 3}, Cell: func(r api.Redemption) string { return metadataSummary(r.Metadata) }},
	}
	return &tab{
		name: "Redeemed", row: "redemption", now: s.shell.Now, loader: screen.NewLoader[page](s.shell), table: widget.NewTable(s.shell.Theme, columns.Drawn()...),
		rows: func(p page) (rows []widget.Row) {
			for _, r := range p.redemptions {
				rows = append(rows, widget.Row{Cells: columns.Cells(r), Muted: r.Status == api.StatusRejected})
			}
			return rows
		},
		lines: func(p page) (lines []string) {
			for _, r := range p.redemptions {
				lines = append(lines, s.redemptionLine(r))
			}
			return lines
		},
		fetch: func(number int64) screen.Fetch[page] {
			id := s.id
			return func(ctx context.Context, c *client.Client) (page, error) {
				redemptions, err := screen.ReadPage(number, func(number int64) (api.Page[api.Redemption], error) {
					return c.UserRedemptions(ctx, id, client.ListOptions{Page: number, PerPage: screen.PerPage})
				})
				return page{meta: redemptions.Meta, redemptions: redemptions.Data}, err
			}
		},
	}
}

func (s *Screen) redemptionLine(r api.Redemption) string {
	line := "Perk " + display.Line(r.PerkID) + ", "
	if title := s.title(r); title != "" {
		line += title + ", "
	}
	line += display.Line(string(r.Status)) + ", " + s.when(r) + ", id " + display.Line(r.ID)
	if metadata := metadataSummary(r.Metadata); metadata != "" {
		line += ", metadata " + metadata
	}
	return line + "."
}

// title is the title of a redemption's perk; "" if it is not known.
func (s *Screen) title(r api.Redemption) string { return display.Line(s.titles.known[r.PerkID]) }

func (s *Screen) when(r api.Redemption) string {
	if r.RedeemedAt.IsZero() {
		return "not known"
	}
	return display.Age(s.shell.Now().Sub(r.RedeemedAt))
}

// titlesAtOnce limits how many perks are read at the same time, so that a page of redemptions stays below the rate limit.
const titlesAtOnce = 4

// titles is the titles of perks, because redemptions have only their ids.
type titles struct {
	known   map[string]string                   // by the perk's id: "" while it is read, or if that failed
	reading map[string]*screen.Loader[api.Perk] // by the perk's id
	stopped bool                                // a read failed, so others would fail too
}

func newTitles() titles {
	return titles{known: map[string]string{}, reading: map[string]*screen.Loader[api.Perk]{}}
}

// read reads the perks of these redemptions, a few at a time. Each perk is requested once, even if that fails.
func (t *titles) read(shell *screen.Shell, redemptions []api.Redemption) tea.Cmd {
	var cmds []tea.Cmd
	for _, r := range redemptions {
		id := r.PerkID
		if _, asked := t.known[id]; asked || t.stopped || len(t.reading) == titlesAtOnce {
			continue
		}
		t.known[id], t.reading[id] = "", screen.NewBackgroundLoader[api.Perk](shell)
		cmds = append(cmds, t.reading[id].Load(func(ctx context.Context, c *client.Client) (api.Perk, error) { return c.Perk(ctx, id) }))
	}
	return tea.Batch(cmds...)
}

// take takes the end of a read. After any failure but a missing perk, it reads no more until retry.
func (t *titles) take(msg tea.Msg) {
	for id, loader := range t.reading {
		if _, changed := loader.Handle(msg); changed {
			delete(t.reading, id)
			t.known[id] = loader.Value.Title
			t.stopped = t.stopped || loader.Err != nil && !client.IsNotFound(loader.Err)
		}
	}
}

// retry forgets the perks that could not be read, so that they are read again.
func (t *titles) retry() {
	t.cancel()
	t.stopped = false
	maps.DeleteFunc(t.known, func(_, title string) bool { return title == "" })
}

func (t *titles) cancel() {
	for _, loader := range t.reading {
		loader.Cancel()
	}
	clear(t.reading)
}
