package record

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

// ToNew creates a record.
type ToNew[I ~string, R any, P operation.Patch[R, P]] struct{ Kind *Kind[I, R, P] }

func (to ToNew[I, R, P]) Tab() int                              { return to.Kind.Tab }
func (to ToNew[I, R, P]) New(shell *screen.Shell) screen.Screen { return newCreation(shell, to.Kind) }

// Creation is the screen that creates a record: the form of an edit over an empty one. The form shows all that is sent.
// A question comes first only on a protected profile, after an attempt whose outcome is unknown, and in the accessible
// mode, which asks for one field after the other. Each attempt has an idempotency key of its own. While its outcome is
// unknown, nothing but that is sent.
type Creation[I ~string, R any, P operation.Patch[R, P]] struct {
	shell         *screen.Shell
	kind          *Kind[I, R, P]
	width, height int

	edit     *edit[I, R, P]
	notes    []string
	refused  bool // something was not valid when it was submitted
	creating operation.Creating[I, R, P]
	sender   *screen.Sender[operation.Creating[I, R, P]]
}

func newCreation[I ~string, R any, P operation.Patch[R, P]](
	shell *screen.Shell, kind *Kind[I, R, P],
) *Creation[I, R, P] {
	s := &Creation[I, R, P]{shell: shell, kind: kind, sender: screen.NewSender[operation.Creating[I, R, P]](shell)}
	s.edit = kind.newEdit(shell, kind.NewEdit("", client.Version[R]{}))
	s.edit.form = widget.NewForm(shell.Theme)
	for _, field := range kind.formFields(kind.required()...) { // empty ones, also where a record has 0 at first
		field.Eager = true
		field.Check = func(string) string { return s.edit.Problem(field.Name) }
		s.edit.form.Add(field)
	}
	s.edit.form.FocusIndex(0)
	return s
}

func (s *Creation[I, R, P]) Title() string { return "New " + s.kind.Name }
func (s *Creation[I, R, P]) Init() tea.Cmd { return nil }
func (s *Creation[I, R, P]) Resize(width, height int) {
	s.width, s.height = max(1, width), max(1, height)
}

// isInDoubt tells whether a record may have been created.
func (s *Creation[I, R, P]) isInDoubt() bool { return s.creating.State.IsDoubtful() }

// Form returns the form, unless what it has was sent.
func (s *Creation[I, R, P]) Form() *widget.Form {
	if s.sender.Busy() || s.isInDoubt() && s.creating.State != operation.Abandoned {
		return nil
	}
	return s.edit.form
}

func (s *Creation[I, R, P]) Unsaved() string {
	switch {
	case s.sender.Busy():
		return "The " + s.kind.Name + " is being created. You would not see the outcome."
	case s.isInDoubt():
		return "It is unknown whether the " + s.kind.Name + " was created. You could not retry safely."
	case len(s.edit.form.Changed()) > 0:
		return "The " + s.kind.Name + " is not created yet."
	}
	return ""
}

func (s *Creation[I, R, P]) Update(msg tea.Msg) tea.Cmd {
	if sent, mine := s.sender.Handle(msg); mine {
		return s.handleSent(sent)
	}
	if _, is := msg.(screen.Edited); is {
		s.edit.typed()
		s.refused = s.refused && len(s.edit.Invalid()) > 0
	}
	return nil
}

func (s *Creation[I, R, P]) Offers() []actions.Offer {
	switch {
	case s.Form() != nil:
		return append([]actions.Offer{{ID: actions.Submit, Hint: "create", Do: s.submit}},
			append(actions.Enabled(actions.NextField, actions.PreviousField),
				actions.Offer{ID: actions.Cancel, Do: s.cancel})...)
	case s.sender.Busy():
		return []actions.Offer{{ID: actions.Submit, Why: "It is being created."}}
	}
	return s.kind.offers([]actions.Offer{
		{ID: actions.Retry, Do: s.send},
		{ID: actions.StopChecking, Do: func() tea.Cmd {
			s.creating.Attempt = s.creating.GiveUp()
			s.notes = []string{"It may have been created. Look in the list before you create it again."}
			return nil
		}},
	})
}

func (s *Creation[I, R, P]) cancel() tea.Cmd {
	text := s.Unsaved()
	if text == "" {
		return s.shell.Close()
	}
	return s.shell.Post(screen.Confirm{Title: "Discard the new " + s.kind.Name + "?", Text: text, Yes: "discard",
		No: "keep editing", Local: true, Then: s.shell.Close})
}

// submit checks the form, and creates the record, or asks first.
func (s *Creation[I, R, P]) submit() tea.Cmd {
	s.notes, s.refused = nil, false
	s.edit.typed()
	s.edit.form.Check()
	problems := s.edit.Problems()
	var members []api.Member
	for _, name := range s.edit.form.Changed() {
		value := operation.ValueOf(s.kind.field(name), s.edit.form.Value(name))
		members = append(members, api.Member{Name: name, Value: value})
	}
	fields, _ := s.kind.Parse(members)
	err := s.kind.CheckNew(members)
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
	create := func() tea.Cmd {
		s.creating = s.kind.NewCreating("", fields, s.shell.NewID())
		return s.send()
	}
	mayExist := s.creating.State == operation.Abandoned
	seesForm := s.shell.Command == nil
	if seesForm && !mayExist && s.shell.Account.Confirm == nil {
		return create()
	}
	var none R
	text := strings.Join(s.kind.Summary(s.kind.with(none, fields)), "\n") + "\n" + s.forEverybody()
	if mayExist {
		text = "It may have been created already: the outcome is unknown.\n\n" + text
	}
	return s.shell.Post(screen.Confirm{Title: "Create this " + s.kind.Name + "?", Text: text, Yes: "create it",
		Then: create})
}

// forEverybody says who will see the record, and where.
func (s *Creation[I, R, P]) forEverybody() string {
	return "Everybody will see it at " + s.shell.Account.Profile.APIURL
}

// refuse shows problems beside the fields, and goes to the first.
func (s *Creation[I, R, P]) refuse(problems api.FieldErrors) {
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

// send creates the record, or retries under the same idempotency key.
func (s *Creation[I, R, P]) send() tea.Cmd {
	if s.sender.Busy() {
		return nil
	}
	s.notes = nil
	creating := s.creating
	return s.sender.Send(func(ctx context.Context, c *client.Client) (operation.Creating[I, R, P], error) {
		done := creating.Send(ctx, c)
		return done, done.Err
	})
}

func (s *Creation[I, R, P]) handleSent(sent screen.Sent[operation.Creating[I, R, P]]) tea.Cmd {
	err := sent.Err
	if s.creating = sent.Value; s.creating.State == operation.Made {
		made := s.creating.Result.Record
		id := s.kind.IDOf(made)
		text := fmt.Sprintf("Created %s %s, %s.", s.kind.Name, display.Line(string(id)), s.kind.Title(made))
		if s.creating.Earlier || s.creating.Replayed {
			text += " A reply was lost; the service confirmed it."
		}
		if s.kind.Delete != nil {
			text += " " + s.shell.Key(actions.Delete) + " deletes it."
		}
		s.shell.Post(screen.Back{From: s})
		return tea.Batch(screen.Tell(screen.Done, "%s", text), s.shell.Open(s.kind.Route(id)))
	}
	refused, _ := errors.AsType[*client.Error](err)
	what, next := s.shell.Explain(err)
	switch {
	case s.isInDoubt():
		s.notes = Doubt(s.shell, err, "it can't be created twice", "may create it twice")
	case refused != nil && len(refused.Fields) > 0:
		s.notes = []string{"Not created: " + display.Line(refused.Message)}
		s.refuse(refused.Fields)
	default:
		s.notes = []string{"Not created. " + what, "Your text is kept. " + next}
	}
	return nil
}

// Doubt says that the outcome of a change is unknown, and what can be done. once is why a retry is safe where the
// service honours idempotency keys, and twice what it may do elsewhere.
func Doubt(shell *screen.Shell, err error, once, twice string) []string {
	retry := "retries safely: " + once + "."
	if c := shell.Account.Client; c == nil || !c.HonoursKeys() {
		retry = "retries, and " + twice + "."
	}
	return []string{"Unknown outcome. " + screen.Sentence("", err), fmt.Sprintf("%s %s %s stops checking.",
		shell.Key(actions.Retry), retry, shell.Key(actions.StopChecking))}
}

func (s *Creation[I, R, P]) status() string {
	theme := s.shell.Theme
	switch invalid := s.edit.Invalid(); {
	case s.sender.Busy():
		return theme.Info.Render("Creating the " + s.kind.Name + " ...")
	case s.refused && len(invalid) > 0:
		return theme.Bad.Render("! Fix first: " + s.kind.Labels(invalid) + ".")
	case s.creating.State == operation.Abandoned:
		return theme.Warn.Render("It may have been created.")
	case len(s.edit.form.Changed()) > 0:
		return theme.Warn.Render("Not created yet. " + s.forEverybody())
	}
	return theme.Muted.Render(s.kind.Needs)
}

func (s *Creation[I, R, P]) View() string {
	view, _ := viewForm(s.shell.Theme, s.edit.form, s.notes, s.status, s.width, s.height)
	return view
}

func (s *Creation[I, R, P]) AccessibleText() string {
	lines := append(LinearNotes(s.notes), s.edit.form.AccessibleText())
	if s.sender.Busy() {
		lines = []string{"Creating the " + s.kind.Name + " ..."}
	}
	return strings.Join(lines, "\n")
}
