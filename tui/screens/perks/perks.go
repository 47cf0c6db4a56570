// Package perks is the list of perks: filtered while one types, sorted, page by page, with marks for what is to be redeemed.
//
// It knows no other screen. What the service can filter and sort by it has from the contract in api.
package perks

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

// Screen is the screen.
type Screen struct {
	shell         *screen.Shell
	width, height int

	form   *widget.Form
	typing bool // the form is open

	want    query // what the list is to show: of the form, unless that holds something wrong
	page    int64 // likewise
	landing landing
	list    *screen.Loader[batch]
	ahead   *screen.Loader[batch] // loads the page behind the one that is shown
	aheadOf int64                 // the page that ahead loads
	awaited bool                  // that page is the one to show, as soon as it comes
	settled bool                  // what is wanted was loaded, or could not be
	known   map[int64]kept        // pages of the same list that were loaded before

	table      *widget.Table
	shown      []api.Perk // what the rows show
	rows       []widget.Row
	rowsFrom   time.Time // when the rows were put into words, which hold how many days are left
	tableTop   int       // the line of the view that the table begins at
	tableWidth int
	titleMin   int

	marks screen.Marks

	categories     *screen.Loader[[]api.Category]
	categoriesWait bool // they are to be chosen from as soon as they come

	preview    bool   // shown where there is room
	previewOf  string // the perk that it shows
	previewTop int    // the first line of it that is seen
}

// New makes the screen.
func New(shell *screen.Shell) *Screen {
	s := &Screen{
		shell:      shell,
		want:       query{order: screen.DefaultOrder()},
		page:       1,
		list:       screen.NewLoader[batch](shell),
		ahead:      screen.NewLoader[batch](shell),
		known:      map[int64]kept{},
		table:      widget.NewTable(shell.Theme, columns(goodTitle)...),
		categories: screen.NewLoader[[]api.Category](shell),
		preview:    true,
		titleMin:   goodTitle,
	}
	s.form = s.newForm()
	return s
}

// Title names the screen.
func (s *Screen) Title() string { return "Perks" }

// Init begins to load the first page.
func (s *Screen) Init() tea.Cmd { return s.reload() }

// Close gives up what is being loaded.
func (s *Screen) Close() {
	s.list.Cancel()
	s.ahead.Cancel()
	s.categories.Cancel()
}

// Resize sets the room.
func (s *Screen) Resize(width, height int) {
	s.width, s.height = width, height
	s.arrange()
}

// Form returns the filter while it is typed.
func (s *Screen) Form() *widget.Form {
	if s.typing {
		return s.form
	}
	return nil
}

// Unsaved says nothing: marks are soon made again, and asking about them at each end would be a nuisance.
func (s *Screen) Unsaved() string { return "" }

// Update takes a message.
func (s *Screen) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case screen.Edited:
		return s.follow()
	case screen.Reconnected:
		return s.reconnect(msg)
	case screen.Redeemed:
		s.setMarks(s.marks.Without(msg.PerkID))
		return nil
	case tea.MouseMsg:
		return s.point(msg)
	}
	next, changed := s.list.Take(msg)
	if changed {
		return s.arrived()
	}
	ahead, changed := s.ahead.Take(msg)
	if changed {
		return s.arrivedAhead()
	}
	categories, changed := s.categories.Take(msg)
	if changed {
		return s.arrivedCategories()
	}
	return tea.Batch(next, ahead, categories)
}

func (s *Screen) reconnect(msg screen.Reconnected) tea.Cmd {
	if msg.Other {
		s.list.Reset()
		s.categories.Reset()
		s.marks, s.page = nil, 1
		s.show()
	}
	if s.categoriesWait = false; s.categories.Err != nil {
		s.categories.Reset()
	}
	return s.reload()
}

var (
	_ screen.Screen  = (*Screen)(nil)
	_ screen.Chooser = (*Screen)(nil)
)
