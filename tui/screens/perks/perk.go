package perks

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/api/operation"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/list"
	"example.com/perks/tui/record"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/theme"
	"example.com/perks/tui/widget"
)

// Detail is the screen of one perk.
type Detail struct {
	*record.Editor[string, api.PerkRecord, api.PerkPatch] // reads nothing unless the client may change perks

	known      *api.Perk // as the list has it
	user       string    // that it is to be redeemed for; "" for nobody
	read       *screen.Loader[api.Perk]
	stock      *screen.Loader[api.PerkStock] // fails where perks cannot be changed
	change     stockChange
	then       actions.ID // is done as soon as it can be; "" for nothing
	reads      int        // how often something was read
	remembered bool       // among those that were opened last
	made       *made      // shown once it was read
	madeTop    int        // the line on which it begins; -1 while it is not shown
	scroll     widget.Scroll
	facts      []string // cached: wrapping long texts for each frame is too slow
	of         factsOf
}

// factsOf is what the facts depend on.
type factsOf struct {
	recordAt time.Time
	known    *api.Perk
	reads    int
	validity string // it changes with time
	width    int
	theme    *theme.Theme
}

// NewDetail makes the screen. It shows the perk as the list has it until it is read.
func NewDetail(shell *screen.Shell, route screen.ToPerk) *Detail {
	s := &Detail{known: route.Known, user: route.UserID, then: route.Then,
		made: newMade(shell, route.ID),
		read: screen.NewLoader[api.Perk](shell), stock: screen.NewBackgroundLoader[api.PerkStock](shell),
		change: stockChange{sender: screen.NewSender[operation.ChangingStock](shell)}}
	s.Editor = record.NewEditor(shell, kind, route.ID, s, func(string) {})
	return s
}

// perk returns the perk; nil if it is not known.
func (s *Detail) perk() *api.Perk {
	if s.read.Has {
		return &s.read.Value
	}
	return s.known
}

func (s *Detail) perkTitle() string {
	if perk := s.perk(); perk != nil {
		return perk.Title
	}
	return s.ID
}

func (s *Detail) Title() string {
	return cmp.Or(s.Editor.Title(), "Perk "+display.Line(s.perkTitle()))
}

// Init reads the perk, even if the list has it: the list may be old. Who may change it also sees its stock.
func (s *Detail) Init() tea.Cmd {
	id := s.ID
	read := s.read.Load(func(ctx context.Context, c *client.Client) (api.Perk, error) { return c.Perk(ctx, id) })
	read = tea.Batch(read, s.made.Init())
	if c := s.Shell.Account.Client; c == nil || c.Lacks(api.ScopePerksWrite) {
		return read
	}
	return tea.Batch(read, s.stock.Load(func(ctx context.Context, c *client.Client) (api.PerkStock, error) {
		return c.PerkStock(ctx, id)
	}))
}

// reload reads all of it again.
func (s *Detail) reload() tea.Cmd { return tea.Batch(s.Init(), s.Record.Again()) }

func (s *Detail) Update(msg tea.Msg) tea.Cmd {
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case screen.Redeemed:
		if msg.PerkID == s.ID {
			cmd = s.Init()
		}
	case screen.Reconnected:
		cmd = s.Init()
	case screen.Changed:
		cmd = s.Init()
		s.made.ExpectNews()
	case screen.Revealed:
		return s.reload()
	case screen.Mouse:
		return s.mouse(msg)
	case screen.Edited: // only the record has a form
		return s.Editor.Update(msg)
	}
	if cmd == nil { // otherwise all is being read again
		made, decided := s.made.update(msg)
		if cmd = made; decided {
			return tea.Batch(cmd, s.Init())
		}
	}
	if sent, mine := s.change.sender.Handle(msg); mine {
		return s.handleStock(sent)
	}
	if next, changed := s.read.Handle(msg); changed {
		if s.reads++; !s.remembered && s.read.Has {
			s.remembered = true
			next = tea.Batch(next, s.Shell.RememberTitled(s.Shell.Account.Profile, kind.Name, s.read.Value.ID,
				s.read.Value.Title))
		}
		return next
	}
	if _, changed := s.stock.Handle(msg); changed {
		s.reads++
		if s.stock.Err == nil && !s.Record.Has {
			return tea.Batch(s.Load(), s.doThen())
		}
		return s.doThen()
	}
	edits := s.Page() != record.Viewing
	cmd = tea.Batch(cmd, s.Editor.Update(msg))
	if edits && s.Page() == record.Viewing { // it was saved
		cmd = tea.Batch(cmd, s.Init())
	}
	return tea.Batch(cmd, s.doThen())
}

// mouse scrolls, and gives the keyboard to what is clicked on.
func (s *Detail) mouse(at screen.Mouse) tea.Cmd {
	isList := s.madeTop >= 0 && at.Y >= s.madeTop
	switch {
	case s.Page() != record.Viewing:
		return nil
	case at.Wheel == "":
		s.made.take(isList)
	}
	if isList {
		at.Y -= s.madeTop
		return s.made.Redemptions.Update(at)
	}
	if at.Wheel == "" {
		return nil
	}
	return s.move(at.Wheel)
}

// doThen does what the screen was opened for, once that is possible or it is known why it is not.
func (s *Detail) doThen() tea.Cmd {
	failed := s.stock.Err != nil && !s.stock.Busy() || s.Record.Err != nil && !s.Record.Busy()
	if s.then == "" || !failed && s.whyNoEdit() != "" || s.Shell.IsCovered() {
		return nil
	}
	then := s.then
	s.then = ""
	return s.Shell.Post(screen.Perform{ID: then})
}

func (s *Detail) Close() {
	s.Editor.Close()
	s.read.Cancel()
	s.stock.Cancel()
	s.made.Close()
}

// Watches tells whether an event is about the perk, or about a redemption of it.
func (s *Detail) Watches(event api.Event) bool {
	isMade := event.Redemption != nil && event.Redemption.PerkID == s.ID
	return s.Editor.Watches(event) || isMade && s.Page() == record.Viewing
}

func (s *Detail) Unsaved() string {
	switch name := kind.Named(s.ShownID()); {
	case s.change.sender.Busy():
		return "The stock of " + name + " is being changed. You would not see the outcome."
	case s.change.isInDoubt():
		return "It is unknown whether the stock of " + name + " was changed. You could not retry safely."
	}
	return cmp.Or(s.made.decider.Unsaved(), s.Editor.Unsaved())
}

func (s *Detail) isGone() bool { return client.IsNotFound(s.read.Err) }

// Selected is the perk, or the redemption under the cursor while these have the keyboard.
func (s *Detail) Selected() (kind, id string) {
	if s.made.hasKeys {
		return s.made.Selected()
	}
	return s.Editor.Selected()
}

// IsBeside is false: the redemptions need the width.
func (s *Detail) IsBeside() bool { return false }

func (s *Detail) Offers() []actions.Offer {
	if s.Page() != record.Viewing {
		return s.Editor.Offers()
	}
	tab := actions.Offer{ID: actions.NextTab, Hint: "redemptions",
		Why: actions.WhyIf(!s.made.Has(), "Its redemptions were not loaded."),
		Do:  func() tea.Cmd { return s.made.take(!s.made.hasKeys) }}
	if s.made.hasKeys {
		tab.Hint = "perk"
		return s.made.offers(s.perkTitle(), tab)
	}
	open, address := "", s.address()
	if address == "" {
		open = "This perk has no image."
	} else if problem := api.URLRule(address); problem != "" {
		open = "The address of the image " + problem + "."
	}
	why := s.whyNoEdit()
	return slices.Concat([]actions.Offer{{ID: actions.Redeem, Why: s.whyNotRedeem(), Do: func() tea.Cmd {
		return s.Shell.Open(screen.ToRedeem{Perks: []api.Perk{*s.perk()}, UserID: s.user})
	}}, tab}, s.CheckOffers(), s.Offer([]actions.Offer{
		{ID: actions.Edit, Why: why, Hint: "edit", Do: func() tea.Cmd { return s.StartEdit(kind.Fields()[0].Name) }},
	}...), s.stockOffers(), s.Offer([]actions.Offer{
		{ID: actions.History, Why: cmp.Or(s.whyNoHistory(), s.whyNoStock()), Do: s.OpenHistory},
		{ID: actions.Undo, Why: cmp.Or(why, s.WhyNoUndo()), Do: s.StartUndo},
		{ID: actions.CopyID, Do: func() tea.Cmd { return s.Shell.Copy(s.perkID(), "") }},
		{ID: actions.OpenImage, Why: open, Do: func() tea.Cmd { return s.Shell.Browse(address) }},
	}...), widget.Moves(s.move))
}

// whyNoHistory says that only those see it who may change perks, also where nothing is changed.
func (s *Detail) whyNoHistory() string {
	return actions.WhyIf(!s.stock.Has, s.WhyNotAllowed(actions.Edit))
}

// whyNoStock says why the stock cannot be changed now; "" if it can. That it is forbidden is said elsewhere.
func (s *Detail) whyNoStock() string {
	switch {
	case s.WhyNotAllowed(actions.Edit) != "":
		return ""
	case s.isGone():
		return s.goneSentence()
	case s.stock.Has && s.change.sender.Busy():
		return "Its stock is being changed."
	case s.stock.Has:
		return ""
	case s.stock.Err != nil && !s.stock.Busy():
		return screen.Sentence("", s.stock.Err)
	}
	return "It is being loaded."
}

// whyNoEdit says why the perk cannot be changed now; "" if it can. That it is forbidden is said elsewhere.
func (s *Detail) whyNoEdit() string {
	switch {
	case s.WhyNotAllowed(actions.Edit) != "":
		return ""
	case s.Record.Err != nil && !s.Record.Busy() && !s.Record.Has:
		return screen.Sentence("", s.Record.Err)
	}
	return cmp.Or(s.whyNoStock(), s.WhyNoEdit())
}

// move scrolls.
func (s *Detail) move(id actions.ID) tea.Cmd {
	s.layOut()
	return s.scroll.Scrolled(id)
}

// whyNotRedeem says why the service would refuse; "" if it would not. In the end the service's clock decides.
func (s *Detail) whyNotRedeem() string {
	perk := s.perk()
	switch {
	case s.isGone():
		return s.goneSentence()
	case perk == nil && s.read.Busy():
		return "It is being loaded."
	case perk == nil:
		return "It was not loaded."
	}
	return screen.NotRedeemableReason(perk, s.Shell.Now())
}

// address is the address of the image; "" if there is none.
func (s *Detail) address() string {
	if perk := s.perk(); perk != nil && perk.ImageURL != nil {
		return *perk.ImageURL
	}
	return ""
}

func (s *Detail) AccessibleText() string {
	if s.Page() != record.Viewing {
		return s.Editor.AccessibleText()
	}
	if s.made.hasKeys {
		return s.made.AccessibleText()
	}
	perk := s.perk()
	if perk == nil {
		return widget.AccessibleNotice(s.placeholder())
	}
	var lines []string
	if problem := s.problem(); problem != "" {
		lines = append(lines, "Problem: "+problem)
	}
	lines = append(lines, record.LinearNotes(s.notes())...)
	var missing []string
	facts := slices.DeleteFunc(s.pairs(perk), func(fact widget.Pair) bool {
		if fact.Value == noValue {
			missing = append(missing, strings.ToLower(fact.Label))
		}
		return fact.Value == noValue
	})
	lines = append(lines, widget.AccessiblePairs(facts)...)
	if missing != nil {
		lines = append(lines, "Without: "+strings.Join(missing, ", "))
	}
	if age := s.age(); age != loadedNow {
		lines = append(lines, "State: "+age)
	}
	return strings.Join(lines, "\n")
}

func (s *Detail) View() string {
	if s.Page() != record.Viewing {
		return s.Editor.View()
	}
	if s.perk() == nil {
		kind, title, advice := s.placeholder()
		return widget.Notice(s.Shell.Theme, kind, title, advice, s.Width, s.Height)
	}
	lines := s.layOut()
	if s.madeTop != 0 {
		lines = append(lines, strings.Split(s.scroll.View(), "\n")...)
		if s.Height >= heightForStatus {
			lines = append(lines, s.statusLine())
		}
	}
	if s.madeTop >= 0 {
		lines = append(lines, s.made.View())
	}
	return display.Crop(strings.Join(lines, "\n"), s.Width, s.Height)
}

// CardTop leaves the facts in view, and of each redemption when it was made, for whom, and what became of it.
func (s *Detail) CardTop() int {
	s.layOut()
	return max(0, s.madeTop)
}

// heightForStatus is the least height with a status line.
const heightForStatus = 4

// layOut fills in the facts, and returns the problem above them.
func (s *Detail) layOut() (problem []string) {
	perk := s.perk()
	if perk == nil {
		return nil
	}
	if text := s.problem(); text != "" {
		problem = widget.Capped(s.Shell.Theme.Bad, "! "+text, s.Width, s.Height/3)
	}
	if notes := s.notes(); len(notes) > 0 {
		text := "! " + strings.Join(notes, " ")
		problem = append(problem, widget.Capped(s.Shell.Theme.Warn, text, s.Width, s.Height/3)...)
	}
	height := max(1, s.Height-len(problem))
	if s.Height >= heightForStatus {
		height--
	}
	validity := list.Validity(perk, s.Shell.Now())
	if of := (factsOf{s.Record.At, s.known, s.reads, validity, s.Width, s.Shell.Theme}); s.of != of {
		s.facts, s.of = s.drawFacts(perk, of), of
	}
	s.madeTop = -1
	switch left := height - len(s.facts); {
	case !s.made.Has():
	case left >= leastMade:
		height = len(s.facts)
		s.madeTop = s.Height - left
		s.made.Resize(s.Width, left)
	case s.made.hasKeys:
		s.madeTop, problem = 0, nil
		s.made.Resize(s.Width, s.Height)
	}
	s.scroll.Resize(s.Width, height)
	s.scroll.Set(s.facts)
	return problem
}

// drawFacts draws the perk: first what it is and whether it is valid, then the rest, in a wide window in columns.
func (s *Detail) drawFacts(perk *api.Perk, of factsOf) []string {
	look, width := of.theme, of.width
	style := *look.In([...]theme.Tone{
		screen.Running: theme.Good, screen.NotStarted: theme.Warning, screen.Expired: theme.Bad,
	}[screen.PhaseOf(perk, s.Shell.Now())])
	type part struct {
		style lipgloss.Style
		text  string
	}
	parts := []part{{look.Strong, display.Line(perk.Title)}, {look.Accent, screen.Optional(perk.DiscountText)},
		{style, of.validity}}
	var line string
	var lines []string
	for _, p := range slices.DeleteFunc(parts, func(p part) bool { return p.text == "" }) {
		line = widget.Joined("   ", line, p.style.Render(p.text))
		lines = append(lines, widget.Wrapped(p.style, p.text, width)...)
	}
	if width >= widthForColumns && display.Width(line) <= width {
		lines = []string{line}
	}
	lines = append(lines, "")
	facts := s.pairs(perk)[2:]
	if width < widthForColumns {
		return append(lines, widget.Pairs(look, width, facts)...)
	}
	drawn := inColumns(look, width, width*3/5, 1, facts)
	if width >= leastTexts+2*leastPairs {
		if narrow := inColumns(look, width, width/3, 2, facts); len(narrow) < len(drawn) {
			drawn = narrow
		}
	}
	return append(lines, drawn...)
}

// inColumns draws the texts, and beside them the other facts in some columns.
func inColumns(look *theme.Theme, width, left, columns int, facts []widget.Pair) []string {
	var texts []string
	rest := slices.DeleteFunc(slices.Clone(facts), func(fact widget.Pair) bool {
		if fact.IsText {
			texts = append(texts, look.Heading.Render(fact.Label))
			texts = append(append(texts, widget.Wrapped(look.Text, fact.Value, left-4)...), "")
		}
		return fact.IsText
	})
	drawn, share := strings.Join(texts, "\n"), (width-left)/columns
	for part := range slices.Chunk(rest, (len(rest)+columns-1)/columns) {
		drawn = widget.Beside(drawn, left, strings.Join(widget.Pairs(look, share-1, part), "\n"))
		left += share
	}
	return strings.Split(drawn, "\n")
}

// notes are messages above the facts.
func (s *Detail) notes() []string {
	if s.change.sender.Busy() {
		return append(slices.Clone(s.Notes), "Its stock is being changed ...")
	}
	return s.Notes
}

// pairs is the facts, with what only those see who may change perks.
func (s *Detail) pairs(perk *api.Perk) []widget.Pair {
	facts := list.PerkFacts(perk, s.Shell.Now())
	if !s.stock.Has {
		return facts
	}
	own := []widget.Pair{{Label: "Stock", Value: stockText(s.stock.Value)},
		{Label: "Approval", Value: display.Line(string(s.stock.Value.Approval))}}
	if f, known := kind.Field("hold_for"); known && s.Record.Has {
		limit := cmp.Or(display.Line(kind.Text(f.Name, s.Record.Value.Record)), "no limit")
		own = append(own, widget.Pair{Label: f.Label, Value: limit})
	}
	return slices.Insert(facts, slices.IndexFunc(facts, func(fact widget.Pair) bool { return fact.IsText }), own...)
}

const (
	// widthForColumns is the least width with the texts beside everything else.
	widthForColumns = 96
	// Beside texts of the least width, two columns of facts do not wrap what is short.
	leastTexts, leastPairs = 38, 39
)

// statusLine says how old the facts are, and how many lines are hidden.
func (s *Detail) statusLine() string {
	text, more := s.age(), ""
	above, below := s.scroll.More()
	if above > 0 {
		more = "↑ " + display.Count(above) + " "
	}
	if below > 0 {
		more += "↓ " + display.Count(below)
	}
	more = strings.TrimSuffix(more, " ")
	switch space := s.Width - display.Width(more) - 2; {
	case more != "" && space < 8:
		text = more
	case more != "":
		text = display.Pad(text, space) + "  " + more
	}
	return s.Shell.Theme.Muted.Render(display.Cut(text, s.Width))
}

func (s *Detail) perkID() string {
	if perk := s.perk(); perk != nil && perk.ID != "" {
		return display.Line(perk.ID)
	}
	return display.Line(s.ID)
}

// placeholder is shown instead of the facts.
func (s *Detail) placeholder() (kind widget.NoticeKind, title, advice string) {
	id := display.Line(s.ID)
	switch {
	case s.isGone():
		return widget.Failure, s.goneSentence(), s.goneAdvice()
	case s.read.Err != nil && !s.read.Busy():
		what, next := s.Shell.Explain(s.read.Err)
		return widget.Failure, "Perk " + id + " was not loaded.", what + " " + next
	}
	return widget.Loading, "Loading perk " + id + " ...", ""
}

func (s *Detail) goneSentence() string {
	if s.perk() != nil {
		return "There is no perk " + display.Line(s.ID) + " any more."
	}
	return "There is no perk " + display.Line(s.ID) + "."
}

func (s *Detail) goneAdvice() string {
	advice := fmt.Sprintf("%s goes back. %s retries.", s.Shell.Key(actions.Back), s.Shell.Key(actions.Refresh))
	if s.Shell.Account.Profile.Sandbox {
		return "This is the sandbox. " + advice // the perk may be live
	}
	return advice
}

// problem says above old facts why there are no newer ones; "" if there are.
func (s *Detail) problem() string {
	switch {
	case s.read.Err == nil:
		return ""
	case s.isGone():
		return s.goneSentence() + " Below is what it was. " + s.goneAdvice()
	}
	what, next := s.Shell.Explain(s.read.Err)
	return what + " " + next
}

const (
	loadedNow = "Loaded just now"
	noValue   = "none" // as list.PerkFacts has it
)

// age says how old the facts are.
func (s *Detail) age() string {
	text, loading := "As in the list", ", loading ..."
	if s.read.Has {
		text, loading = "Loaded "+display.Age(s.Shell.Now().Sub(s.read.At)), ", reloading ..."
	}
	if s.read.Busy() {
		text += loading
	}
	return text
}
