// Package user has two screens: the list of users, and a user with their redemptions and, beside or below them, the
// perks that they can redeem.
package user

import (
	"cmp"
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

// Screen is the screen of a user.
type Screen struct {
	shell         *screen.Shell
	width, height int
	layout        layout

	id         string // of the user; "" until one is chosen
	remembered bool
	redeemed   *redeemed
	available  *available
	isAbove    bool // the redemptions have the keyboard

	detail *api.RedemptionRecord // shown with all its fields; nil while the lists are shown
	scroll widget.Scroll         // of the detail

	sought string // the redemption whose user is to be shown
	record *screen.Loader[api.RedemptionRecord]

	decider *screen.Decider
}

// panel is what the two lists have in common.
type panel interface {
	Init() tea.Cmd
	Update(msg tea.Msg) tea.Cmd
	Reload() tea.Cmd
	ExpectNews()
	Close()
	Resize(width, height int)
	View() string
	AccessibleText() string
	Heading() string
	Focus(has bool)
	Has() bool
	Failure() error
	Choose(row int) bool
	Selected() (kind, id string)
}

// New makes the screen. Without an id it asks for one.
func New(shell *screen.Shell, route screen.ToUser) *Screen {
	s := &Screen{shell: shell, record: screen.NewLoader[api.RedemptionRecord](shell), decider: screen.NewDecider(shell)}
	s.begin(route.ID)
	s.focus(route.Redeemed)
	return s
}

// NewRedemption makes the screen for the user of a redemption, and shows that first.
func NewRedemption(shell *screen.Shell, route screen.ToRedemption) *Screen {
	s := New(shell, screen.ToUser{Redeemed: true})
	s.sought = route.ID
	return s
}

// seek reads the redemption that is sought.
func (s *Screen) seek() tea.Cmd {
	id := s.sought
	return s.record.Load(func(ctx context.Context, c *client.Client) (api.RedemptionRecord, error) {
		record, _, err := c.Redemption(ctx, id)
		return record, err
	})
}

// found shows the redemption that was sought.
func (s *Screen) found() tea.Cmd {
	if s.record.Err != nil {
		return nil
	}
	record := s.record.Value
	s.Close()
	s.begin(record.UserID)
	s.focus(true)
	s.sought, s.detail = "", &record
	remember := s.shell.RememberTitled(s.shell.Account.Profile, s.redeemed.One, record.ID,
		record.PerkID+" for "+record.UserID)
	return tea.Batch(s.Init(), remember, s.redeemed.Titles.Read(record.PerkID))
}

// begin makes the lists of a user.
func (s *Screen) begin(id string) {
	s.id, s.detail, s.remembered = id, nil, false
	s.redeemed = newRedeemed(s.shell, id, s.showRedemption)
	s.available = newAvailable(s.shell, id, s.redeemed)
	s.focus(false)
}

// focus gives the keyboard to the redemptions, or to the perks below.
func (s *Screen) focus(above bool) tea.Cmd {
	s.isAbove = above
	s.redeemed.Focus(above)
	s.available.Focus(!above)
	return nil
}

func (s *Screen) panels() []panel { return []panel{s.redeemed, s.available} }

// focused is the panel that has the keyboard.
func (s *Screen) focused() panel {
	if s.isAbove {
		return s.redeemed
	}
	return s.available
}

func (s *Screen) eachPanel(do func(panel) tea.Cmd) tea.Cmd {
	return tea.Batch(do(s.redeemed), do(s.available))
}

func (s *Screen) Framed() {}

func (s *Screen) Title() string {
	switch {
	case s.sought != "":
		return "Redemption " + display.Line(s.sought)
	case s.id == "":
		return "User"
	case s.detail != nil:
		return "Redemption " + display.Line(s.detail.ID) + " of user " + display.Line(s.id)
	}
	return "User " + display.Line(s.id)
}

func (s *Screen) Init() tea.Cmd {
	switch {
	case s.sought != "":
		return s.seek()
	case s.id == "":
		return s.askUser()
	}
	return s.eachPanel(panel.Init)
}

func (s *Screen) Close() {
	s.record.Cancel()
	for _, p := range s.panels() {
		p.Close()
	}
}

func (s *Screen) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case screen.Recent:
		if msg.Of == s {
			return s.pickUser(msg.IDs)
		}
		return nil
	case screen.Edited:
		return s.available.Update(msg)
	case screen.Redeemed:
		return s.available.Update(msg)
	case screen.Revealed, screen.Reconnected:
		return s.reload()
	case screen.Changed:
		cmd := s.reload()
		for _, p := range s.panels() {
			p.ExpectNews()
		}
		return cmd
	case screen.Decided:
		if s.detail != nil && s.detail.ID == msg.Record.ID {
			s.detail = &msg.Record
		}
	case screen.Mouse:
		return s.mouse(msg)
	}
	if _, changed := s.record.Handle(msg); changed {
		return s.found()
	}
	if cmd, ended := s.decider.Handle(msg); ended {
		return tea.Batch(cmd, s.reload()) // what is free again is available below
	} else if cmd != nil {
		return cmd
	}
	if s.id == "" {
		return nil
	}
	before := s.redeemed.LoadedAt()
	cmd := s.eachPanel(func(p panel) tea.Cmd { return p.Update(msg) })
	if s.redeemed.LoadedAt() != before {
		s.available.Redraw() // rows may say that the user has the perk
		s.refreshDetail()
	}
	s.arrange()
	cmd = tea.Batch(cmd, s.available.askWhy()) // of what is visible now
	if s.remembered || !s.available.Has() && !s.redeemed.Has() {
		return cmd
	}
	s.remembered = true // only now do we know that the user exists
	return tea.Batch(cmd, s.shell.Remember(s.shell.Account.Profile, kind, s.id))
}

// reload reads everything again.
func (s *Screen) reload() tea.Cmd {
	if s.sought != "" {
		return s.seek()
	}
	if s.id == "" {
		return nil
	}
	s.redeemed.Titles.Retry()
	s.available.forget()
	return s.eachPanel(panel.Reload)
}

// refreshDetail shows the redemption as the list has it now, under the cursor there. One that is not among the rows
// stays as it was.
func (s *Screen) refreshDetail() {
	if s.detail == nil {
		return
	}
	s.redeemed.ChooseID(s.detail.ID)
	if r := s.redeemed.Current(); r != nil && r.ID == s.detail.ID {
		s.detail = r
	}
}

// chosen is the redemption that is shown, or that is under the cursor.
func (s *Screen) chosen() (chosen []screen.Decidable) {
	r := s.detail
	if r == nil && s.isAbove {
		r = s.redeemed.Current()
	}
	if r == nil {
		return nil
	}
	return []screen.Decidable{s.redeemed.Titles.Decidable(*r)}
}

func (s *Screen) Form() *widget.Form {
	if s.isAbove || s.detail != nil {
		return nil
	}
	return s.available.Form()
}

func (s *Screen) Unsaved() string {
	return cmp.Or(s.decider.Unsaved(), s.available.Unsaved(), s.redeemed.Unsaved())
}

func (s *Screen) Watches(event api.Event) bool {
	return event.Redemption != nil && event.Redemption.UserID == s.id
}

func (s *Screen) WatchesWhileTyping() bool { return false }

// Selected is the perk or redemption under the cursor.
func (s *Screen) Selected() (kind, id string) {
	if s.detail != nil {
		return s.redeemed.One, s.detail.ID
	}
	return s.focused().Selected()
}

func (s *Screen) Offers() []actions.Offer {
	return actions.Around(s.offers(), func(do func() tea.Cmd) tea.Cmd {
		defer s.arrange()
		return tea.Batch(do(), s.available.askWhy())
	})
}

func (s *Screen) offers() []actions.Offer {
	user := actions.Offer{ID: actions.ForUser, Hint: "other user", Do: s.askUser}
	tab := actions.Offer{ID: actions.NextTab, Hint: "perks", Do: func() tea.Cmd { return s.focus(!s.isAbove) }}
	r := s.detail
	if r == nil {
		r = s.redeemed.Current()
	}
	perk := actions.Offer{ID: actions.OpenPerk, Do: func() tea.Cmd {
		return s.shell.Open(screen.ToPerk{ID: r.PerkID, UserID: s.id})
	}}
	switch {
	case s.detail != nil:
		return slices.Concat(s.decider.Offers(s.chosen(), ""), []actions.Offer{
			perk,
			{ID: actions.CopyID, Do: func() tea.Cmd { return s.shell.Copy(r.ID, "") }},
			{ID: actions.Back, Do: func() tea.Cmd {
				s.detail = nil
				return s.focus(s.isAbove)
			}},
		}, widget.Moves(s.scroll.Scrolled))
	case s.id == "" || s.isUnknown():
		return []actions.Offer{{ID: actions.ForUser, Do: s.askUser}}
	case s.isAbove:
		perk.Why = s.redeemed.WhyNoRow()
		return s.redeemed.Offers(slices.Concat(s.decider.Offers(s.chosen(), perk.Why), []actions.Offer{perk, tab},
			s.findOffers(), []actions.Offer{user})...)
	}
	offers := s.available.Offers()
	if s.Form() != nil {
		return offers
	}
	tab.Hint = "redemptions"
	offers = slices.Insert(offers, min(4, len(offers)), tab, user)
	return append(offers, s.decider.Offers(nil, "Go to the redemptions: "+s.shell.Key(actions.NextTab)+".")...)
}

// findOffers returns what finds perks, for while the redemptions have the keyboard. It gives that to the perks.
func (s *Screen) findOffers() []actions.Offer {
	offers := slices.DeleteFunc(s.available.Offers(), func(o actions.Offer) bool {
		return !slices.Contains([]actions.ID{actions.Filter, actions.ClearFilter, actions.Expired}, o.ID)
	})
	return actions.Around(offers, func(do func() tea.Cmd) tea.Cmd {
		s.focus(false)
		return do()
	})
}

// showRedemption shows a redemption with all its fields.
func (s *Screen) showRedemption(r *api.RedemptionRecord) tea.Cmd {
	s.detail, s.scroll = r, widget.Scroll{}
	return nil
}

// Choose moves the cursor of the list that has the keyboard.
func (s *Screen) Choose(row int) bool { return s.focused().Choose(row) }

func (s *Screen) HasRows() bool { return s.detail == nil }

// mouse gives the keyboard to the list that is clicked on.
func (s *Screen) mouse(event screen.Mouse) tea.Cmd {
	isClick := event.Wheel == ""
	switch {
	case s.detail != nil && isClick && event.X < s.layout.beside:
		cmd := s.redeemed.Update(event)
		if r := s.redeemed.Current(); r != nil && r.ID != s.detail.ID {
			s.showRedemption(r)
		}
		return cmd
	case s.detail != nil && !isClick:
		return screen.ScrollWheel(s.scroll.Scrolled, event.Wheel)
	case s.detail != nil, s.id == "", s.isUnknown():
		return nil
	}
	above := event.Y < s.layout.below || event.X < s.layout.beside
	if s.layout.tabs > 0 && event.Y == 0 {
		if at, ok := widget.TabAt(s.width, s.labels(), s.at(), event.X); ok && isClick {
			s.focus(at == 1)
		}
		return nil
	}
	switch {
	case s.layout.tabs > 0:
		event.Y--
		above = s.isAbove
	case !above:
		event.Y -= s.layout.below
		event.X -= s.layout.beside
	}
	if isClick && above != s.isAbove && s.Form() == nil {
		s.focus(above)
	}
	defer s.arrange()
	if above {
		return s.redeemed.Update(event)
	}
	return tea.Batch(s.available.Update(event), s.available.askWhy())
}

// isUnknown tells whether the service has no such user.
func (s *Screen) isUnknown() bool {
	return client.IsNotFound(s.available.Failure()) || client.IsNotFound(s.redeemed.Failure())
}

// kind is the kind of the ids that are remembered.
const kind = "user"

// askUser asks which user to show: a recent one, or another.
func (s *Screen) askUser() tea.Cmd { return s.shell.Recent(s, s.shell.Account.Profile, kind) }

func (s *Screen) pickUser(recent []string) tea.Cmd {
	ids := slices.DeleteFunc(slices.Clone(recent), func(id string) bool {
		return id == s.id || api.AnyIDRule(id) != ""
	})
	return s.shell.PickID("Which user?", ids, "Another user ...", screen.Prompt{
		Title: "Which user?",
		Field: widget.Field{Name: "user_id", Label: "User id", Hint: "such as alice", Check: api.AnyIDRule},
		Then: func(id string) tea.Cmd {
			s.Close()
			s.begin(id)
			s.arrange()
			return s.Init()
		},
		OnCancel: func() tea.Cmd { // close the screen, unless it shows a user already
			if s.id != "" {
				return nil
			}
			return s.shell.Post(screen.Back{From: s})
		},
	})
}
