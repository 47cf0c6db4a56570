package property

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/api/operation"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

// Creation is the screen that creates a property: the form of an edit over an empty one, and a question. Each answer
// has an idempotency key of its own. While it is unknown what became of one, nothing but that is sent.
type Creation struct {
	shell         *screen.Shell
	width, height int

	edit     *edit
	notes    []string
	refused  bool // something was not valid when it was submitted
	creating operation.PropertyCreating
	sender   *screen.Sender[operation.PropertyCreating]
}

func NewCreation(shell *screen.Shell) *Creation {
	s := &Creation{shell: shell, sender: screen.NewSender[operation.PropertyCreating](shell)}
	s.edit = newEdit(shell, operation.Properties.NewEdit("", operation.PropertyVersion{}))
	s.edit.form = widget.NewForm(shell.Theme)
	for _, f := range fields() { // empty ones, also where a property has 0 at first
		field := formField(f)
		field.Limit, field.Eager = f.MaxLength, true
		field.Check = func(string) string { return s.edit.Problem(f.Name) }
		s.edit.form.Add(field)
	}
	s.edit.form.FocusIndex(0)
	return s
}

func (s *Creation) Title() string            { return "New property" }
func (s *Creation) Init() tea.Cmd            { return nil }
func (s *Creation) Resize(width, height int) { s.width, s.height = max(1, width), max(1, height) }

// isInDoubt tells whether a property may have been created.
func (s *Creation) isInDoubt() bool { return s.creating.State.IsDoubtful() }

// Form returns the form, unless what it has was sent.
func (s *Creation) Form() *widget.Form {
	if s.sender.Busy() || s.isInDoubt() && s.creating.State != operation.Abandoned {
		return nil
	}
	return s.edit.form
}

func (s *Creation) Unsaved() string {
	switch {
	case s.sender.Busy():
		return "The property is being created. You would not see the outcome."
	case s.isInDoubt():
		return "It is unknown whether the property was created. You could not retry safely."
	case len(s.edit.form.Changed()) > 0:
		return "The property is not created yet."
	}
	return ""
}

func (s *Creation) Update(msg tea.Msg) tea.Cmd {
	if sent, mine := s.sender.Handle(msg); mine {
		return s.handleSent(sent)
	}
	if _, is := msg.(screen.Edited); is {
		s.edit.typed()
		s.refused = s.refused && len(s.edit.Invalid()) > 0
	}
	return nil
}

func (s *Creation) Offers() []actions.Offer {
	switch {
	case s.Form() != nil:
		return append([]actions.Offer{{ID: actions.Submit, Hint: "create", Do: s.submit}},
			append(actions.Enabled(actions.NextField, actions.PreviousField),
				actions.Offer{ID: actions.Cancel, Do: s.cancel})...)
	case s.sender.Busy():
		return []actions.Offer{{ID: actions.Submit, Why: "It is being created."}}
	}
	return []actions.Offer{
		{ID: actions.Retry, Do: s.send},
		{ID: actions.StopChecking, Do: func() tea.Cmd {
			s.creating.Attempt = s.creating.GiveUp()
			s.notes = []string{"It may have been created. Look in the list before you create it again."}
			return nil
		}},
	}
}

func (s *Creation) cancel() tea.Cmd {
	text := s.Unsaved()
	if text == "" {
		return s.shell.Close()
	}
	return s.shell.Post(screen.Confirm{Title: "Discard the new property?", Text: text, Yes: "discard",
		No: "keep editing", Local: true, Then: s.shell.Close})
}

// submit checks the form, and asks.
func (s *Creation) submit() tea.Cmd {
	s.notes, s.refused = nil, false
	s.edit.typed()
	s.edit.form.Check()
	problems := s.edit.Problems()
	var members []api.Member
	for _, name := range s.edit.form.Changed() {
		f, _ := api.PropertyFieldNamed(name)
		members = append(members, api.Member{Name: name, Value: operation.ValueOf(f, s.edit.form.Value(name))})
	}
	wanted, err := api.ParseNewProperty(members)
	if invalid, is := errors.AsType[*api.Error](err); is {
		for name, missing := range invalid.Fields {
			if len(problems[name]) == 0 {
				problems[name] = missing
			}
		}
	}
	if len(problems) > 0 {
		s.refuse(problems)
		return nil
	}
	fields := api.PropertyChanges(api.Property{}, wanted)
	fields.PricePW = api.Some(wanted.PricePW) // required, also where it is 0
	text := fmt.Sprintf("%s\n%s\n%s\nFor everybody to see, at %s", display.Line(wanted.Title), address(wanted),
		priceOf(wanted), s.shell.Account.Profile.APIURL)
	if s.creating.State == operation.Abandoned {
		text = "It may have been created already: the outcome is unknown.\n\n" + text
	}
	return s.shell.Post(screen.Confirm{Title: "Create this property?", Text: text, Yes: "create it",
		Then: func() tea.Cmd {
			s.creating = operation.Properties.NewCreating("", fields, s.shell.NewID())
			return s.send()
		}})
}

// refuse shows problems beside the fields, and goes to the first.
func (s *Creation) refuse(problems api.FieldErrors) {
	s.refused = true
	others := s.edit.form.Refuse(problems)
	for _, name := range slices.Sorted(maps.Keys(others)) {
		s.notes = append(s.notes, name+" "+strings.Join(others[name], ", "))
	}
	for _, name := range s.edit.form.Names() {
		if len(problems[name]) > 0 {
			s.edit.form.FocusOnName(name)
			return
		}
	}
}

// send creates the property, or retries under the same idempotency key.
func (s *Creation) send() tea.Cmd {
	if s.sender.Busy() {
		return nil
	}
	s.notes = nil
	creating := s.creating
	return s.sender.Send(func(ctx context.Context, c *client.Client) (operation.PropertyCreating, error) {
		done := creating.Send(ctx, c)
		return done, done.Err
	})
}

func (s *Creation) handleSent(sent screen.Sent[operation.PropertyCreating]) tea.Cmd {
	err := sent.Err
	if s.creating = sent.Value; s.creating.State == operation.Made {
		id := s.creating.Result.Record.PropertyID()
		text := fmt.Sprintf("Created property %s, %s.", display.Line(string(id)),
			display.Line(s.creating.Result.Record.Title))
		if s.creating.Earlier || s.creating.Replayed {
			text += " A reply was lost; the service confirmed it."
		}
		s.shell.Post(screen.Back{From: s})
		return tea.Batch(screen.Tell(screen.Done, "%s", text), s.shell.Open(screen.ToProperty{ID: id}))
	}
	refused, _ := errors.AsType[*client.Error](err)
	what, next := s.shell.Explain(err)
	switch {
	case s.isInDoubt():
		retry := "retries safely: it can't be created twice."
		if c := s.shell.Account.Client; c == nil || !c.HonoursKeys() {
			retry = "retries, and may create it twice."
		}
		s.notes = []string{"Unknown outcome. " + screen.Sentence("", err), fmt.Sprintf("%s %s %s stops checking.",
			s.shell.Key(actions.Retry), retry, s.shell.Key(actions.StopChecking))}
	case refused != nil && len(refused.Fields) > 0:
		s.notes = []string{"Not created: " + display.Line(refused.Message)}
		s.refuse(refused.Fields)
	default:
		s.notes = []string{"Not created. " + what, "Your text is kept. " + next}
	}
	return nil
}

func (s *Creation) status() string {
	theme := s.shell.Theme
	switch invalid := s.edit.Invalid(); {
	case s.sender.Busy():
		return theme.Info.Render("Creating the property ...")
	case s.refused && len(invalid) > 0:
		return theme.Bad.Render("! Fix first: " + labels(invalid) + ".")
	case len(s.edit.form.Changed()) > 0:
		return theme.Warn.Render("Not created yet.")
	}
	return theme.Muted.Render("A title and a price are needed.")
}

func (s *Creation) View() string {
	view, _ := viewForm(s.shell.Theme, s.edit.form, s.notes, s.status(), s.width, s.height)
	return view
}

func (s *Creation) AccessibleText() string {
	lines := append(linearNotes(s.notes), s.edit.form.AccessibleText())
	if s.sender.Busy() {
		lines = []string{"Creating the property ..."}
	}
	return strings.Join(lines, "\n")
}
