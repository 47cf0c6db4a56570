package user

import (
	"fmt"
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

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
	tab, user := actions.If(actions.NextTab, "").As(other), actions.If(actions.ForUser, "").As("other user")
	return slices.Concat(row, []actions.Offer{tab}, s.tab().pageOffers(), rest, []actions.Offer{user}, s.sortOffers(), widget.Moves())
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
	row = []actions.Offer{
		s.marked.Offer(why), actions.If(actions.Open, why),
		actions.If(actions.Mark, why),
	}
	return row, []actions.Offer{
		actions.If(actions.CopyID, why),
		actions.If(actions.ClearMarks, unless(len(s.marked) > 0, "Nothing is marked.")),
	}
}

func (s *Screen) sortOffers() []actions.Offer {
	_, ok := s.available.chosen()
	why := unless(ok, "There are no perks to sort.")
	if s.at == atRedeemed {
		why = "Redemptions are always shown newest first."
	}
	return []actions.Offer{actions.If(actions.Sort, why), actions.If(actions.SortReverse, why)}
}

func unless(ok bool, why string) string {
	if ok {
		return ""
	}
	return why
}

// Do carries out an action.
func (s *Screen) Do(id actions.ID) tea.Cmd {
	defer s.arrange()
	cmd := s.do(id)
	return tea.Batch(cmd, s.readTitles())
}

func (s *Screen) do(id actions.ID) tea.Cmd {
	if s.detail != nil {
		return s.doInDetail(id)
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
		return s.copy(perk.ID)
	case actions.Mark:
		s.marked = s.marked.Toggled(perk)
		s.available.table.Do(actions.Down)
	}
	return nil
}

// sortBy loads the perks in another order, from the first page on.
func (s *Screen) sortBy(order api.SortKey) tea.Cmd {
	s.order = order
	return s.available.start()
}

func (s *Screen) doWithRedemption(id actions.ID) tea.Cmd {
	redemption, ok := s.redeemed.chosen()
	if !ok {
		return nil
	}
	switch id {
	case actions.Open:
		s.detail = &detail{redemption: redemption}
	case actions.OpenPerk:
		return s.shell.Open(screen.ToPerk{ID: redemption.PerkID})
	case actions.CopyID:
		return s.copy(redemption.ID)
	}
	return nil
}

func (s *Screen) doInDetail(id actions.ID) tea.Cmd {
	switch id {
	case actions.Back:
		s.detail = nil
	case actions.OpenPerk:
		return s.shell.Open(screen.ToPerk{ID: s.detail.redemption.PerkID})
	case actions.CopyID:
		return s.copy(s.detail.redemption.ID)
	default:
		s.detail.scroll.Do(id)
	}
	return nil
}

// Choose puts the cursor on a row of the page that is shown.
func (s *Screen) Choose(row int) bool {
	if s.detail != nil || row < 1 || row > s.tab().state().rows {
		return false
	}
	s.tab().rows().SetCursor(row - 1)
	return true
}

func (s *Screen) copy(id string) tea.Cmd {
	desktop := s.shell.Desktop
	return func() tea.Msg {
		if err := desktop.Copy(id); err != nil {
			return screen.Toast{Kind: screen.Failure, Text: screen.Sentence("The id "+display.Line(id)+" was not copied: ", err)}
		}
		return screen.Toast{Kind: screen.Done, Text: fmt.Sprintf("The id %s is on the clipboard.", display.Line(id))}
	}
}

// The rows that one step of the mouse's wheel moves.
const wheelStep = 3

func (s *Screen) mouse(event tea.MouseMsg) tea.Cmd {
	switch {
	case event.Button == tea.MouseButtonWheelDown:
		return s.roll(actions.Down)
	case event.Button == tea.MouseButtonWheelUp:
		return s.roll(actions.Up)
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

func (s *Screen) roll(id actions.ID) tea.Cmd {
	var cmds []tea.Cmd
	for range wheelStep {
		cmds = append(cmds, s.Do(id))
	}
	return tea.Batch(cmds...)
}
