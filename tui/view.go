package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"

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

// body returns the first line and the height of the screen. A message that its border has no space for is below it.
func (a *App) body() (top, height int) {
	top, height = a.space()
	if lines, inBorder := a.toastLines(); a.Overlay() == nil && !inBorder {
		height -= len(lines)
	}
	return top, max(1, height)
}

// space is what header and footer leave.
func (a *App) space() (top, height int) {
	height = a.height
	if a.height >= heightForHeader {
		top, height = 1, height-1
	}
	if a.height >= heightForFooter {
		height--
	}
	return top, max(1, height)
}

// widthForMargin is the width from which a blank separates text from the border around it.
const widthForMargin = 60

// The least window in which a card leaves the screen below it in view, and the widths of a card.
const (
	widthForCard  = 60
	heightForCard = 16
	maxCard       = 90
	narrowCard    = 64 // with labels beside what is typed
)

// frame is where a screen with its border is in the body, and how far its inside is from the corner of that.
type frame struct{ left, top, width, height, marginX, marginY int }

func (a *App) frame(s screen.Screen) frame {
	_, height := a.body()
	f := frame{width: max(1, a.width), height: height}
	if _, framed := s.(screen.Framed); framed {
		return f
	}
	if card, is := s.(screen.Card); is && a.below(s) != nil && f.width >= widthForCard && height >= heightForCard {
		f.width = min(a.width-6, maxCard)
		f.height = min(card.Lines(f.width-4)+2, height-2)
		f.left, f.top = (a.width-f.width)/2, min(height/6, height-f.height)
		if below, is := a.below(s).(screen.CardHolder); is && below.CardTop() > 0 {
			f.width = min(max(a.width/2, narrowCard), f.width)
			f.height = min(card.Lines(f.width-4)+2, height-2)
			f.left, f.top = a.width-f.width-2, min(below.CardTop()+1, height-f.height)
		}
	}
	if left := a.besideWidth(s); left > 0 {
		f.left, f.width = left, f.width-left
	}
	f.marginY = widget.Corner(f.width, f.height)
	if f.marginX = f.marginY; f.marginX > 0 && a.width >= widthForMargin {
		f.marginX++
	}
	return f
}

// inner returns the size of the screen inside.
func (f frame) inner() (width, height int) {
	return max(1, f.width-2*f.marginX), f.height - 2*f.marginY
}

// below returns the screen below another; nil if there is none.
func (a *App) below(s screen.Screen) screen.Screen {
	if at := slices.Index(a.screens, s); at > 0 {
		return a.screens[at-1]
	}
	return nil
}

func (a *App) resize() {
	_, a.bodyHeight = a.body()
	for _, s := range a.screens {
		s.Resize(a.frame(s).inner())
	}
}

// drawn draws a screen with its border in the size of the body, and a card above the screen below it.
func (a *App) drawn(s screen.Screen, isFocused bool) string {
	_, height := a.body()
	f, look := a.frame(s), a.shell.Theme
	_, isCard := s.(screen.Card)
	_, isOfList := s.(screen.OfList)
	if isCard || isOfList { // a card is as high as its text, and the list beside may be gone
		s.Resize(f.inner())
	}
	view := s.View()
	if f.marginY > 0 {
		panel := widget.Panel{Title: s.Title(), Focused: isFocused}
		if isCard {
			panel.Note = a.liveNote()
		}
		view = panel.View(look, widget.Indented(view, f.marginX-f.marginY), f.width, f.height)
	}
	if left := a.besideWidth(s); left > 0 {
		view = widget.Beside(beside(a.listOf(s), left, height), left, view)
	} else if f.width < a.width {
		return display.Overlay(widget.Behind(look, a.drawn(a.below(s), false)), view, f.left, f.top)
	}
	lines := append(strings.Split(view, "\n"), make([]string, height)...) // Crop cuts the lines
	return strings.Join(lines[:height], "\n")
}

// liveNote says in a border that what is inside changes the live service; "" if it does not.
func (a *App) liveNote() string {
	if a.shell.Account.Client == nil || a.shell.Account.Profile.Sandbox {
		return ""
	}
	return a.shell.Theme.Live.Render(" LIVE ")
}

// View draws everything, in exactly the size of the terminal.
func (a *App) View() string {
	if a.width <= 0 || a.height <= 0 {
		return ""
	}
	top, height := a.body()
	view := a.shell.Theme.Muted.Render(display.Cut("Starting ...", a.width)) + strings.Repeat("\n", height-1)
	if s := a.Top(); s != nil {
		view = a.drawn(s, a.Overlay() == nil)
	}
	view = a.withToast(view)
	view = a.withOverlay(view, height) // above the toast, which must not hide a question
	var lines []string
	if top > 0 {
		lines = append(lines, a.header())
	}
	lines = append(lines, view)
	if a.height >= heightForFooter {
		lines = append(lines, a.footer())
	}
	return a.grounded(display.Crop(strings.Join(lines, "\n"), a.width, a.height))
}

// grounded gives every cell of a view the background of the theme, if it has one: also gaps, and text without a style.
func (a *App) grounded(view string) string {
	ground := a.shell.Theme.Ground
	if ground == "" {
		return view
	}
	const reset = "\x1b[0m"
	resets := strings.NewReplacer(reset, reset+ground, "\x1b[m", reset+ground)
	lines := strings.Split(view, "\n")
	for i := range lines {
		lines[i] = ground + resets.Replace(display.Pad(lines[i], a.width)) + reset
	}
	return strings.Join(lines, "\n")
}

// header shows the tabs, the path to the screen, and whether the service can be reached, by whom, and with what effect.
func (a *App) header() string {
	right, edge := a.connection()
	space := a.width - 4 - display.Width(right)
	if space < 8 {
		return edge.Render("▎") + display.Cut(right, a.width-1)
	}
	tabs := a.tabs()
	return edge.Render("▎") + tabs + display.Pad(a.crumbs(space-display.Width(tabs), tabs != ""),
		space-display.Width(tabs)) + "  " + right + " "
}

// connection is the right end of the header, and the style of its edge.
func (a *App) connection() (right string, edge lipgloss.Style) {
	look := a.shell.Theme
	profile, connected := a.shell.Account.Profile, a.shell.Account.Client != nil
	edge, dot, state := look.Muted, look.Muted.Render("○"), ""
	switch {
	case connected && profile.Sandbox:
		edge, dot, state = look.Good, look.Good.Render("●"), look.Good.Render(" sandbox")
	case connected:
		edge, dot, state = look.Warn, look.Good.Render("●"), look.Warn.Render(" live")
	}
	silence, waiting := a.silence(), look.Muted.Render("○")
	switch _, owes := a.asked(); {
	case a.connectivity.isOffline():
		edge, dot = look.Bad, look.Offline.Render(" OFFLINE ")
		if a.width >= 60 {
			retry := "retrying"
			if left := a.shell.SecondsTo(a.connectivity.pingAt); left > 0 {
				retry = fmt.Sprintf("retry in %d s", left)
			}
			dot = look.Offline.Render(fmt.Sprintf(" OFFLINE since %s · %s ",
				a.connectivity.offlineSince.Format("15:04"), retry))
		}
	case a.connectivity.loggedOut:
		dot, state = look.Bad.Render("○ logged out"), ""
		if key := a.keyNow(actions.Login); key != "" && a.width >= 60 {
			dot += look.Bad.Render(": " + key + " logs in")
		}
	case !connected:
	case silence > 0 && a.width >= 60:
		dot, state = waiting, state+look.Warn.Render(fmt.Sprintf(", no reply for %d s", int(silence.Seconds())))
	case silence > 0:
		dot, state = waiting, state+look.Warn.Render(", no reply")
	case a.connectivity.heard.IsZero() && owes:
		dot, state = waiting, state+look.Muted.Render(", connecting")
	case a.connectivity.heard.IsZero():
		dot = waiting
	}
	switch {
	case connected && a.shell.IsReadOnly():
		state += look.Warn.Render(" read-only")
	case connected && profile.Protected:
		state += look.Warn.Render(" protected")
	}
	right = dot + state
	if since, waits := a.shell.Waits(); waits && silence == 0 {
		waited := a.shell.Now().Sub(since)
		if spinner := widget.Spinner(waited); spinner != "" {
			right = look.Info.Render(fmt.Sprintf("%s %d s  ", spinner, int(waited.Seconds()))) + right
		}
	}
	if progress := a.shell.Progress; progress != "" {
		right = look.Info.Render(progress+"  ") + right
	}
	if names := widget.Joined(" · ", display.Line(profile.Name), who(profile)); connected &&
		a.width >= widthForNames && names != "" {
		if a.width >= 140 {
			names += " at " + display.Line(profile.APIURL)
		}
		right += look.Muted.Render(" · " + names)
	}
	return right, edge
}

// who is who works here: the client, after the name of who sits at it.
func who(profile screen.Profile) string {
	return widget.Joined(" at ", display.Cut(display.Line(profile.Actor), maxActor), display.Line(profile.ClientID))
}

// maxActor is the width that the header has for a name.
const maxActor = 24

// crumbs is the path to the screen, without its beginning if it's too long, or if the tabs say it.
func (a *App) crumbs(width int, hasTabs bool) string {
	screens, look := a.screens, a.shell.Theme
	if hasTabs && len(screens) > 0 && isTab(screens[0]) {
		screens = screens[1:]
	}
	if hasTabs {
		width -= 3
	}
	if len(screens) == 0 || width < 6 {
		return ""
	}
	top := display.Line(screens[len(screens)-1].Title())
	path, left, next := "", width-display.Width(top), top
	for _, s := range slices.Backward(screens[:len(screens)-1]) {
		title := display.Line(s.Title())
		crumb := withoutEnd(title, next) + " › "
		if left -= display.Width(crumb); left < 0 {
			break
		}
		path, next = crumb+path, title
	}
	line := look.Muted.Render(path) + look.Strong.Render(display.Cut(top, width))
	if hasTabs {
		return look.Border.Render(" │ ") + line
	}
	return line
}

// withoutEnd leaves out of a title the words that the next one ends with too: "Results for alice › User alice" is
// "Results › User alice".
func withoutEnd(title, next string) string {
	words, others := strings.Fields(title), strings.Fields(next)
	kept := len(words)
	for kept > 1 && len(others) > 0 && words[kept-1] == others[len(others)-1] {
		kept, others = kept-1, others[:len(others)-1]
	}
	if kept < len(words) && kept > 1 && slices.Contains([]string{"for", "of", "in"}, words[kept-1]) {
		kept--
	}
	return strings.Join(words[:kept], " ")
}

// widthForNames is the width from which the header names the profile: the tabs come first.
const widthForNames = 100

// widthForBack is the width from which the footer always shows Back.
const widthForBack = 60

// footer shows the keys of the most useful actions, followed by those to leave.
func (a *App) footer() string {
	if o := a.Overlay(); o != nil {
		offers := slices.DeleteFunc(o.Offers(), func(offer actions.Offer) bool {
			return offer.Hint == "" || !offer.Enabled()
		})
		return a.hints(offers, a.width)
	}
	typing := a.target().Form() != nil
	var hints, last, more []actions.Offer
	for _, offer := range a.Offers() {
		action := a.shell.Keys.Action(offer.ID)
		hint := offer
		hint.Hint = cmp.Or(offer.Hint, action.Hint)
		shown := action.InForms()
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
	if longer := a.hints(slices.Insert(last, max(0, len(last)-1), more...),
		a.width); display.Width(line+longer) <= a.width+2 {
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
	top, _ := a.body()
	if a.width < 40 || height < 10 {
		a.dialogX, a.dialogY = 0, top+1
		inside := theme.Strong.Render(display.Cut(o.Title(), a.width))
		if height > 1 {
			inside += "\n" + o.View(theme, a.width, height-1)
		}
		return display.Crop(inside, a.width, height)
	}
	width := min(a.width-6, 78)
	inside := o.View(theme, width-4, height-2)
	frame := o.Frame()
	panel := widget.Panel{Title: o.Title(), Focused: true, Grave: frame.Grave, Bar: frame.Bar}
	if frame.Changes {
		panel.Note = a.liveNote()
	}
	box := panel.Box(theme, widget.Indented(inside, 1), width, strings.Count(inside, "\n")+3)
	left, above := (a.width-width)/2, (height-strings.Count(box, "\n")-1)/2
	if frame.Grows {
		above = height / 6
	}
	above = max(0, min(above, height-strings.Count(box, "\n")-1))
	a.dialogX, a.dialogY = left+2, top+above+1
	return display.Overlay(widget.Behind(theme, view), box, left, above)
}

// toastLines wraps the last message, to at most a third of the screen, and tells whether the lower border has space for
// it.
func (a *App) toastLines() (lines []string, inBorder bool) {
	toast := a.status.shown
	if toast == nil {
		return nil, true
	}
	_, height := a.space()
	margin := 2 * widget.Corner(a.width, height)
	lines = widget.Cap(prefix(toast.Kind)+toast.Text, a.width-3*margin, max(1, height/3))
	return lines, margin > 0 && len(lines) == 1
}

// withToast draws the last message in the lower border, beside the position if it can, or else below the screen. A
// dialog leaves the screen as it is, whose last rows the message then covers.
func (a *App) withToast(view string) string {
	lines, inBorder := a.toastLines()
	if len(lines) == 0 {
		return view
	}
	height := strings.Count(view, "\n") + 1
	look := a.shell.Theme
	style := [...]lipgloss.Style{screen.Note: look.Strong, screen.Done: look.Good, screen.Warning: look.Warn,
		screen.Failure: look.Bad}[a.status.shown.Kind]
	margin := 2 * widget.Corner(a.width, height)
	width, left := a.width-2*margin, margin
	for i := range lines {
		lines[i] = strings.Repeat(" ", margin/2) + lines[i]
	}
	if inBorder { // at the right, unless it would cut the position, which would mislead
		border := ansi.Strip(view[strings.LastIndex(view, "\n")+1:])
		before := ansi.Truncate(border, a.width-margin-display.Width(lines[0])-1, "")
		left = max(margin, display.Width(strings.TrimRightFunc(before,
			func(r rune) bool { return !strings.ContainsRune("─╰╯", r) })))
		width = a.width - margin - left
	}
	for i := range lines {
		lines[i] = style.Render(display.Pad(lines[i], width))
	}
	toast := strings.Join(lines, "\n")
	if !inBorder && a.Overlay() == nil {
		return view + "\n" + widget.Indented(toast, left)
	}
	return display.Overlay(view, toast, left, height-len(lines))
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

// noticeToast shows a notice as what it says it is.
func noticeToast(text string) screen.Toast {
	if warning, ok := strings.CutPrefix(text, prefix(screen.Warning)); ok {
		return screen.Toast{Kind: screen.Warning, Text: warning}
	}
	return screen.Toast{Kind: screen.Note, Text: text}
}

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

// history is the messages with their times, the last first.
func (s *status) history() (lines []widget.Pair) {
	if len(s.past) == 0 {
		return []widget.Pair{{Value: "No messages yet."}}
	}
	for _, past := range slices.Backward(s.past) {
		lines = append(lines, widget.Pair{Label: past.at.Format("15:04:05"),
			Value: prefix(past.toast.Kind) + past.toast.Text})
	}
	return lines
}

// prefix says without colour how a message is meant.
func prefix(kind screen.Kind) string {
	return [...]string{screen.Note: "", screen.Done: "Done: ", screen.Warning: "Warning: ",
		screen.Failure: "Error: "}[kind]
}

// MessagesSince returns how many messages there have been, and those since a number, each with its prefix. Only the
// last maxHistory are there.
func (a *App) MessagesSince(since int) (number int, texts []string) {
	s := &a.status
	for i, past := range s.past {
		if s.number-len(s.past)+i >= since {
			texts = append(texts, prefix(past.toast.Kind)+past.toast.Text)
		}
	}
	return s.number, texts
}
