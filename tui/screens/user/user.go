// Package user is what one user can redeem, and has redeemed.
//
// It knows no other screen.
package user

import (
	"context"
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

// Screen is the screen.
type Screen struct {
	shell         *screen.Shell
	width, height int

	id         string // of the user; "" until one is chosen
	available  *list[api.Perk]
	redeemed   *list[api.Redemption]
	titles     *titles     // of the perks that were redeemed
	order      api.SortKey // of the perks that can be redeemed
	layout     layout
	at         int // the tab that is shown
	marked     screen.Marks
	detail     *detail // of a redemption, nil if the lists are shown
	remembered bool
}

// The tabs.
const (
	atAvailable = iota
	atRedeemed
)

// New makes the screen. Without an id it asks for one.
func New(shell *screen.Shell, route screen.ToUser) *Screen {
	s := &Screen{shell: shell, id: route.ID, titles: &titles{known: map[string]string{}}, order: screen.DefaultOrder()}
	for i := range s.titles.readers {
		s.titles.readers[i] = screen.NewLoader[api.Perk](shell)
	}
	if route.Redeemed {
		s.at = atRedeemed
	}
	perks, redemptions := s.perkColumns(), s.redemptionColumns()
	s.available = &list[api.Perk]{
		loader: screen.NewLoader[api.Page[api.Perk]](shell), table: widget.NewTable(shell.Theme, perks.Drawn()...), columns: perks,
		now: shell.Now, name: "Available", one: "perk", many: "perks", line: s.perkLine,
		id:     func(p api.Perk) string { return p.ID },
		marked: func(p api.Perk) bool { return s.marked.Has(p.ID) },
		muted:  func(api.Perk) bool { return false },
		fetch: func(page int64) screen.Fetch[api.Page[api.Perk]] {
			sort := api.FormatSort([]api.SortKey{s.order})
			id, options := s.id, client.PerkListOptions{ListOptions: client.ListOptions{Page: page, PerPage: perPage, Sort: sort}}
			return func(ctx context.Context, c *client.Client) (api.Page[api.Perk], error) {
				return c.UserPerks(ctx, id, options)
			}
		},
	}
	s.redeemed = &list[api.Redemption]{
		loader: screen.NewLoader[api.Page[api.Redemption]](shell), table: widget.NewTable(shell.Theme, redemptions.Drawn()...), columns: redemptions,
		now: shell.Now, name: "Redeemed", one: "redemption", many: "redemptions", line: s.redemptionLine,
		id:     func(r api.Redemption) string { return r.ID },
		marked: func(api.Redemption) bool { return false },
		muted:  func(r api.Redemption) bool { return r.Status == api.StatusRejected },
		fetch: func(page int64) screen.Fetch[api.Page[api.Redemption]] {
			id, options := s.id, client.ListOptions{Page: page, PerPage: perPage}
			return func(ctx context.Context, c *client.Client) (api.Page[api.Redemption], error) {
				return c.UserRedemptions(ctx, id, options)
			}
		},
	}
	return s
}

func (s *Screen) Title() string {
	switch {
	case s.id == "":
		return "User"
	case s.detail != nil:
		return "Redemption " + display.Line(s.detail.redemption.ID) + " of user " + display.Line(s.id)
	}
	return "User " + display.Line(s.id)
}

// Init loads both tabs, so that both counts are known.
func (s *Screen) Init() tea.Cmd {
	if s.id == "" {
		return s.ask()
	}
	return s.eachTab(tab.start)
}

func (s *Screen) Update(msg tea.Msg) tea.Cmd {
	return s.settled(s.update(msg))
}

// settled lays out what has changed. While the redemptions are shown it reads what their perks are called.
func (s *Screen) settled(cmd tea.Cmd) tea.Cmd {
	if s.at == atRedeemed {
		cmd = tea.Batch(cmd, s.titles.read(s.redeemed.loader.Value.Data))
	}
	s.arrange()
	return cmd
}

func (s *Screen) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case recent:
		return s.askAmong(msg)
	case chosen:
		if msg.asker != s {
			return nil
		}
		s.id, s.at = msg.id, atAvailable
		return s.startAnew()
	case screen.Redeemed:
		if msg.UserID == s.id {
			s.marked = s.marked.Without(msg.PerkID)
		}
		return nil
	case screen.Revealed:
		return s.eachTab(tab.again)
	case screen.Reconnected:
		s.titles.retry(msg.Other)
		if msg.Other {
			return s.startAnew()
		}
		return s.eachTab(tab.again)
	case tea.MouseMsg:
		return s.mouse(msg)
	}
	s.titles.take(msg)
	cmd := s.eachTab(func(t tab) tea.Cmd { return t.take(msg) })
	if s.remembered || !s.available.loader.Has && !s.redeemed.loader.Has {
		return cmd
	}
	s.remembered = true // only now it is known that there is such a user
	return tea.Batch(cmd, s.shell.Remember(s.shell.Account.Profile, kind, s.id))
}

func (s *Screen) startAnew() tea.Cmd {
	for _, t := range s.tabs() {
		t.forget()
	}
	s.marked, s.detail, s.remembered = nil, nil, false
	if s.id == "" {
		return nil
	}
	return s.eachTab(tab.start)
}

func (s *Screen) Close() {
	s.available.loader.Cancel()
	s.redeemed.loader.Cancel()
	s.titles.cancel()
}

func (s *Screen) Form() *widget.Form { return nil }
func (s *Screen) Unsaved() string    { return "" }

// Offers depends on the tab: perks are redeemed, redemptions are looked at.
func (s *Screen) Offers() []actions.Offer {
	if s.detail != nil {
		return append(actions.Able(actions.OpenPerk, actions.CopyID, actions.Back), widget.Moves()...)
	}
	if s.id == "" {
		return actions.Able(actions.ForUser)
	}
	other := [...]string{atAvailable: "redeemed", atRedeemed: "available"}[s.at]
	row, rest := s.rowOffers()
	_, ok := s.available.chosen()
	noSort := unless(ok, "There are no perks to sort.")
	if s.at == atRedeemed {
		noSort = "Redemptions are always shown newest first."
	}
	rest = append(rest, actions.If(actions.ForUser, "").As("other user"), actions.If(actions.Sort, noSort), actions.If(actions.SortReverse, noSort))
	return slices.Concat(row, []actions.Offer{actions.If(actions.NextTab, "").As(other)}, s.tab().pageOffers(), rest, widget.Moves())
}

// rowOffers is what can be done with a row: what comes before the pages in the footer, and what after them.
func (s *Screen) rowOffers() (row, rest []actions.Offer) {
	if s.at == atRedeemed {
		_, ok := s.redeemed.chosen()
		why := unless(ok, "There is no redemption to look at.")
		return []actions.Offer{actions.If(actions.Open, why), actions.If(actions.OpenPerk, why)}, []actions.Offer{actions.If(actions.CopyID, why)}
	}
	_, ok := s.available.chosen()
	why := unless(ok, "There is no perk under the cursor.")
	noMarks := unless(len(s.marked) > 0, "Nothing is marked.")
	return []actions.Offer{s.marked.Offer(why), actions.If(actions.Open, why), actions.If(actions.Mark, why)},
		[]actions.Offer{actions.If(actions.CopyID, why), actions.If(actions.ClearMarks, noMarks)}
}

func unless(ok bool, why string) string {
	if ok {
		return ""
	}
	return why
}

func (s *Screen) Do(id actions.ID) tea.Cmd { return s.settled(s.do(id)) }

func (s *Screen) do(id actions.ID) tea.Cmd {
	if s.detail != nil {
		return s.doWithRedemption(id)
	}
	switch id {
	case actions.NextTab:
		s.at = (s.at + 1) % len(s.tabs())
		return nil
	case actions.ForUser:
		return s.ask()
	}
	if cmd, done := s.tab().do(id); done {
		return cmd
	}
	if s.at == atRedeemed {
		return s.doWithRedemption(id)
	}
	return s.doWithPerk(id)
}

func (s *Screen) doWithPerk(id actions.ID) tea.Cmd {
	perk, ok := s.available.chosen()
	switch id {
	case actions.Sort:
		return s.shell.Post(screen.PickOrder(screen.PerkOrders(), s.order, nil, s.sortBy))
	case actions.SortReverse:
		return s.sortBy(api.SortKey{Field: s.order.Field, Desc: !s.order.Desc})
	case actions.ClearMarks:
		s.marked = nil
		return nil
	case actions.Redeem:
		var under *api.Perk
		if ok {
			under = &perk
		}
		return s.marked.Redeem(s.shell, s.available.loader.Value.Data, under, s.id)
	}
	if !ok {
		return nil
	}
	switch id {
	case actions.Open:
		return s.shell.Open(screen.ToPerk{ID: perk.ID, Known: &perk, UserID: s.id})
	case actions.CopyID:
		return s.shell.Copy(perk.ID, "")
	case actions.Mark:
		s.marked = s.marked.Toggled(perk)
		s.available.table.Do(actions.Down)
	}
	return nil
}

func (s *Screen) sortBy(order api.SortKey) tea.Cmd {
	s.order = order
	return s.available.start()
}

// doWithRedemption is about the redemption that is looked at, or else the one under the cursor.
func (s *Screen) doWithRedemption(id actions.ID) tea.Cmd {
	redemption, ok := s.redeemed.chosen()
	if s.detail != nil {
		redemption, ok = s.detail.redemption, true
	}
	switch {
	case ok && id == actions.OpenPerk:
		return s.shell.Open(screen.ToPerk{ID: redemption.PerkID})
	case ok && id == actions.CopyID:
		return s.shell.Copy(redemption.ID, "")
	case s.detail != nil && id == actions.Back:
		s.detail = nil
	case s.detail != nil:
		s.detail.scroll.Do(id)
	case ok && id == actions.Open:
		s.detail = &detail{redemption: redemption}
	}
	return nil
}

func (s *Screen) Choose(row int) bool {
	if s.detail != nil || row < 1 || row > s.tab().state().rows {
		return false
	}
	s.tab().rows().SetCursor(row - 1)
	return true
}

func (s *Screen) mouse(event tea.MouseMsg) tea.Cmd {
	switch {
	case event.Button == tea.MouseButtonWheelDown:
		return screen.Roll(s.Do, actions.Down)
	case event.Button == tea.MouseButtonWheelUp:
		return screen.Roll(s.Do, actions.Up)
	case event.Button != tea.MouseButtonLeft || event.Action != tea.MouseActionPress || s.detail != nil || s.id == "":
		return nil
	}
	if event.Y == 0 && s.layout.tabs > 0 {
		if at, ok := widget.TabAt(s.width, s.labels(), s.at, event.X); ok {
			s.at = at
		}
		return nil
	}
	rows := s.tab().rows()
	row, ok := rows.RowAt(event.Y - s.layout.body)
	if !ok || s.tab().state().rows == 0 {
		return nil
	}
	if row == rows.Cursor() {
		return s.Do(actions.Open)
	}
	rows.SetCursor(row)
	return nil
}
