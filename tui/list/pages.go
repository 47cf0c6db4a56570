package list

import (
	"cmp"
	"fmt"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
)

// PerPage is how many rows are asked for at a time: more than most terminals are high, and half of what the service
// allows.
const PerPage = 50

// readPage reads a page of a list, or the last page of one that has become shorter. The page has a number and a count,
// even if the service says neither: then there is at least what was seen, and more after a full page.
func readPage[T any](number int64, read func(page int64) (api.Page[T], error)) (api.Page[T], error) {
	page, err := read(number)
	if pages := page.Meta.TotalPages; err == nil && len(page.Data) == 0 && 0 < pages && pages < number {
		number = pages
		page, err = read(number)
	}
	isEnd := false
	for err == nil && len(page.Data) == 0 && number > 1 && (page.Meta.MoreThan > 0 || page.Meta == (api.PageMeta{})) {
		isEnd = page.Meta.MoreThan == 0
		number--
		page, err = read(number)
	}
	meta := &page.Meta
	meta.Page, meta.PerPage = cmp.Or(meta.Page, number), cmp.Or(meta.PerPage, PerPage)
	items := len(page.Data) + len(page.LeftOut)
	switch seen := (meta.Page-1)*int64(meta.PerPage) + int64(items); {
	case err != nil || meta.MoreThan > 0 || meta.TotalPages > 0:
	case meta.Total > 0:
		*meta = api.NewPageMeta(meta.Page, meta.PerPage, meta.Total)
	case page.Next != "", items >= meta.PerPage && !isEnd:
		meta.MoreThan = seen
	default:
		*meta = api.NewPageMeta(meta.Page, meta.PerPage, seen)
	}
	return page, err
}

// mayFollow tells whether there is, or may be, a page after one of a list that is not counted to its end.
func mayFollow[T any](page api.Page[T]) bool {
	return page.Next != "" || page.Meta.MoreThan == page.Meta.Page*int64(page.Meta.PerPage)
}

// landing is where the cursor goes when a page is loaded.
type landing int

const (
	onSame landing = iota // on the same row; at the same position if that row is gone
	onFirst
	onLast
)

// pages returns the page that is shown or loading, the last one that can be read so far, and why it is not known which
// is the last of the list; "" if it is. There is no last page while another list is shown than the one that is wanted.
func (l *List[F, T]) pages() (at, last int64, ends string) {
	page := l.loader.Value.page
	if at = page.Meta.Page; l.IsBusy() {
		at = l.page
	}
	if !l.isWanted() {
		return at, 0, ""
	}
	if page.Meta.MoreThan > 0 {
		ends = fmt.Sprintf("Only %s are counted. ", display.Count(page.Meta.MoreThan)) + l.otherEnd()
	}
	return at, lastPage(page), ends
}

// lastPage is the last page of a list, or the one after the page while more of them are not counted.
func lastPage[T any](page api.Page[T]) int64 {
	switch {
	case page.Meta.MoreThan == 0:
		return page.Meta.TotalPages
	case mayFollow(page):
		return page.Meta.Page + 1
	}
	return page.Meta.Page
}

// otherEnd says how to get to the end of a list that is not counted.
func (l *List[F, T]) otherEnd() string {
	if l.OneWay {
		return l.shell.Key(actions.Filter) + " finds the others."
	}
	return l.shell.Key(actions.SortReverse) + " starts at the other end."
}

// whyNoPage says why there is no previous, next or last page; "" if there is.
func (l *List[F, T]) whyNoPage() (previous, next, last string) {
	at, end, ends := l.pages()
	switch {
	case !l.isWanted():
		return notLoaded, notLoaded, notLoaded
	case at >= end && l.IsBusy() && ends != "":
		next = "The page before it is loading."
	case at >= end:
		next = "This is the last page."
	}
	if at <= 1 {
		previous = "This is the first page."
	}
	return previous, next, cmp.Or(next, ends)
}

// move moves the cursor, past the ends of a page to the next or previous page.
func (l *List[F, T]) move(id actions.ID) tea.Cmd {
	at, last, ends := l.pages()
	page, to, before := at, onFirst, l.table.Cursor()
	switch id {
	case actions.NextPage:
		page++
	case actions.PreviousPage:
		page--
	case actions.FirstPage:
		page = 1
	case actions.LastPage: // and to its end: the last row is what people want to see there
		page, to = last, onLast
	default:
		if ends != "" && id == actions.Bottom && before == l.table.Len()-1 && at < last {
			return screen.Tell(screen.Note, "%s", ends)
		}
		l.table.Do(id)
		switch {
		case l.IsBusy() || l.table.Cursor() != before: // keys meant for this page do not skip the page that is loading
		case id == actions.Down || id == actions.PageDown:
			page++
		case id == actions.Up || id == actions.PageUp:
			page, to = page-1, onLast
		case id == actions.Top:
			page = 1
		case id == actions.Bottom:
			page, to = last, onLast
		}
	}
	if page == at || page < 1 || page > last {
		return nil
	}
	return l.goTo(page, to)
}
