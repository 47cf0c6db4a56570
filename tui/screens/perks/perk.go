package perks

import (
	"context"
	"fmt"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/list"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/theme"
	"example.com/perks/tui/widget"
)

// Detail is the screen of one perk.
type Detail struct {
	shell         *screen.Shell
	width, height int

	id     string
	known  *api.Perk // as the list has it
	user   string    // that it is to be redeemed for; "" for nobody
	read   *screen.Loader[api.Perk]
	reads  int // how often read has changed
	scroll widget.Scroll
	facts  []string // cached: wrapping long texts for each frame is too slow
	of     factsOf
}

// factsOf is what the facts depend on.
type factsOf struct {
	known    *api.Perk
	reads    int
	validity string // it changes with time
	width    int
	theme    *theme.Theme
}

// NewDetail makes the screen. It shows the perk as the list has it until it is read.
func NewDetail(shell *screen.Shell, route screen.ToPerk) *Detail {
	return &Detail{shell: shell, id: route.ID, known: route.Known, user: route.UserID,
		read: screen.NewLoader[api.Perk](shell)}
}

// perk returns the perk; nil if it is not known.
func (s *Detail) perk() *api.Perk {
	if s.read.Has {
		return &s.read.Value
	}
	return s.known
}

func (s *Detail) Title() string {
	if perk := s.perk(); perk != nil {
		return "Perk " + display.Line(perk.Title)
	}
	return "Perk " + display.Line(s.id)
}

// Init reads the perk, even if the list has it: the list may be old.
func (s *Detail) Init() tea.Cmd {
	id := s.id
	return s.read.Load(func(ctx context.Context, c *client.Client) (api.Perk, error) { return c.Perk(ctx, id) })
}

func (s *Detail) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case screen.Reconnected, screen.Revealed, screen.Changed:
		return s.Init()
	case screen.Mouse:
		return s.move(msg.Wheel)
	}
	cmd, changed := s.read.Handle(msg)
	if changed {
		if s.reads++; s.reads == 1 && s.read.Has {
			cmd = tea.Batch(cmd, s.shell.RememberTitled(s.shell.Account.Profile, "perk", s.read.Value.ID,
				s.read.Value.Title))
		}
	}
	return cmd
}

func (s *Detail) Watches(event api.Event) bool {
	return event.Subject == "perk/"+s.id || event.Type == api.EventPerksImported
}

func (s *Detail) WatchesWhileTyping() bool { return false }

func (s *Detail) Close() { s.read.Cancel() }

func (s *Detail) isGone() bool { return client.IsNotFound(s.read.Err) }

func (s *Detail) Resize(width, height int) { s.width, s.height = width, height }
func (s *Detail) Form() *widget.Form       { return nil }
func (s *Detail) Unsaved() string          { return "" }

func (s *Detail) Offers() []actions.Offer {
	open, address := "", s.address()
	if address == "" {
		open = "This perk has no image."
	} else if problem := api.URLRule(address); problem != "" {
		open = "The address of the image " + problem + "."
	}
	return append([]actions.Offer{
		{ID: actions.Redeem, Why: s.whyNotRedeem(), Do: func() tea.Cmd {
			return s.shell.Open(screen.ToRedeem{Perks: []api.Perk{*s.perk()}, UserID: s.user})
		}},
		{ID: actions.CopyID, Do: func() tea.Cmd { return s.shell.Copy(s.perkID(), "") }},
		{ID: actions.OpenImage, Why: open, Do: func() tea.Cmd { return s.shell.Browse(address) }},
	}, widget.Moves(s.move)...)
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
	return screen.NotRedeemableReason(perk, s.shell.Now())
}

// address is the address of the image; "" if there is none.
func (s *Detail) address() string {
	if perk := s.perk(); perk != nil && perk.ImageURL != nil {
		return *perk.ImageURL
	}
	return ""
}

func (s *Detail) AccessibleText() string {
	perk := s.perk()
	if perk == nil {
		return widget.AccessibleNotice(s.placeholder())
	}
	var lines []string
	if problem := s.problem(); problem != "" {
		lines = append(lines, "Problem: "+problem)
	}
	lines = append(lines, "Title: "+display.Line(perk.Title))
	lines = append(lines, widget.AccessiblePairs(list.PerkFacts(perk, s.shell.Now()))...)
	return strings.Join(append(lines, "State: "+s.age()), "\n")
}

func (s *Detail) View() string {
	if s.perk() == nil {
		kind, title, advice := s.placeholder()
		return widget.Notice(s.shell.Theme, kind, title, advice, s.width, s.height)
	}
	lines := append(s.layOut(), strings.Split(s.scroll.View(), "\n")...)
	if s.height >= heightForStatus {
		lines = append(lines, s.statusLine())
	}
	return display.Crop(strings.Join(lines, "\n"), s.width, s.height)
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
		problem = widget.Capped(s.shell.Theme.Bad, "! "+text, s.width, s.height/3)
	}
	height := max(1, s.height-len(problem))
	if s.height >= heightForStatus {
		height--
	}
	s.scroll.Resize(s.width, height)
	if of := (factsOf{s.known, s.reads, list.Validity(perk, s.shell.Now()), s.width, s.shell.Theme}); s.of != of {
		s.facts, s.of = s.drawFacts(perk, of), of
	}
	s.scroll.Set(s.facts)
	return problem
}

// drawFacts draws the perk: first what it is and whether it is valid, then the rest, in a wide window beside the texts.
func (s *Detail) drawFacts(perk *api.Perk, of factsOf) []string {
	look, width := of.theme, of.width
	lines := widget.Wrapped(look.Strong, display.Line(perk.Title), width)
	if perk.DiscountText != nil {
		lines = append(lines, widget.Wrapped(look.Accent, display.Line(*perk.DiscountText), width)...)
	}
	style := *look.In([...]theme.Tone{
		screen.Running: theme.Good, screen.NotStarted: theme.Warning, screen.Expired: theme.Bad,
	}[screen.PhaseOf(perk, s.shell.Now())])
	lines = append(lines, widget.Wrapped(style, of.validity, width)...)
	lines = append(lines, "")
	facts := list.PerkFacts(perk, s.shell.Now())[2:]
	if width < widthForColumns {
		return append(lines, widget.Pairs(look, width, facts)...)
	}
	left := width * 3 / 5
	var texts []string
	rest := slices.DeleteFunc(facts, func(fact widget.Pair) bool {
		if fact.IsText {
			texts = append(texts, look.Heading.Render(fact.Label))
			texts = append(append(texts, widget.Wrapped(look.Text, fact.Value, left-4)...), "")
		}
		return fact.IsText
	})
	pairs := widget.Pairs(look, width-left, rest)
	for len(texts) < len(pairs) {
		texts = append(texts, "")
	}
	return append(lines, strings.Split(widget.Beside(strings.Join(texts, "\n"), left, strings.Join(pairs, "\n")),
		"\n")...)
}

// widthForColumns is the least width with the texts beside everything else.
const widthForColumns = 96

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
	switch space := s.width - display.Width(more) - 2; {
	case more != "" && space < 8:
		text = more
	case more != "":
		text = display.Pad(text, space) + "  " + more
	}
	return s.shell.Theme.Muted.Render(display.Cut(text, s.width))
}

func (s *Detail) perkID() string {
	if perk := s.perk(); perk != nil && perk.ID != "" {
		return display.Line(perk.ID)
	}
	return display.Line(s.id)
}

// placeholder is shown instead of the facts.
func (s *Detail) placeholder() (kind widget.NoticeKind, title, advice string) {
	id := display.Line(s.id)
	switch {
	case s.isGone():
		return widget.Failure, s.goneSentence(), s.goneAdvice()
	case s.read.Err != nil && !s.read.Busy():
		what, next := s.shell.Explain(s.read.Err)
		return widget.Failure, "Perk " + id + " was not loaded.", what + " " + next
	}
	return widget.Loading, "Loading perk " + id + " ...", ""
}

func (s *Detail) goneSentence() string {
	if s.perk() != nil {
		return "There is no perk " + display.Line(s.id) + " any more."
	}
	return "There is no perk " + display.Line(s.id) + "."
}

func (s *Detail) goneAdvice() string {
	advice := fmt.Sprintf("%s goes back. %s retries.", s.shell.Key(actions.Back), s.shell.Key(actions.Refresh))
	if s.shell.Account.Profile.Sandbox {
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
	what, next := s.shell.Explain(s.read.Err)
	return what + " " + next
}

// age says how old the facts are.
func (s *Detail) age() string {
	text, loading := "As in the list", ", loading ..."
	if s.read.Has {
		text, loading = "Loaded "+display.Age(s.shell.Now().Sub(s.read.At)), ", reloading ..."
	}
	if s.read.Busy() {
		text += loading
	}
	return text
}
