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

// filling is where one is in a form.
type filling struct {
	form  *widget.Form
	field string   // the one that is asked for; "" at the end
	text  []string // the lines so far of a field that has several
	sent  bool     // the form was sent since the last question
}

// fill returns the question for the field of a form that is next, or at its end what to do with it.
func (s *session) fill(form *widget.Form) question {
	f := &s.filling
	leave := func() tea.Cmd {
		s.filling.text = nil
		return s.leaving("Left.", actions.Cancel)()
	}
	if f.form == form && f.field == "" {
		prompt := "The form is still open. send, leave, the name of a field, or ? for help: "
		return question{about: form, prompt: prompt, leave: leave, answer: func(text string) tea.Cmd {
			return s.formCommand(strings.TrimPrefix(strings.TrimSpace(text), ":"))
		}}
	}
	q := field{s, form, form.Focus(), 0}
	if f.form == form {
		q.name, q.lines = f.field, len(f.text)
	}
	asked := question{about: q, secret: form.Field(q.name).Kind == widget.Secret, leave: leave, answer: q.answer}
	if q.lines == 0 {
		asked.prompt = prompt(form.Field(q.name), form.Value(q.name))
	}
	return asked
}

// enter begins a form that has opened, and finds the place to go on at in one that was sent and has come back.
func (s *session) enter(form *widget.Form) {
	f := &s.filling
	switch {
	case form == nil:
		*f = filling{}
		return
	case f.form != form:
		*f = filling{form: form, field: form.Focus()}
		if names := form.Names(); len(names) > 1 {
			s.say(fmt.Sprintf("A form with %d fields. :send sends it, :leave leaves it, :back goes back a field, :? lists more.", len(names)))
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

// form is the one that is to be filled in, nil if none is.
func (s *session) form() *widget.Form {
	switch o := s.app.Overlay().(type) {
	case *screen.PickDialog, *screen.ConfirmDialog: // they are questions of their own
		return nil
	case nil:
		if top := s.app.Top(); top != nil {
			return top.Form()
		}
		return nil
	default:
		return o.Form()
	}
}

func (s *session) sayProblems(name string) {
	for _, problem := range s.filling.form.Problems(name) {
		text := display.Line(problem)
		if first, _ := utf8.DecodeRuneInString(text); !unicode.IsUpper(first) { // otherwise it is a sentence by itself
			text = label(s.filling.form, name) + " " + text
		}
		s.say("Problem: " + text)
	}
}

func label(form *widget.Form, name string) string { return display.Line(form.Field(name).Label) }

// field asks for one field of a form. lines is how many lines of it have come, so that each of them is a question of its own.
type field struct {
	s     *session
	form  *widget.Form
	name  string
	lines int
}

func (q field) answer(text string) tea.Cmd {
	kind := q.form.Field(q.name).Kind
	if q.lines == 0 {
		literal, isLiteral := strings.CutPrefix(text, ":=")
		word, isWord := strings.CutPrefix(text, ":")
		switch {
		case kind == widget.Secret && !q.isCommand(word):
			// a secret may begin with a colon
		case isLiteral:
			return q.take(literal)
		case isWord:
			return q.s.formCommand(word)
		}
		switch {
		case (text == "" || kind == widget.Text && text == ".") && q.s.app.Overlay() != nil && q.form.Value(q.name) == "":
			return q.s.leaving("Left.", actions.Cancel)() // it is the question of a single line
		case text == "" || kind == widget.Text && text == ".":
			return q.next()
		case text == "-" && (kind == widget.Line || kind == widget.Text):
			return q.set("")
		}
	}
	return q.take(text)
}

// isCommand tells whether a word behind a colon is surely no secret.
func (q field) isCommand(word string) bool {
	at, err := strconv.Atoi(word)
	return err == nil && at >= 1 && at <= len(q.form.Names()) || slices.Contains([]string{"send", "leave", "back", "again", "?"}, word)
}

// take takes a line for a value, or for a part of one.
func (q field) take(text string) tea.Cmd {
	described := q.form.Field(q.name)
	if described.Kind == widget.Text {
		if text != "." {
			q.s.filling.text = append(q.s.filling.text, text)
			return nil
		}
		text = strings.Join(q.s.filling.text, "\n")
	}
	value, problem := read(described, text)
	if problem != "" {
		q.s.say("Problem: " + problem)
		return nil
	}
	return q.set(value)
}

// set fills in the field as typing would, and goes on unless that is wrong.
func (q field) set(value string) tea.Cmd {
	f := &q.s.filling
	f.text = nil
	if q.form.Field(q.name).Kind != widget.Text {
		value = display.Line(value)
	}
	q.form.FocusOnName(q.name)
	q.form.Set(q.name, value)
	q.form.Do(actions.NextField) // what is wrong shows once a field is left
	var cmd tea.Cmd
	if q.s.app.Overlay() == nil {
		top := q.s.app.Top()
		cmd = tea.Batch(top.Update(screen.Edited{Field: q.name}), top.Update(screen.FieldLeft{}), q.s.app.Deliver())
	}
	if len(q.form.Problems(q.name)) > 0 {
		q.s.sayProblems(q.name)
		return cmd
	}
	return tea.Batch(cmd, q.next())
}

func (q field) next() tea.Cmd {
	names := q.form.Names()
	at := slices.Index(names, q.name)
	if at < 0 {
		q.s.filling.field = q.form.Focus() // the field went with its value
		return nil
	}
	if at+1 < len(names) {
		q.s.filling.field = names[at+1]
		q.form.FocusOn(at + 1)
		return nil
	}
	q.s.filling.sent = true
	return q.s.attempt(actions.Submit)
}

// formCommand does what was asked for instead of a value.
func (s *session) formCommand(word string) tea.Cmd {
	word = strings.ToLower(strings.TrimSpace(word))
	f := &s.filling
	names := f.form.Names()
	at := slices.Index(names, f.field)
	switch word {
	case "send":
		f.sent = true
		return s.attempt(actions.Submit)
	case "leave":
		f.text = nil
		return s.leaving("Left.", actions.Cancel)()
	case "again":
		s.again()
		return nil
	case "say":
		s.sayLines(lines(f.form.Value(f.field)))
		return nil
	case "back":
		if at < 0 {
			at = len(names)
		}
		s.goTo(names[max(0, at-1)])
		return nil
	case "?", "help", "":
		s.formHelp()
		return nil
	}
	if name, ok := fieldCalled(f.form, word); ok {
		s.goTo(name)
		return nil
	}
	if found := find(s.app.Shell().Keys, s.formOffers(), word); len(found) == 1 {
		return s.attempt(found[0].ID)
	}
	s.say(fmt.Sprintf("There is no field and no command %q here; :? lists them.", word))
	return nil
}

func (s *session) goTo(name string) {
	s.filling.field, s.filling.text = name, nil
	s.filling.form.FocusOnName(name)
}

// fieldCalled finds a field by its number, its label, or the beginning of that.
func fieldCalled(form *widget.Form, word string) (string, bool) {
	names := form.Names()
	if n, err := strconv.Atoi(word); err == nil && n >= 1 && n <= len(names) {
		return names[n-1], true
	}
	var found []string
	for _, name := range names {
		switch text := strings.ToLower(label(form, name)); {
		case text == word || name == word:
			return name, true
		case strings.HasPrefix(text, word) || strings.HasPrefix(name, word):
			found = append(found, name)
		}
	}
	if len(found) != 1 {
		return "", false
	}
	return found[0], true
}

// formOffers is what can be done while a form is filled in, beside what its own words do.
func (s *session) formOffers() []actions.Offer {
	own := []actions.ID{actions.NextField, actions.PreviousField, actions.Submit, actions.Cancel}
	return slices.DeleteFunc(s.offers(), func(o actions.Offer) bool { return slices.Contains(own, o.ID) })
}

func (s *session) formHelp() {
	for i, name := range s.filling.form.Names() {
		s.say(fmt.Sprintf(":%d goes to %s.", i+1, label(s.filling.form, name)))
	}
	s.say(":send sends the form. :leave leaves it. :back goes back a field. :say says the field's text. :again says all.")
	s.say("A value that begins with a colon, or is only a dash, is written with := before it.")
	for _, offer := range s.formOffers() {
		action := s.app.Shell().Keys.Action(offer.ID)
		line := ":" + strings.ToLower(strings.TrimSuffix(action.Name, "…")) + "."
		if !offer.Enabled() {
			line += " Not now: " + display.Line(offer.Why)
		}
		s.say(line)
	}
}

// longest is the longest text that is said as what a field holds now; what is longer is said when asked for.
const longest = 120

// prompt is the question for a field: "City (now Berlin), empty keeps it, - clears it: ".
func prompt(f widget.Field, value string) string {
	label := display.Line(f.Label)
	value = display.Text(value)
	switch f.Kind {
	case widget.Secret:
		if value != "" {
			return label + " (hidden), empty keeps it: "
		}
		return label + " (hidden): "
	case widget.Switch:
		return fmt.Sprintf("%s, yes or no (now %s): ", label, display.Line(value))
	case widget.Choice:
		options := make([]string, len(f.Options))
		for i, option := range f.Options {
			options[i] = fmt.Sprintf("%d %s", i+1, display.Line(option))
		}
		return fmt.Sprintf("%s: %s (now %s): ", label, strings.Join(options, ", "), display.Line(value))
	case widget.Text:
		if value == "" {
			return label + ", several lines, the last only a dot" + hint(f) + ": "
		}
		return label + " (now " + inShort(value) + "), several lines, the last only a dot; empty keeps it, - clears it: "
	}
	if value == "" {
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
		return fmt.Sprintf("%s; :say says it", display.Plural(int64(len([]rune(value))), "character", "characters"))
	}
	return value
}

// read makes the value of a field from what was typed, or says as a sentence what is wrong with that.
func read(f widget.Field, text string) (value, problem string) {
	switch f.Kind {
	case widget.Switch:
		switch strings.ToLower(strings.TrimSpace(text)) {
		case "y", "yes":
			return widget.Yes, ""
		case "n", "no":
			return widget.No, ""
		}
		return "", "Type yes or no."
	case widget.Choice:
		if n, err := strconv.Atoi(strings.TrimSpace(text)); err == nil {
			if n < 1 || n > len(f.Options) {
				return "", fmt.Sprintf("The numbers go from 1 to %d.", len(f.Options))
			}
			return f.Options[n-1], ""
		}
		if found := matching(f.Options, strings.TrimSpace(text)); len(found) == 1 {
			return f.Options[found[0]], ""
		}
		return "", fmt.Sprintf("Type a number from 1 to %d.", len(f.Options))
	}
	return text, ""
}
