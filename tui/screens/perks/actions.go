package perks

import (
	"context"
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

// Reasons why something cannot be done now.
const (
	noPerk      = "There is no perk here."
	noList      = "The list is not loaded yet."
	needsWindow = "The window is too narrow: 100 columns needed."
)

func (s *List) Offers() []actions.Offer {
	if s.typing {
		submit := actions.EnabledUnless(actions.Submit, "").WithHint("to the list")
		if s.typedID() != "" {
			submit = submit.WithHint("open perk")
		}
		leave := actions.EnabledUnless(actions.Cancel, "").WithHint("leave")
		return append([]actions.Offer{submit, leave}, actions.Enabled(actions.NextField, actions.PreviousField)...)
	}
	perk, marked, filtered, preview, redeem := "", "", "There is no filter.", "", noPerk
	if len(s.shown) == 0 {
		perk = noPerk
	}
	open := perk
	if s.typedID() != "" {
		open = ""
	}
	if current := s.current(); current != nil {
		redeem = screen.NotRedeemableReason(current, s.shell.Now())
	}
	if len(s.marks) == 0 {
		marked = "No perk is marked."
	}
	for _, value := range s.form.Values() {
		if value != "" { // valid or not
			filtered = ""
		}
	}
	if s.width < previewFrom {
		preview = needsWindow
	}
	back, on := s.pages().WhyNot()
	if !s.isWanted() {
		back, on = noList, noList
	}
	return append([]actions.Offer{
		actions.EnabledUnless(actions.Open, open), actions.EnabledUnless(actions.Filter, ""), s.marks.Offer(redeem), actions.EnabledUnless(actions.ClearFilter, filtered),
		actions.EnabledUnless(actions.NextPage, on), actions.EnabledUnless(actions.Mark, s.whyNotMark()), actions.EnabledUnless(actions.Sort, ""), actions.EnabledUnless(actions.CopyID, perk),
		actions.EnabledUnless(actions.Category, ""), actions.EnabledUnless(actions.SortReverse, ""), actions.EnabledUnless(actions.Expired, ""), actions.EnabledUnless(actions.ClearMarks, marked),
		actions.EnabledUnless(actions.Preview, preview), actions.EnabledUnless(actions.PreviewDown, s.whyNotPreview()), actions.EnabledUnless(actions.PreviewUp, s.whyNotPreview()),
		actions.EnabledUnless(actions.PreviousPage, back), actions.EnabledUnless(actions.FirstPage, back), actions.EnabledUnless(actions.LastPage, on),
	}, widget.Moves()...)
}

// Do no longer waits for categories that were requested before.
func (s *List) Do(id actions.ID) tea.Cmd {
	s.categoriesWait = false
	switch id {
	case actions.Filter:
		return s.openFilter()
	case actions.Submit:
		if s.typedID() != "" {
			return tea.Batch(s.leaveFilter(true), s.open())
		}
		return s.leaveFilter(true)
	case actions.Cancel:
		return s.leaveFilter(false)
	case actions.ClearFilter:
		return s.showQuery(query{order: s.want.order, PerkFilter: api.PerkFilter{IncludeExpired: s.want.IncludeExpired}})
	case actions.Category:
		return s.chooseCategory()
	case actions.Sort:
		return s.chooseOrder()
	case actions.SortReverse:
		return s.reverse()
	case actions.Expired:
		changed := s.want
		changed.IncludeExpired = !changed.IncludeExpired
		return s.showQuery(changed)
	case actions.Mark:
		if perk := s.current(); perk != nil {
			s.setMarks(s.marks.Toggled(*perk))
		}
	case actions.ClearMarks:
		s.setMarks(nil)
	case actions.Preview:
		s.preview = !s.preview
		s.layout()
	case actions.PreviewDown:
		s.scrollPreview(1)
	case actions.PreviewUp:
		s.scrollPreview(-1)
	case actions.Redeem:
		perk := s.current()
		if perk != nil && screen.NotRedeemableReason(perk, s.shell.Now()) != "" {
			perk = nil
		}
		return s.marks.Redeem(s.shell, s.shown, perk, "")
	case actions.Open:
		return s.open()
	case actions.CopyID:
		if perk := s.current(); perk != nil {
			return s.shell.Copy(perk.ID, "")
		}
	default:
		return s.move(id)
	}
	return nil
}

func (s *List) open() tea.Cmd {
	if id := s.typedID(); id != "" {
		return s.shell.Open(screen.ToPerk{ID: id})
	}
	perk := s.current()
	if perk == nil {
		return nil
	}
	return s.shell.Open(screen.ToPerk{ID: perk.ID, Known: perk})
}

// maxMarks is how many perks a person can review before redeeming them.
const maxMarks = 100

func (s *List) setMarks(marks screen.Marks) {
	s.marks = marks
	for i := range s.rows {
		s.rows[i].Marked = marks.Has(s.shown[i].ID)
	}
	s.table.SetRows(s.rows)
}

// whyNotMark says why the perk under the cursor cannot be marked; "" if it can.
func (s *List) whyNotMark() string {
	perk := s.current()
	switch {
	case perk == nil:
		return noPerk
	case len(s.marks) >= maxMarks && !s.marks.Has(perk.ID):
		return fmt.Sprintf("At most %d perks can be marked. Redeem them first, or clear marks.", maxMarks)
	}
	return ""
}

// chooseCategory loads the categories once, and asks for one.
func (s *List) chooseCategory() tea.Cmd {
	if s.categories.Has {
		return s.pickCategory()
	}
	s.categoriesWait = true
	if s.categories.Busy() {
		return nil
	}
	return s.categories.Load(func(ctx context.Context, c *client.Client) ([]api.Category, error) { return c.Categories(ctx) })
}

func (s *List) handleCategories() tea.Cmd {
	wait := s.categoriesWait
	s.categoriesWait = false
	switch {
	case s.categories.Err != nil:
		return screen.Tell(screen.Failure, "%s", screen.Sentence("The categories were not loaded: ", s.categories.Err))
	case wait && !s.typing:
		return s.pickCategory()
	}
	return nil
}

func (s *List) pickCategory() tea.Cmd {
	names := []string{""}
	pick := screen.Pick{Title: "Category", Options: []string{"All categories"}}
	for _, category := range s.categories.Value {
		if s.want.Category != "" && (strings.EqualFold(category.Name, s.want.Category) || category.ID == s.want.Category) {
			pick.Current = len(names)
		}
		names = append(names, category.Name)
		pick.Options = append(pick.Options, display.Line(category.Name))
	}
	pick.Then = func(index int) tea.Cmd {
		changed := s.want
		changed.Category = names[index]
		return s.showQuery(changed)
	}
	return s.shell.Post(pick)
}
