package tui

import (
	"cmp"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"

	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

// The least heights with a header and with a footer.
const (
	heightForHeader = 3
	heightForFooter = 5
)

// body returns the first line and the height of the screen.
func (a *App) body() (top, height int) {
	height = a.height
	if a.height >= heightForHeader {
		top, height = 1, height-1
	}
	if a.height >= heightForFooter {
		height--
	}
	return top, max(1, height)
}

func (a *App) resize() {
	_, height := a.body()
	for _, s := range a.screens {
		s.Resize(max(1, a.width), height)
	}
}

// View draws everything, in exactly the size of the terminal.
func (a *App) View() string {
	if a.width <= 0 || a.height <= 0 {
		return ""
	}
	top, height := a.body()
	view := a.shell.Theme.Muted.Render(display.Cut("Starting ...", a.width))
	if s := a.Top(); s != nil {
		view = s.View()
	}
	body := append(strings.Split(view, "\n"), make([]string, height)...) // Crop cuts the lines
	view = a.withToast(strings.Join(body[:height], "\n"), height)
	view = a.withOverlay(view, height) // above the toast, which must not hide a question
	var lines []string
	if top > 0 {
		lines = append(lines, a.header())
	}
	lines = append(lines, view)
	if a.height >= heightForFooter {
		lines = append(lines, a.footer())
	}
	return display.Crop(strings.Join(lines, "\n"), a.width, a.height)
}

// header shows live or sandbox, whether changes are refused, whether the service can be reached, the screen, and the account.
func (a *App) header() string {
	theme := a.shell.Theme
	var left []string
	profile, connected := a.shell.Account.Profile, a.shell.Account.Client != nil
	switch {
	case connected && profile.Sandbox:
		left = append(left, theme.Sandbox.Render(" SANDBOX "))
	case connected:
		left = append(left, theme.Live.Render(" LIVE "))
	}
	if connected && profile.ReadOnly {
		left = append(left, theme.Bad.Render(" READ-ONLY "))
	}
	if a.connectivity.isOffline() {
		text := " OFFLINE "
		if a.width >= 60 {
			text = " OFFLINE since " + a.connectivity.offlineSince.Format("15:04:05") + ", retrying "
		}
		left = append(left, theme.Bad.Render(text))
	}
	if s := a.Top(); s != nil {
		left = append(left, theme.Strong.Render(display.Line(s.Title())))
	}
	line := strings.Join(left, " ")
	if connected && a.width >= 60 {
		right := display.Line(profile.Name + " · " + profile.ClientID + " at " + profile.APIURL)
		if space := a.width - display.Width(right) - 2; display.Width(line) <= space {
			return display.Pad(line, space) + "  " + theme.Muted.Render(right)
		}
	}
	return display.Cut(line, a.width)
}

// widthForBack is the width from which the footer always shows Back.
const widthForBack = 60

// footer shows the keys of the most useful actions, followed by those to leave.
func (a *App) footer() string {
	if o := a.Overlay(); o != nil {
		offers := slices.DeleteFunc(o.Offers(), func(offer actions.Offer) bool { return offer.Hint == "" || !offer.Enabled() })
		return a.hints(offers, a.width)
	}
	typing := a.target().Form() != nil
	var hints, last, more []actions.Offer
	for _, offer := range a.Offers() {
		action := a.shell.Keys.Action(offer.ID)
		hint := offer.WithHint(cmp.Or(offer.Hint, action.Hint))
		shown := action.Typing
		if !typing {
			shown = offer.ID != actions.Palette // the help names it
		}
		switch {
		case hint.Hint == "" || !offer.Enabled() || !shown:
		case offer.ID == actions.Quit:
			more = append(more, hint)
		case offer.ID == actions.Help, offer.ID == actions.Back && a.width >= widthForBack:
			last = append(last, hint)
		default:
			hints = append(hints, hint)
		}
	}
	end := a.hints(last, a.width)
	line := a.hints(hints, a.width-display.Width(end))
	if longer := a.hints(slices.Insert(last, max(0, len(last)-1), more...), a.width); display.Width(line+longer) <= a.width+2 {
		end = longer
	}
	return display.Cut(strings.TrimRight(line+end, " "), a.width)
}

// hints draws as many hints as fit, each with its key.
func (a *App) hints(hints []actions.Offer, space int) string {
	line := ""
	for _, hint := range hints {
		key := a.keyNow(hint.ID)
		width := display.Width(key) + 1 + display.Width(hint.Hint) + 2
		if key == "" || width-2 > space {
			continue
		}
		line += a.shell.Theme.Key.Render(key) + " " + a.shell.Theme.Muted.Render(hint.Hint) + "  "
		space -= width
	}
	return line
}

// keyNow returns the key of an action that works now: in a form one that prints nothing, or Enter where that submits.
func (a *App) keyNow(id actions.ID) string {
	form := a.target().Form()
	if form == nil {
		return a.shell.Keys.Key(id)
	}
	if id == actions.Submit && form.EnterSubmits() {
		return "enter"
	}
	for _, key := range a.shell.Keys.Action(id).Keys {
		if !actions.Prints(key) {
			return actions.Spell(key)
		}
	}
	return ""
}

// withOverlay draws the top overlay on the screen, in a box if there is space.
func (a *App) withOverlay(view string, height int) string {
	o := a.Overlay()
	if o == nil {
		return view
	}
	theme := a.shell.Theme
	if a.width < 40 || height < 10 {
		inside := theme.Strong.Render(display.Cut(o.Title(), a.width))
		if height > 1 {
			inside += "\n" + o.View(theme, a.width, height-1)
		}
		return display.Crop(inside, a.width, height)
	}
	width := min(a.width-4, 76)
	inside := o.View(theme, width, height-3)
	frame, border := lipgloss.RoundedBorder(), theme.Border
	if grave, ok := o.(interface{ IsGrave() bool }); ok && grave.IsGrave() {
		frame, border = lipgloss.DoubleBorder(), theme.Bad
	}
	edge := func(left, right string) string {
		return border.Render(left + strings.Repeat(frame.Top, width+2) + right)
	}
	box := []string{edge(frame.TopLeft, frame.TopRight)}
	for line := range strings.SplitSeq(theme.Strong.Render(display.Pad(o.Title(), width))+"\n"+inside, "\n") {
		box = append(box, border.Render(frame.Left)+" "+display.Pad(line, width)+" "+border.Render(frame.Right))
	}
	box = append(box, edge(frame.BottomLeft, frame.BottomRight))
	return display.Overlay(view, strings.Join(box, "\n"), (a.width-width-4)/2, max(0, (height-len(box))/3))
}

// withToast draws the last message on the bottom of the screen, at most a third of it.
func (a *App) withToast(view string, height int) string {
	toast := a.status.shown
	if toast == nil {
		return view
	}
	theme := a.shell.Theme
	style := [...]lipgloss.Style{screen.Note: theme.Strong, screen.Done: theme.Good, screen.Warning: theme.Warn, screen.Failure: theme.Bad}[toast.Kind]
	lines := widget.Cap(prefix(toast.Kind)+toast.Text, a.width, max(1, height/3))
	for i := range lines {
		lines[i] = style.Render(display.Pad(lines[i], a.width))
	}
	return display.Overlay(view, strings.Join(lines, "\n"), 0, height-len(lines))
}

// mouseEvent passes a mouse event to the screen, relative to its corner. Overlays have no mouse.
func (a *App) mouseEvent(msg tea.MouseMsg) tea.Cmd {
	top, height := a.body()
	msg.Y -= top
	if a.Overlay() != nil || a.Top() == nil || msg.Y < 0 || msg.Y >= height {
		return nil
	}
	return a.Top().Update(msg)
}

// How long messages stay. Failures and explanations stay until the next action.
const (
	noteTime    = 5 * time.Second
	warningTime = 12 * time.Second
)

// maxHistory is how many messages the list of messages has.
const maxHistory = 100

// status is the message on show and those before it.
type status struct {
	shown         *screen.Toast
	number        int // of the message that is shown
	past          []pastToast
	isExplanation bool // it only says why a key did nothing
	interrupted   bool // ctrl+c opened the question
}

type pastToast struct {
	at    time.Time
	toast screen.Toast
}

type toastExpired struct{ number int }

type notice string

// toast shows a message for a while.
func (a *App) toast(toast screen.Toast) tea.Cmd {
	toast.Text = display.Line(toast.Text)
	s := &a.status
	s.number++
	s.shown, s.isExplanation = &toast, false
	if s.past = append(s.past, pastToast{a.shell.Now(), toast}); len(s.past) > maxHistory {
		s.past = s.past[1:]
	}
	switch toast.Kind {
	case screen.Failure:
		return nil
	case screen.Warning:
		return a.shell.After(warningTime, toastExpired{s.number})
	}
	return a.shell.After(noteTime, toastExpired{s.number})
}

// note shows something that needs no action.
func (a *App) note(text string) tea.Cmd { return a.toast(screen.Toast{Kind: screen.Note, Text: text}) }

// explain says why a key did nothing.
func (a *App) explain(text string) tea.Cmd {
	cmd := a.note(text)
	a.status.isExplanation = true
	return cmd
}

// listen waits for the next of the Notices.
func (a *App) listen() tea.Cmd {
	if a.options.Notices == nil {
		return nil
	}
	return func() tea.Msg {
		if text, ok := <-a.options.Notices; ok {
			return notice(text)
		}
		return nil
	}
}

func (s *status) history() []screen.LabelledLine {
	if len(s.past) == 0 {
		return []screen.LabelledLine{{Text: "No messages yet."}}
	}
	var lines []screen.LabelledLine
	for _, past := range slices.Backward(s.past) {
		lines = append(lines, screen.LabelledLine{Word: past.at.Format("15:04:05"), Text: prefix(past.toast.Kind) + past.toast.Text})
	}
	return lines
}

// prefix says without colour how a message is meant.
func prefix(kind screen.Kind) string {
	return [...]string{screen.Note: "", screen.Done: "Done: ", screen.Warning: "Warning: ", screen.Failure: "Error: "}[kind]
}

// MessagesSince returns how many messages there have been, and those since a number, each with its prefix. Only the last
// maxHistory are there.
func (a *App) MessagesSince(since int) (number int, texts []string) {
	s := &a.status
	for i, past := range s.past {
		if s.number-len(s.past)+i >= since {
			texts = append(texts, prefix(past.toast.Kind)+past.toast.Text)
		}
	}
	return s.number, texts
}
