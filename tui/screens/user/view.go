package user

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

// layout is how many lines each part has, from the top.
type layout struct {
	tabs      int
	complaint int
	body      int // where the body begins
	room      int // the body's lines
	foot      int
}

// widthForNouns is from where on the place of the rows is said in full.
const widthForNouns = 40

// Resize sets the room. Who draws next arranges what is in it.
func (s *Screen) Resize(width, height int) { s.width, s.height = width, height }

// arrange lays out the parts, and fills what scrolls. The rows come last, and lose their room last.
func (s *Screen) arrange() {
	if s.detail != nil {
		s.detail.scroll.Resize(s.width, s.height)
		s.detail.scroll.Set(widget.Pairs(s.shell.Theme, s.width, s.pairs()))
		return
	}
	l := layout{}
	if s.height >= 2 && s.id != "" {
		l.tabs = 1
	}
	if s.height >= 4 && s.foot(false) != "" {
		l.foot = 1
	}
	if complaint := s.complaint(); complaint != "" {
		l.complaint = min(len(display.Wrap("! "+complaint, s.width)), max(1, s.height/3), max(0, s.height-l.tabs-l.foot-1))
	}
	l.body = l.tabs + l.complaint
	l.room = max(1, s.height-l.body-l.foot)
	s.layout = l
	s.available.table.Sort(s.available.columns.Sorted(s.order.Field), s.order.Desc)
	for _, t := range s.tabs() {
		t.setRows()
		t.rows().Resize(s.width, l.room)
	}
}

func (s *Screen) View() string {
	s.arrange()
	if s.detail != nil {
		return s.detail.scroll.View()
	}
	look, l := s.shell.Theme, s.layout
	var parts []string
	if l.tabs > 0 {
		parts = append(parts, widget.Tabs(look, s.width, s.labels(), s.at))
	}
	if l.complaint > 0 {
		parts = append(parts, widget.Capped(look.Bad, "! "+s.complaint(), s.width, l.complaint)...)
	}
	if n := s.notice(); n.title != "" {
		parts = append(parts, widget.Notice(look, n.mood, n.title, n.advice, s.width, l.room))
	} else {
		s.tab().rows().SetTheme(look)
		parts = append(parts, s.tab().rows().View())
	}
	if l.foot > 0 {
		parts = append(parts, look.Muted.Render(display.Cut(s.foot(s.width >= widthForNouns), s.width)))
	}
	return display.Crop(strings.Join(parts, "\n"), s.width, s.height)
}

func (s *Screen) Linear() string {
	if s.detail != nil {
		return strings.Join(widget.LinearPairs(s.pairs()), "\n")
	}
	var lines []string
	if s.id != "" {
		lines = append(lines, widget.LinearTabs(s.labels(), s.at))
	}
	if complaint := s.complaint(); complaint != "" {
		lines = append(lines, "Problem: "+complaint)
	}
	if n := s.notice(); n.title != "" {
		return strings.Join(append(lines, widget.LinearNotice(n.mood, n.title, n.advice)), "\n")
	}
	lines = append(lines, s.tab().lines()...)
	return strings.Join(append(lines, s.foot(true)), "\n")
}

// titlesAtOnce limits how many perks are read at the same time, so that a page of redemptions does not hit the rate limit.
const titlesAtOnce = 4

// titles is what the perks of redemptions are called, which redemptions do not say.
type titles struct {
	readers [titlesAtOnce]*screen.Loader[api.Perk]
	reading [titlesAtOnce]string // the ids of those perks
	known   map[string]string    // by the perk's id: "" while it is read, and where it could not be
	stopped bool                 // a read failed, and the others would fail alike
}

// read reads the perks of these redemptions as far as there are free readers. Each perk is asked for once, whatever comes of it.
func (t *titles) read(redemptions []api.Redemption) tea.Cmd {
	var cmds []tea.Cmd
	for _, r := range redemptions {
		if _, asked := t.known[r.PerkID]; asked || t.stopped {
			continue
		}
		free := slices.IndexFunc(t.readers[:], func(reader *screen.Loader[api.Perk]) bool { return !reader.Busy() })
		if free < 0 {
			break
		}
		id := r.PerkID
		t.known[id], t.reading[free] = "", id
		cmds = append(cmds, t.readers[free].Load(func(ctx context.Context, c *client.Client) (api.Perk, error) { return c.Perk(ctx, id) }))
	}
	return tea.Batch(cmds...)
}

// take takes the end of a read. Only a perk that is missing says nothing of the others: after any other failure no more are read
// until retry.
func (t *titles) take(msg tea.Msg) {
	for i, reader := range t.readers {
		if _, changed := reader.Take(msg); !changed {
			continue
		}
		var answer *client.Error
		if reader.Err == nil {
			t.known[t.reading[i]] = reader.Value.Title
		} else if !errors.As(reader.Err, &answer) || answer.Status != http.StatusNotFound {
			t.stopped = true
		}
	}
}

// retry forgets the perks that could not be read, so that they are read again; with all every perk: at another service the same
// ids mean others.
func (t *titles) retry(all bool) {
	t.cancel()
	t.stopped = false
	maps.DeleteFunc(t.known, func(_, title string) bool { return all || title == "" })
}

func (t *titles) cancel() {
	for _, reader := range t.readers {
		reader.Cancel()
	}
}

// notice is what stands in the place of rows: what is the matter, and what to do next. The title is empty where there are
// rows to show.
type notice struct {
	mood          widget.Mood
	title, advice string
}

func (s *Screen) notice() notice {
	state := s.tab().state()
	switch {
	case s.id == "":
		return notice{widget.Empty, "No user is chosen.", "Press " + s.shell.Key(actions.ForUser) + " to choose one."}
	case s.isUnknown():
		title := "There is no live user " + display.Line(s.id) + "."
		if s.shell.Account.Profile.Sandbox {
			title = "There is no user " + display.Line(s.id) + " in the sandbox."
		}
		return notice{widget.Failure, title,
			"Ids are exact, capitals count too. Check this one, and press " + s.shell.Key(actions.ForUser) + " to look for another."}
	case !state.has && state.err != nil && !state.busy:
		title, advice := s.sentences(state.err)
		return notice{widget.Failure, title, advice}
	case !state.has:
		what := [...]string{atAvailable: " can redeem", atRedeemed: " has redeemed"}[s.at]
		return notice{widget.Loading, widget.LoadingTitle("what "+display.Line(s.id)+what, s.shell.Now().Sub(state.since)), ""}
	case state.rows > 0:
		return notice{}
	case s.at == atAvailable:
		return notice{widget.Empty, display.Line(s.id) + " can redeem nothing now.",
			"What there is has ended, is sold out, or was redeemed already. Press " + s.shell.Key(actions.NextTab) + " for what was redeemed."}
	}
	return notice{widget.Empty, display.Line(s.id) + " has redeemed nothing yet.",
		"Press " + s.shell.Key(actions.NextTab) + " for what can be redeemed."}
}

// isUnknown tells whether the service knows no such user.
func (s *Screen) isUnknown() bool {
	return slices.ContainsFunc(s.tabs(), func(t tab) bool { return client.Missing(t.state().err) })
}

// sentences says what went wrong, and what to do next.
func (s *Screen) sentences(err error) (title, advice string) {
	title = screen.Sentence("", err)
	var fields api.FieldErrors
	var refused *client.Error
	var local *api.Error
	switch {
	case errors.As(err, &refused):
		title, fields = display.Line(refused.Message), refused.Fields
	case errors.As(err, &local):
		fields = local.Fields
	}
	again := "Press " + s.shell.Key(actions.Refresh) + " to load again."
	switch {
	case len(fields["user_id"]) > 0:
		return "The user's id " + display.Line(fields["user_id"][0]) + ".", "Press " + s.shell.Key(actions.ForUser) + " to give another."
	case refused != nil && refused.Code == api.CodeForbidden:
		return title, "This client may not see users. Whoever runs the service can give it the right to."
	case refused != nil && refused.RequestID != "" && refused.Code == api.CodeInternal:
		return title, again + " If it stays so, tell whoever runs the service the request id " + display.Line(refused.RequestID) + "."
	}
	return title, again
}

// complaint says, beside rows that are old, why there are no newer ones.
func (s *Screen) complaint() string {
	state := s.tab().state()
	if s.id == "" || !state.has || state.err == nil || state.busy || s.isUnknown() {
		return ""
	}
	title, advice := s.sentences(state.err)
	return "These rows were loaded " + display.Age(s.shell.Now().Sub(state.at)) + ". " + title + " " + advice
}

// foot says which rows are shown, and named of what.
func (s *Screen) foot(named bool) string {
	if s.id == "" || s.isUnknown() {
		return ""
	}
	parts := []string{s.tab().place(named)}
	if s.at == atAvailable {
		if parts[0] != "" && s.order != screen.DefaultOrder() {
			parts = append(parts, screen.OrderWords(s.order))
		}
		parts = append(parts, s.marked.Say(s.available.loader.Value.Data))
	}
	if state := s.tab().state(); state.busy && state.has {
		parts = append(parts, "loading ...")
	}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), ", ")
}

// detail is one redemption with all its fields.
type detail struct {
	redemption api.Redemption
	scroll     widget.Scroll
}

func (s *Screen) pairs() []widget.Pair {
	r := s.detail.redemption
	when := "not known"
	if !r.RedeemedAt.IsZero() {
		when = display.Instant(r.RedeemedAt, s.shell.Now()) + ", " + s.when(r)
	}
	user := r.UserID
	if user == "" {
		user = s.id
	}
	perk := display.Line(r.PerkID)
	if title := s.title(r); title != "" {
		perk = title + " (" + perk + ")"
	}
	return []widget.Pair{
		{Label: "Redemption", Value: display.Line(r.ID)},
		{Label: "Perk", Value: perk},
		{Label: "User", Value: display.Line(user)},
		{Label: "Redeemed", Value: when},
		{Label: "Status", Value: meaning(r.Status)},
		{Label: "Metadata", Value: pretty(r.Metadata)},
	}
}

// meaning says what a status means to the user.
func meaning(status api.RedemptionStatus) string {
	return cmp.Or(map[api.RedemptionStatus]string{
		api.StatusApproved: "approved: the user has the perk",
		api.StatusPending:  "pending: it waits for approval, and holds the user's place until then",
		api.StatusRejected: "rejected: the user does not have the perk, and can redeem it again",
		"":                 "not known",
	}[status], display.Line(string(status)))
}

// tab is what both lists have in common.
type tab interface {
	start() tea.Cmd
	again() tea.Cmd
	forget()
	take(msg tea.Msg) tea.Cmd
	do(id actions.ID) (cmd tea.Cmd, done bool)
	pageOffers() []actions.Offer
	place(named bool) string
	label() string
	lines() []string
	state() state
	setRows()
	rows() *widget.Table
}

// state is how a tab stands with the service.
type state struct {
	has, busy bool
	err       error
	at        time.Time // when the rows were loaded
	since     time.Time // when the load began that is under way
	rows      int
}

func (s *Screen) tabs() []tab { return []tab{s.available, s.redeemed} }

func (s *Screen) tab() tab { return s.tabs()[s.at] }

func (s *Screen) labels() []string { return []string{s.available.label(), s.redeemed.label()} }

func (s *Screen) eachTab(do func(tab) tea.Cmd) tea.Cmd {
	var cmds []tea.Cmd
	for _, t := range s.tabs() {
		cmds = append(cmds, do(t))
	}
	return tea.Batch(cmds...)
}

// longestShort is where metadata in short ends: no row has more room, and nobody listens to more.
const longestShort = 160

// inShort writes metadata as "shop=Mitte till=4", and what is no object as it is.
func inShort(metadata json.RawMessage) string {
	decoder := json.NewDecoder(bytes.NewReader(metadata))
	if start, err := decoder.Token(); err != nil || start != json.Delim('{') {
		return display.Cut(display.Line(string(metadata)), longestShort)
	}
	var parts []string
	for length := 0; decoder.More() && length < longestShort; {
		name, err := decoder.Token()
		var value json.RawMessage
		if err != nil || decoder.Decode(&value) != nil {
			break
		}
		var text string
		if json.Unmarshal(value, &text) != nil || string(value) == "null" {
			text = string(value)
		}
		part := name.(string) + "=" + text
		parts = append(parts, part)
		length += display.Width(part)
	}
	return display.Cut(display.Line(strings.Join(parts, " ")), longestShort)
}

// pretty lays metadata out for reading.
func pretty(metadata json.RawMessage) string {
	if slices.Contains([]string{"", "{}", "null"}, string(bytes.TrimSpace(metadata))) {
		return "none"
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, metadata, "", "  "); err != nil {
		return display.Text(string(metadata))
	}
	return display.Text(strings.ReplaceAll(indented.String(), "\t", " "))
}
