// Package user is the screen of a user: the perks that they can redeem, and their redemptions.
package user

import (
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
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
	remembered bool
	available  *tab
	redeemed   *tab
	tab        *tab // the one that is shown
	columns    screen.Columns[api.Perk]
	order      api.SortKey // of the perks that can be redeemed
	marks      screen.Marks
	titles     titles // of the perks that were redeemed
	layout     layout

	detail *api.Redemption // shown with all its fields; nil while the tabs are shown
	scroll widget.Scroll   // of the detail
}

// New makes the screen. Without an id it asks for one.
func New(shell *screen.Shell, route screen.ToUser) *Screen {
	s := &Screen{shell: shell, id: route.ID, titles: newTitles(), order: screen.DefaultOrder()}
	s.available, s.redeemed = s.availableTab(), s.redeemedTab()
	if s.tab = s.available; route.Redeemed {
		s.tab = s.redeemed
	}
	return s
}

func (s *Screen) Title() string {
	switch {
	case s.id == "":
		return "User"
	case s.detail != nil:
		return "Redemption " + display.Line(s.detail.ID) + " of user " + display.Line(s.id)
	}
	return "User " + display.Line(s.id)
}

// Init loads both tabs, so that both counts are known.
func (s *Screen) Init() tea.Cmd {
	if s.id == "" {
		return s.askUser()
	}
	return s.eachTab((*tab).start)
}

func (s *Screen) eachTab(do func(*tab) tea.Cmd) tea.Cmd {
	return tea.Batch(do(s.available), do(s.redeemed))
}

func (s *Screen) Update(msg tea.Msg) tea.Cmd { return s.afterUpdate(s.update(msg)) }

// afterUpdate lays out what has changed. While the redemptions are shown, it reads the titles of their perks.
func (s *Screen) afterUpdate(cmd tea.Cmd) tea.Cmd {
	if s.tab == s.redeemed {
		cmd = tea.Batch(cmd, s.titles.read(s.shell, s.redeemed.loader.Value.redemptions))
	}
	s.arrange()
	return cmd
}

func (s *Screen) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case screen.Recent:
		if msg.Of == s {
			return s.pickUser(msg.IDs)
		}
		return nil
	case screen.Redeemed:
		if msg.UserID == s.id {
			s.marks = s.marks.Without(msg.PerkID)
		}
		return nil
	case screen.Revealed:
		return s.eachTab((*tab).reload)
	case screen.Reconnected:
		s.titles.retry()
		return s.eachTab((*tab).reload)
	case tea.MouseMsg:
		return s.mouse(msg)
	}
	s.titles.take(msg)
	cmd := s.eachTab(func(t *tab) tea.Cmd { return t.take(msg) })
	if s.remembered || !s.available.loader.Has && !s.redeemed.loader.Has {
		return cmd
	}
	s.remembered = true // only now do we know that the user exists
	return tea.Batch(cmd, s.shell.Remember(s.shell.Account.Profile, kind, s.id))
}

func (s *Screen) reset() tea.Cmd {
	for _, t := range []*tab{s.available, s.redeemed} {
		t.loader.Reset()
		t.asked = 0
	}
	s.marks, s.detail, s.remembered = nil, nil, false
	if s.id == "" {
		return nil
	}
	return s.eachTab((*tab).start)
}

func (s *Screen) Close() {
	s.available.loader.Cancel()
	s.redeemed.loader.Cancel()
	s.titles.cancel()
}

func (s *Screen) Form() *widget.Form { return nil }
func (s *Screen) Unsaved() string    { return "" }

func (s *Screen) Offers() []actions.Offer {
	switch {
	case s.detail != nil:
		return append(actions.Enabled(actions.OpenPerk, actions.CopyID, actions.Back), widget.Moves()...)
	case s.id == "":
		return actions.Enabled(actions.ForUser)
	}
	other, noRow, noSort := "redeemed", "There is no perk under the cursor.", ""
	if s.tab == s.redeemed {
		other, noRow, noSort = "available", "There is no redemption here.", "Redemptions are always shown newest first."
	}
	if s.tab.selected() >= 0 {
		noRow = ""
	} else if s.tab == s.available {
		noSort = "There are no perks to sort."
	}
	row, rest := []actions.Offer{actions.EnabledUnless(actions.Open, noRow), actions.EnabledUnless(actions.OpenPerk, noRow)}, []actions.Offer{actions.EnabledUnless(actions.CopyID, noRow)}
	if s.tab == s.available {
		noMarks := ""
		if len(s.marks) == 0 {
			noMarks = "Nothing is marked."
		}
		row = []actions.Offer{s.marks.Offer(noRow), actions.EnabledUnless(actions.Open, noRow), actions.EnabledUnless(actions.Mark, noRow)}
		rest = append(rest, actions.EnabledUnless(actions.ClearMarks, noMarks))
	}
	back, on := s.tab.pages().WhyNot()
	return slices.Concat(row, []actions.Offer{
		actions.EnabledUnless(actions.NextTab, "").WithHint(other),
		actions.EnabledUnless(actions.NextPage, on), actions.EnabledUnless(actions.PreviousPage, back), actions.EnabledUnless(actions.FirstPage, back), actions.EnabledUnless(actions.LastPage, on),
	}, rest, []actions.Offer{
		actions.EnabledUnless(actions.ForUser, "").WithHint("other user"), actions.EnabledUnless(actions.Sort, noSort), actions.EnabledUnless(actions.SortReverse, noSort),
	}, widget.Moves())
}

func (s *Screen) Do(id actions.ID) tea.Cmd { return s.afterUpdate(s.do(id)) }

func (s *Screen) do(id actions.ID) tea.Cmd {
	if s.detail != nil {
		return s.doWithRedemption(id)
	}
	switch id {
	case actions.NextTab:
		s.switchTab()
		return nil
	case actions.ForUser:
		return s.askUser()
	}
	if cmd, moves := s.tab.pages().Do(id); moves {
		return cmd
	}
	if s.tab == s.redeemed {
		return s.doWithRedemption(id)
	}
	return s.doWithPerk(id)
}

// switchTab shows the other tab.
func (s *Screen) switchTab() {
	if s.tab == s.available {
		s.tab = s.redeemed
	} else {
		s.tab = s.available
	}
}

func (s *Screen) doWithPerk(id actions.ID) tea.Cmd {
	var perk *api.Perk
	if row := s.available.selected(); row >= 0 {
		perk = &s.available.loader.Value.perks[row]
	}
	switch {
	case id == actions.Sort:
		return s.shell.Post(screen.PickOrder(screen.PerkOrders(), s.order, nil, s.sortBy))
	case id == actions.SortReverse:
		return s.sortBy(api.SortKey{Field: s.order.Field, Desc: !s.order.Desc})
	case id == actions.ClearMarks:
		s.marks = nil
	case id == actions.Redeem:
		return s.marks.Redeem(s.shell, s.available.loader.Value.perks, perk, s.id)
	case perk == nil:
	case id == actions.Open:
		return s.shell.Open(screen.ToPerk{ID: perk.ID, Known: perk, UserID: s.id})
	case id == actions.CopyID:
		return s.shell.Copy(perk.ID, "")
	case id == actions.Mark:
		s.marks = s.marks.Toggled(*perk)
		s.available.table.Do(actions.Down)
	}
	return nil
}

func (s *Screen) sortBy(order api.SortKey) tea.Cmd {
	s.order = order
	return s.available.start()
}

// doWithRedemption is about the redemption in the detail, or under the cursor.
func (s *Screen) doWithRedemption(id actions.ID) tea.Cmd {
	redemption := s.detail
	if row := s.redeemed.selected(); redemption == nil && row >= 0 {
		redemption = &s.redeemed.loader.Value.redemptions[row]
	}
	switch {
	case redemption == nil:
	case id == actions.OpenPerk:
		return s.shell.Open(screen.ToPerk{ID: redemption.PerkID})
	case id == actions.CopyID:
		return s.shell.Copy(redemption.ID, "")
	case s.detail == nil && id == actions.Open:
		s.detail, s.scroll = redemption, widget.Scroll{}
	case s.detail != nil && id == actions.Back:
		s.detail = nil
	case s.detail != nil:
		s.scroll.Do(id)
	}
	return nil
}

func (s *Screen) Choose(row int) bool {
	if s.detail != nil || row < 1 || row > s.tab.loader.Value.len() {
		return false
	}
	s.tab.table.SetCursor(row - 1)
	return true
}

func (s *Screen) mouse(event tea.MouseMsg) tea.Cmd {
	switch {
	case event.Button == tea.MouseButtonWheelDown:
		return screen.ScrollWheel(s.Do, actions.Down)
	case event.Button == tea.MouseButtonWheelUp:
		return screen.ScrollWheel(s.Do, actions.Up)
	case event.Button != tea.MouseButtonLeft || event.Action != tea.MouseActionPress || s.detail != nil || s.id == "":
		return nil
	}
	if event.Y == 0 && s.layout.tabs > 0 {
		if at, ok := widget.TabAt(s.width, s.labels(), s.at(), event.X); ok && at != s.at() {
			s.switchTab()
		}
		return nil
	}
	row, ok := s.tab.table.RowAt(event.Y - s.layout.body)
	if !ok || s.tab.loader.Value.len() == 0 {
		return nil
	}
	if row == s.tab.table.Cursor() {
		return s.Do(actions.Open)
	}
	s.tab.table.SetCursor(row)
	return nil
}

// kind is the kind of the ids that are remembered.
const kind = "user"

// askUser asks which user to show: a recent one, or another.
func (s *Screen) askUser() tea.Cmd { return s.shell.Recent(s, s.shell.Account.Profile, kind) }

func (s *Screen) pickUser(recent []string) tea.Cmd {
	ids := slices.DeleteFunc(slices.Clone(recent), func(id string) bool { return id == s.id || api.UserIDRule(id) != "" })
	return s.shell.PickID("Which user?", ids, "Another user ...", screen.Prompt{
		Title: "Which user?",
		Field: widget.Field{Name: "user_id", Label: "User id", Hint: "such as alice", Check: api.UserIDRule},
		Then: func(id string) tea.Cmd {
			s.id, s.tab = id, s.available
			return s.reset()
		},
		OnCancel: func() tea.Cmd { // close the screen, unless it shows a user already
			if s.id != "" {
				return nil
			}
			return s.shell.Post(screen.Back{From: s})
		},
	})
}
