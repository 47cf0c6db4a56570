package perks

import (
	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

// Reasons why something cannot be done now.
const (
	noPerk      = "There is no perk here."
	noMark      = "No perk is marked."
	noFilter    = "There is no filter."
	noList      = "The list is not there yet."
	lastPage    = "This is the last page."
	firstPage   = "This is the first page."
	needsWindow = "The window is too narrow: it takes 100 columns."
)

// Offers is what can be done with the list, or with the filter while it is typed.
func (s *Screen) Offers() []actions.Offer {
	if s.typing {
		submit := actions.If(actions.Submit, "").As("to the list")
		if s.typedID() != "" {
			submit = submit.As("open perk")
		}
		leave := actions.If(actions.Cancel, "").As("leave") // it keeps the filter
		return append([]actions.Offer{submit, leave}, actions.Able(actions.NextField, actions.PreviousField)...)
	}
	perk, marked, filtered := "", "", ""
	if len(s.shown) == 0 {
		perk = noPerk
	}
	open := perk
	if s.typedID() != "" {
		open = ""
	}
	if len(s.marks) == 0 {
		marked = noMark
	}
	if !s.isFilled() {
		filtered = noFilter
	}
	preview := ""
	if s.width < previewFrom {
		preview = needsWindow
	}
	back, on := s.whyNoPage()
	return append([]actions.Offer{
		actions.If(actions.Open, open),
		actions.If(actions.Filter, ""),
		s.marks.Offer(s.whyNotCurrent()),
		actions.If(actions.ClearFilter, filtered),
		actions.If(actions.NextPage, on),
		actions.If(actions.Mark, s.whyNoMark()),
		actions.If(actions.Sort, ""),
		actions.If(actions.CopyID, perk),
		actions.If(actions.Category, ""),
		actions.If(actions.SortReverse, ""),
		actions.If(actions.Expired, ""),
		actions.If(actions.ClearMarks, marked),
		actions.If(actions.Preview, preview),
		actions.If(actions.PreviewDown, s.whyNoPreview()),
		actions.If(actions.PreviewUp, s.whyNoPreview()),
		actions.If(actions.PreviousPage, back),
		actions.If(actions.FirstPage, back),
		actions.If(actions.LastPage, on),
	}, widget.Moves()...)
}

// Do carries out an action. Categories that were asked for before are not waited for any more.
func (s *Screen) Do(id actions.ID) tea.Cmd {
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
		return s.clearFilter()
	case actions.Category:
		return s.chooseCategory()
	case actions.Sort:
		return s.chooseOrder()
	case actions.SortReverse:
		return s.reverse()
	case actions.Expired:
		return s.toggleExpired()
	case actions.Mark:
		s.mark()
	case actions.ClearMarks:
		s.setMarks(nil)
	case actions.Preview:
		s.preview = !s.preview
		s.arrange()
	case actions.PreviewDown:
		s.scrollPreview(1)
	case actions.PreviewUp:
		s.scrollPreview(-1)
	case actions.Redeem:
		return s.redeem()
	case actions.Open:
		return s.open()
	case actions.CopyID:
		return s.copyID()
	case actions.NextPage:
		return s.turn(s.here()+1, onFirst)
	case actions.PreviousPage:
		return s.turn(s.here()-1, onFirst)
	case actions.FirstPage:
		return s.turn(1, onFirst)
	case actions.LastPage:
		return s.turn(s.pages(), onFirst)
	default:
		return s.move(id)
	}
	return nil
}

// move moves the cursor; past the ends of the page it goes on to the next one or the one before.
func (s *Screen) move(id actions.ID) tea.Cmd {
	back, on := s.whyNoPage()
	switch {
	case s.isBusy(): // the page that is coming has not been seen: keys that were meant for this one do not skip it
	case (id == actions.Down || id == actions.PageDown) && s.table.Cursor() >= len(s.rows)-1 && on == "":
		return s.turn(s.here()+1, onFirst)
	case (id == actions.Up || id == actions.PageUp) && s.table.Cursor() == 0 && back == "":
		return s.turn(s.here()-1, onLast)
	}
	s.table.Do(id)
	return nil
}

// here is the page from which others are counted: the one that is shown, or on its way.
func (s *Screen) here() int64 {
	if s.isBusy() {
		return s.page
	}
	return s.list.Value.page.Meta.Page
}

func (s *Screen) turn(page int64, land landing) tea.Cmd {
	return s.goTo(max(1, min(page, s.pages())), land)
}

// whyNoPage is why one cannot go back and on.
func (s *Screen) whyNoPage() (back, on string) {
	if !s.list.Has || s.list.Value.query != s.want {
		return noList, noList
	}
	if s.here() <= 1 {
		back = firstPage
	}
	if s.here() >= s.pages() {
		on = lastPage
	}
	return back, on
}

// isFilled tells whether there is a filter, or text of one that could not be asked for.
func (s *Screen) isFilled() bool {
	for _, value := range s.form.Values() {
		if value != "" {
			return true
		}
	}
	return false
}

func (s *Screen) toggleExpired() tea.Cmd {
	changed := s.want
	changed.expired = !changed.expired
	return s.ask(changed)
}

func (s *Screen) open() tea.Cmd {
	if id := s.typedID(); id != "" {
		return s.shell.Open(screen.ToPerk{ID: id})
	}
	perk, ok := s.current()
	if !ok {
		return nil
	}
	return s.shell.Open(screen.ToPerk{ID: perk.ID, Known: &perk})
}

func (s *Screen) copyID() tea.Cmd {
	perk, ok := s.current()
	if !ok {
		return nil
	}
	desktop := s.shell.Desktop
	return func() tea.Msg {
		if err := desktop.Copy(perk.ID); err != nil {
			return screen.Toast{Kind: screen.Failure, Text: screen.Sentence("The id could not be copied: ", err)}
		}
		return screen.Toast{Kind: screen.Done, Text: "The id " + display.Line(perk.ID) + " is on the clipboard."}
	}
}
