package user

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/tui/list"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

// redeemed is the redemptions of a user, newest first, with a note of those that were refused.
type redeemed struct {
	*list.Redemptions[struct{}]
	shell   *screen.Shell
	id      string // of the user
	refused *screen.Loader[[]api.RefusedRedemption]
	isTall  bool // there is space to say more of the redemption under the cursor
}

// mostRefused is how many refusals the note has.
const mostRefused = 3

func (r *redeemed) Init() tea.Cmd { return r.Reload() }

func (r *redeemed) Reload() tea.Cmd {
	if r.shell.Account.Client.Lacks(api.ScopeRedemptionsRead) {
		return r.Redemptions.Reload()
	}
	filter := api.RefusedFilter{UserID: r.id}
	return tea.Batch(r.Redemptions.Reload(), r.refused.Load(
		func(ctx context.Context, c *client.Client) ([]api.RefusedRedemption, error) {
			for page, err := range c.RefusedPages(ctx, filter, client.ListOptions{PerPage: mostRefused}) {
				return page.Data, err
			}
			return nil, nil // not reached
		}))
}

func (r *redeemed) Update(msg tea.Msg) tea.Cmd {
	cmd, changed := r.refused.Handle(msg)
	if changed && r.refused.Err == nil {
		var perks []string
		for _, refused := range r.refused.Value {
			perks = append(perks, refused.PerkID)
		}
		return r.Titles.Read(perks...)
	}
	return tea.Batch(cmd, r.Redemptions.Update(msg))
}

func (r *redeemed) Close() {
	r.refused.Cancel()
	r.Redemptions.Close()
}

// note says what the columns leave out of the redemption under the cursor, which is not read aloud twice, and what was
// refused.
func (r *redeemed) note() string {
	if !r.isTall || r.shell.Command != nil || r.Current() == nil {
		return r.refusals()
	}
	of := r.Current()
	parts := []string{"reason: " + screen.Optional(of.Reason), "by " + display.Line(of.ClientID),
		screen.MetadataSummary(of.Metadata)}
	parts = slices.DeleteFunc(parts, func(part string) bool {
		return slices.Contains([]string{"reason: ", "by ", ""}, part)
	})
	return widget.Joined(" ", strings.Join(parts, " · "), r.refusals())
}

// refusals says which redemptions were refused last: "Refused: yesterday 14:02 sold out, Spa day."
func (r *redeemed) refusals() string {
	var said []string
	for _, refused := range r.refused.Value {
		said = append(said, display.Recently(refused.At, r.shell.Now())+" "+
			strings.ReplaceAll(display.Line(string(refused.Code)), "_", " ")+", "+
			cmp.Or(r.Titles.Of(refused.PerkID), display.Line(refused.PerkID)))
	}
	if said == nil {
		return ""
	}
	return "Refused: " + strings.Join(said, "; ") + "."
}

// newRedeemed makes the list. Open shows a redemption.
func newRedeemed(shell *screen.Shell, id string, open func(*api.RedemptionRecord) tea.Cmd) *redeemed {
	newest, titles := list.FirstOrder("redeemed_at"), list.NewTitles(shell)
	type record = *api.RedemptionRecord
	when := func(r record) string { return shell.When(r.RedeemedAt) }
	decided := func(r record) string {
		if r.DecidedAt == nil {
			return ""
		}
		return display.Age(shell.Now().Sub(*r.DecidedAt))
	}
	r := &redeemed{shell: shell, id: id, refused: screen.NewBackgroundLoader[[]api.RefusedRedemption](shell)}
	r.Redemptions = list.NewRedemptions(shell, titles, list.Kind[struct{}, api.RedemptionRecord]{
		Settings: "redeemed", NoMarks: true,
		Called: func(struct{}) string { return "Redeemed" }, None: display.Line(id) + " has redeemed nothing yet.",
		Orders: func(struct{}) []string { return []string{newest.Field} },
		Order:  func(struct{}) api.SortKey { return newest },
		Pages: func(
			c *client.Client, ctx context.Context, _ struct{}, options client.ListOptions,
		) client.Pages[api.RedemptionRecord] {
			return func(yield func(api.Page[api.RedemptionRecord], error) bool) {
				for page, err := range c.UserRedemptionPages(ctx, id, options) {
					var with api.Page[api.RedemptionRecord]
					if err == nil {
						with, err = withRecords(ctx, c, id, page)
					}
					if !yield(with, err) {
						return
					}
				}
			}
		},
		File: id + "-redemptions",
		Whole: func(c *client.Client, ctx context.Context, _ struct{}, options client.ListOptions) list.Whole {
			return list.WholeOf(c.UserRedemptionPages(ctx, id, options))
		},
		Open: func(_ string, r record) tea.Cmd { return open(r) },
		Columns: list.Columns[record]{
			{Column: widget.Column{Name: "When", Min: list.AgeWidth}, Sort: newest.Field, Cell: when},
			{Column: widget.Column{Name: "Perk", Min: 18, Share: 4}, Cell: titles.Perk},
			list.Status,
			{Column: widget.Column{Name: "Perk id", Min: 7, Share: 2, Drop: 1},
				Cell: func(r record) string { return display.Line(r.PerkID) }},
			{Column: widget.Column{Name: "Reason", Min: 12, Share: 2, Drop: 2},
				Cell: func(r record) string { return screen.Optional(r.Reason) }},
			{Column: widget.Column{Name: "Metadata", Min: 12, Share: 3, Drop: 3},
				Cell: func(r record) string { return screen.MetadataSummary(r.Metadata) }},
			{Column: widget.Column{Name: "Decided", Min: list.AgeWidth, Drop: 4}, Cell: decided},
			{Column: widget.Column{Name: "Id", Min: 8, Share: 2, Drop: 5},
				Cell: func(r record) string { return display.Line(r.ID) }},
			{Column: widget.Column{Name: "Client", Min: 20, Share: 1, Drop: 6},
				Cell: func(r record) string { return display.Line(r.ClientID) }},
		},
		Note: r.note,
	})
	return r
}

// withRecords adds what only the records tell: whether a redemption was voided rather than rejected, why, when and by
// whom. A client that may not read a record, and one of a service that has none, still sees the redemption.
func withRecords(
	ctx context.Context, c *client.Client, userID string, page api.Page[api.Redemption],
) (api.Page[api.RedemptionRecord], error) {
	with := api.Page[api.RedemptionRecord]{
		Meta: page.Meta, Next: page.Next, LeftOut: page.LeftOut, Data: []api.RedemptionRecord{},
	}
	records, err := recordsOf(ctx, c, userID, page)
	if err != nil {
		return with, err
	}
	for _, r := range page.Data {
		r.UserID = userID
		record := api.RedemptionRecord{Redemption: r}
		at := slices.IndexFunc(records.Data, func(of api.RedemptionRecord) bool { return of.ID == r.ID })
		if at >= 0 {
			record = records.Data[at]
		}
		with.Data = append(with.Data, record)
	}
	return with, nil
}

// recordsOf reads the records of the redemptions on a page, as far as the client may and the service has them.
func recordsOf(
	ctx context.Context, c *client.Client, userID string, page api.Page[api.Redemption],
) (records api.Page[api.RedemptionRecord], err error) {
	if len(page.Data) == 0 || c.Lacks(api.ScopeRedemptionsRead) {
		return records, nil
	}
	earlier := func(r, other api.Redemption) int { return r.RedeemedAt.Compare(other.RedeemedAt) }
	oldest, newest := slices.MinFunc(page.Data, earlier).RedeemedAt, slices.MaxFunc(page.Data, earlier).RedeemedAt
	// the pages of a client that may read some records only are others, so the page is chosen by its times
	filter := api.RedemptionFilter{UserID: userID, Since: oldest, Until: newest.Add(time.Second)}
	records, err = c.Redemptions(ctx, filter, client.ListOptions{PerPage: api.MaxPerPage})
	if other, is := errors.AsType[*client.Error](err); is && other.NotFromService && other.Status < 300 {
		err = nil // a proxy has a page at every address; the list itself came
	}
	if screen.IsLacking(err) {
		err = nil
	}
	return records, err
}

// of is the redemption that keeps the user from redeeming a perk again; nil if none of those that are loaded does.
func (r *redeemed) of(perkID string) *api.RedemptionRecord {
	shown := r.Shown()
	at := slices.IndexFunc(shown, func(of api.RedemptionRecord) bool {
		return of.PerkID == perkID && !screen.IsFree(of.Status)
	})
	if at < 0 {
		return nil
	}
	return &shown[at]
}
