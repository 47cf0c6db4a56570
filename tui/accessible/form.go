package accessible

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

// formProgress is the form that the user fills in, and where they are.
type formProgress struct {
	form  *widget.Form
	field string   // the one that is asked for; "" at the end
	text  []string // the lines so far of a field that has several
	sent  bool     // the form was sent since the last question

	typed     bool     // a value was typed in the field, of which the screen may say what is meant
	suggested []string // what can be chosen instead
}

// fieldQuestion is what the question for a field is about. Each line of a field is a question.
type fieldQuestion struct {
	form  *widget.Form
	field string
	lines int
}

// formQuestion returns the question for the next field, or what to do at the end of the form.
func (s *session) formQuestion(form *widget.Form) question {
	f := &s.formProgress
	q := question{answer: s.handleField, leave: s.leaveForm}
	switch {
	case f.form != form: // enter has yet to begin it
		q.about = fieldQuestion{form: form}
	case f.field == "":
		q.about = form
		q.prompt = "The form is open. send, leave, a field, or ? for help: "
		q.answer = func(text string) tea.Cmd { return s.formCommand(strings.TrimPrefix(strings.TrimSpace(text), ":")) }
	default:
		q.about = fieldQuestion{form, f.field, len(f.text)}
		q.secret = s.field().Kind == widget.Secret
		if len(f.text) == 0 {
			q.prompt = prompt(s.field(), form.Value(f.field))
		}
		if len(f.suggested) > 0 {
			q.prompt = label(form, f.field) + ", a number, or empty keeps " + display.Line(form.Value(f.field)) + ": "
		}
	}
	return q
}

// field is the field that is asked for.
func (s *session) field() widget.Field { return s.formProgress.form.Field(s.formProgress.field) }

func (s *session) leaveForm() tea.Cmd {
	s.formProgress.text = nil
	return s.leave("Cancelled.", actions.Cancel)
}

func (s *session) sendForm() tea.Cmd {
	s.formProgress.sent = true
	return s.app.Attempt(actions.Submit)
}

// enterForm starts a form that has opened, and finds the field to resume at in one that was refused.
func (s *session) enterForm(form *widget.Form) {
	f := &s.formProgress
	switch {
	case form == nil:
		*f = formProgress{}
		return
	case f.form != form:
		*f = formProgress{form: form, field: form.Focus()}
		if names := form.Names(); len(names) > 1 {
			s.say(fmt.Sprintf("Form with %d fields. :send submits, :leave cancels, :back goes back, :? helps.",
				len(names)))
		}
	case f.typed:
		f.typed = false
		if s.suggest(); len(f.suggested) == 0 {
			s.run(s.nextField())
		}
	case f.sent:
		f.sent, f.field, f.text = false, "", nil
		if at := form.Focus(); len(form.Problems(at)) > 0 {
			f.field = at
			s.sayProblems(at)
		}
	}
	if f.field != "" && !slices.Contains(form.Names(), f.field) {
		f.field, f.text = form.Focus(), nil // the field has gone
	}
}

// suggest says which values fit what was typed, if that is none of them.
func (s *session) suggest() {
	suggester, is := s.app.Top().(screen.Suggester)
	if !is || s.app.Overlay() != nil {
		return
	}
	values, about := suggester.Suggestions(s.formProgress.field)
	for i, value := range values {
		s.say(fmt.Sprintf("%d: %s", i+1, widget.Joined(", ", display.Line(value), about[i])))
	}
	s.formProgress.suggested = values
}

// form returns the form to fill in; nil if there is none.
func (s *session) form() *widget.Form {
	o, top := s.app.Overlay(), s.app.Top()
	switch {
	case o != nil && o.Prompt() != "": // it is a question of its own
		return nil
	case o != nil:
		return o.Form()
	case top != nil:
		return top.Form()
	}
	return nil
}

func (s *session) sayProblems(name string) {
	for _, problem := range s.formProgress.form.Problems(name) {
		text := display.Line(problem)
		if first, _ := utf8.DecodeRuneInString(text); !unicode.IsUpper(first) { // otherwise it is a sentence by itself
			text = label(s.formProgress.form, name) + " " + text
		}
		s.say("Problem: " + text)
	}
}

func label(form *widget.Form, name string) string { return display.Line(form.Field(name).Label) }

func (s *session) handleField(text string) tea.Cmd {
	f, kind := &s.formProgress, s.field().Kind
	suggested := f.suggested
	f.suggested = nil
	if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(suggested) {
		return s.setField(suggested[n-1])
	}
	if len(f.text) > 0 {
		return s.takeLine(text)
	}
	word, isCommand := strings.CutPrefix(text, ":")
	literal, isLiteral := strings.CutPrefix(text, ":=")
	empty := text == "" || kind == widget.Text && text == "."
	switch {
	case kind == widget.Secret && !s.isFormCommand(word) && text != "": // it may begin with a colon
		return s.takeLine(text)
	case isLiteral:
		return s.takeLine(literal)
	case isCommand:
		return s.formCommand(word)
	case empty && s.app.Overlay() != nil && f.form.Value(f.field) == "": // it is the question of a single line
		return s.leave("Cancelled.", actions.Cancel)
	case empty:
		return s.nextField()
	case text == "-" && (kind == widget.Line || kind == widget.Text):
		return s.setField("")
	}
	return s.takeLine(text)
}

// isFormCommand tells whether a word after a colon is certainly no secret.
func (s *session) isFormCommand(word string) bool {
	at, err := strconv.Atoi(word)
	return err == nil && at >= 1 && at <= len(s.formProgress.form.Names()) ||
		slices.Contains([]string{"send", "leave", "back", "again", "?"}, word)
}

// takeLine handles a value, or a line of one.
func (s *session) takeLine(text string) tea.Cmd {
	f, field := &s.formProgress, s.field()
	if field.Kind == widget.Text {
		if text != "." {
			f.text = append(f.text, text)
			return nil
		}
		text = strings.Join(f.text, "\n")
	}
	value, problem := read(field, text)
	if problem != "" {
		s.say("Problem: " + problem)
		return nil
	}
	return s.setField(value)
}

// setField sets a value as typing would, and moves to the next field if it is valid.
func (s *session) setField(value string) tea.Cmd {
	form, name := s.formProgress.form, s.formProgress.field
	s.formProgress.text = nil
	if s.field().Kind != widget.Text {
		value = display.Line(value)
	}
	form.FocusOnName(name)
	form.Set(name, value)
	form.Do(actions.NextField) // what is wrong shows once a field is left
	var cmd tea.Cmd
	if s.app.Overlay() == nil {
		top := s.app.Top()
		cmd = tea.Batch(top.Update(screen.Edited{Field: name}), top.Update(screen.FieldLeft{}), s.app.Deliver())
	}
	if len(form.Problems(name)) > 0 {
		s.sayProblems(name)
		return cmd
	}
	if _, suggests := s.app.Top().(screen.Suggester); suggests && s.app.Overlay() == nil {
		s.formProgress.typed = true // once nothing runs any more
		return cmd
	}
	return tea.Batch(cmd, s.nextField())
}

func (s *session) nextField() tea.Cmd {
	f := &s.formProgress
	names := f.form.Names()
	switch at := slices.Index(names, f.field); {
	case at < 0: // the field went with its value
		f.field = f.form.Focus()
	case at+1 < len(names):
		f.field = names[at+1]
		f.form.FocusIndex(at + 1)
	default:
		return s.sendForm()
	}
	return nil
}

// formCommand handles a command instead of a value.
func (s *session) formCommand(word string) tea.Cmd {
	word = strings.ToLower(strings.TrimSpace(word))
	f := &s.formProgress
	switch word {
	case "send":
		return s.sendForm()
	case "leave":
		return s.leaveForm()
	case "again":
		s.again()
	case "say":
		s.sayLines(lines(f.form.Value(f.field)))
	case "back":
		names := f.form.Names()
		at := slices.Index(names, f.field)
		if at < 0 {
			at = len(names)
		}
		s.goTo(names[max(0, at-1)])
	case "?", "help", "":
		s.formHelp()
	default:
		if name := fieldCalled(f.form, word); name != "" {
			s.goTo(name)
		} else if found := find(s.app.Shell().Keys, s.formOffers(), word); len(found) == 1 {
			return s.app.Attempt(found[0].ID)
		} else {
			s.say(fmt.Sprintf("No field or command %q here; :? lists them.", word))
		}
	}
	return nil
}

func (s *session) goTo(name string) {
	s.formProgress.field, s.formProgress.text = name, nil
	s.formProgress.form.FocusOnName(name)
}

// fieldCalled finds a field by its number, its label, or how that begins; "" if there is not exactly one.
func fieldCalled(form *widget.Form, word string) string {
	names := form.Names()
	if n, err := strconv.Atoi(word); err == nil && n >= 1 && n <= len(names) {
		return names[n-1]
	}
	var found []string
	for _, name := range names {
		switch text := strings.ToLower(label(form, name)); {
		case text == word || name == word:
			return name
		case strings.HasPrefix(text, word) || strings.HasPrefix(name, word):
			found = append(found, name)
		}
	}
	if len(found) != 1 {
		return ""
	}
	return found[0]
}

// formOffers returns what can be done in a form besides its own commands.
func (s *session) formOffers() []actions.Offer {
	own := []actions.ID{actions.NextField, actions.PreviousField, actions.Submit, actions.Cancel}
	return slices.DeleteFunc(s.offers(), func(o actions.Offer) bool { return slices.Contains(own, o.ID) })
}

func (s *session) formHelp() {
	for i, name := range s.formProgress.form.Names() {
		s.say(fmt.Sprintf(":%d goes to %s.", i+1, label(s.formProgress.form, name)))
	}
	s.say(":send submits the form. :leave cancels it. :back goes back a field. :say reads the field. :again reads all.")
	s.say("Type := before a value that begins with a colon, or is only a dash.")
	for _, offer := range s.formOffers() {
		action := s.app.Shell().Keys.Action(offer.ID)
		line := ":" + strings.ToLower(strings.TrimSuffix(action.Name, "…")) + "."
		if !offer.Enabled() {
			line += " Not now: " + display.Line(offer.Why)
		}
		s.say(line)
	}
}

// longest is the longest value that a prompt shows.
const longest = 120

// prompt asks for a field: "City (now Berlin), empty keeps it, - clears it: ".
func prompt(f widget.Field, value string) string {
	label := display.Line(f.Label)
	value = display.Text(value)
	switch {
	case f.Kind == widget.Secret && value != "":
		return label + " (hidden), empty keeps it: "
	case f.Kind == widget.Secret:
		return label + " (hidden): "
	case f.Kind == widget.Switch:
		return fmt.Sprintf("%s, yes or no (now %s): ", label, display.Line(value))
	case f.Kind == widget.Text && value == "":
		return label + ", several lines, end with a dot" + hint(f) + ": "
	case f.Kind == widget.Text:
		return label + " (now " + inShort(value) + "), several lines, end with a dot; empty keeps it, - clears it: "
	case value == "":
		return label + hint(f) + ": "
	}
	return fmt.Sprintf("%s (now %s), empty keeps it, - clears it: ", label, inShort(value))
}

func hint(f widget.Field) string {
	if f.Hint == "" {
		return ""
	}
	return " (" + strings.Trim(display.Line(f.Hint), "()") + ")"
}

func inShort(value string) string {
	if lines := strings.Count(value, "\n") + 1; lines > 1 || len(value) > longest {
		return fmt.Sprintf("%s; :say reads it", display.Plural(int64(len([]rune(value))), "character", "characters"))
	}
	return value
}

// read makes a value of what was typed, or returns a sentence that says what is wrong.
func read(f widget.Field, text string) (value, problem string) {
	if f.Kind != widget.Switch {
		return text, ""
	}
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "y", "yes":
		return widget.Yes, ""
	case "n", "no":
		return widget.No, ""
	}
	return "", "Type yes or no."
}
