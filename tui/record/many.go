package record

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
	"golang.org/x/sync/errgroup"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/api/operation"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

// Marked is a record that is marked in a list.
type Marked[I ~string] struct {
	ID    I
	Title string
}

// ToMany changes several records at once.
type ToMany[I ~string, R any, P operation.Patch[R, P]] struct {
	Kind   *Kind[I, R, P]
	Marked []Marked[I]
	Own    bool // they are known to be this client's
}

func (to ToMany[I, R, P]) Tab() int                              { return to.Kind.Tab }
func (to ToMany[I, R, P]) New(shell *screen.Shell) screen.Screen { return newMany(shell, to) }

// Many is the screen that changes fields of several records at once: a form, one review of what that would do to
// each, and what became of each. Nothing is sent that was not reviewed, and each change is only for the version that
// was.
type Many[I ~string, R any, P operation.Patch[R, P]] struct {
	ToMany[I, R, P]
	shell         *screen.Shell
	width, height int

	form   *widget.Form
	notes  []string
	scroll Scroll
	table  *widget.Table // of the results; nil before
	folded bool          // the review shows a few examples

	plan   *plan[I, R, P] // what is reviewed, sent or done; nil while the form is filled in
	reader *screen.Loader[[]*target[I, R, P]]
	sender *screen.Sender[struct{}]
}

// atOnce is how many records are read or changed at the same time.
const atOnce = 4

// roundField is beside the fields of a record: the step to which changed amounts are rounded.
const roundField = "round"

func newMany[I ~string, R any, P operation.Patch[R, P]](shell *screen.Shell, to ToMany[I, R, P]) *Many[I, R, P] {
	s := &Many[I, R, P]{ToMany: to, shell: shell, form: widget.NewForm(shell.Theme),
		reader: screen.NewLoader[[]*target[I, R, P]](shell), sender: screen.NewSender[struct{}](shell)}
	rounds := false
	for _, field := range s.Kind.formFields() {
		f := s.Kind.field(field.Name)
		switch field.Hint = ""; {
		case !s.Kind.Amounts.IsAmount(f.Name):
		case f.Kind == api.PriceField:
			rounds = true
			field.Hint = "such as 120.50, +5%, -12.50 or *1.05"
		default:
			field.Hint = "such as 3 or +1"
		}
		field.Check = func(text string) string { return s.problem(f, text) }
		s.form.Add(field)
	}
	if rounds {
		s.form.Add(widget.Field{
			Name: roundField, Label: "Round to", Width: widthOfNumber, Hint: "such as 0.50, or nothing",
		})
	}
	s.form.FocusIndex(0)
	s.form.MarkChanges()
	return s
}

// problem says what is wrong with the text of a field; "" if nothing is. An empty one leaves the field as it is.
func (s *Many[I, R, P]) problem(of api.Field, text string) string {
	if text == "" {
		return ""
	}
	_, err := s.Kind.Amounts.Parse([]api.Member{{Name: of.Name, Value: operation.ValueOf(of, text)}}, "")
	if invalid, is := errors.AsType[*api.Error](err); is {
		return strings.Join(invalid.Fields[of.Name], ", ")
	}
	return ""
}

// changes reads the form.
func (s *Many[I, R, P]) changes() (api.Changes[R, P], error) {
	var members []api.Member
	for _, name := range s.form.Changed() {
		if f, known := s.Kind.Field(name); known {
			members = append(members, api.Member{Name: name, Value: operation.ValueOf(f, s.form.Value(name))})
		}
	}
	round := ""
	if slices.Contains(s.form.Names(), roundField) {
		round = strings.TrimSpace(s.form.Value(roundField))
	}
	return s.Kind.Amounts.Parse(members, round)
}

func (s *Many[I, R, P]) Title() string {
	if s.plan != nil && s.plan.undoes {
		return "Undo in " + s.Kind.count(len(s.plan.targets))
	}
	return "Edit " + s.Kind.count(len(s.Marked))
}

func (s *Many[I, R, P]) Init() tea.Cmd                   { return nil }
func (s *Many[I, R, P]) Resize(width, height int)        { s.width, s.height = max(1, width), max(1, height) }
func (s *Many[I, R, P]) isSending() bool                 { return s.sender.Busy() }
func (s *Many[I, R, P]) isDone() bool                    { return s.plan != nil && s.plan.isSent && !s.isSending() }
func (s *Many[I, R, P]) isReviewing() bool               { return s.plan != nil && !s.plan.isSent }
func (s *Many[I, R, P]) note(text string) *Many[I, R, P] { s.notes = append(s.notes, text); return s }
func (s *Many[I, R, P]) Watches(api.Event) bool          { return false }
func (s *Many[I, R, P]) WatchesWhileTyping() bool        { return false }
func (s *Many[I, R, P]) HasRows() bool                   { return s.isDone() }
func (s *Many[I, R, P]) Choose(row int) (has bool) { // of the results
	if row < 1 || row > s.table.Len() {
		return false
	}
	s.table.SetCursor(row - 1)
	return true
}

func (s *Many[I, R, P]) Form() *widget.Form {
	if s.plan != nil || s.reader.Busy() {
		return nil
	}
	return s.form
}

// Close starts no further change.
func (s *Many[I, R, P]) Close() {
	s.reader.Cancel()
	if s.isSending() {
		s.plan.batch.Stop(errStopped)
		s.shell.Progress = ""
	}
}

func (s *Many[I, R, P]) Unsaved() string {
	switch {
	case s.isSending():
		return fmt.Sprintf("%s: those that are left would not be sent, and you would not see the outcome.",
			display.Capital(s.plan.progress(s.plan.done)))
	case s.isDone():
		if unknown := s.plan.count(operation.RowUnknown); unknown > 0 {
			return "It is unknown whether " + s.Kind.count(unknown) + " changed."
		}
		return ""
	case len(s.form.Changed()) > 0 && (s.plan == nil || !s.plan.undoes):
		return "The changes to " + s.Kind.count(len(s.Marked)) + " are not saved."
	}
	return ""
}

func (s *Many[I, R, P]) Update(msg tea.Msg) tea.Cmd {
	if _, changed := s.reader.Handle(msg); changed {
		return s.handleRead()
	}
	if s.plan != nil && s.plan.reports != nil {
		if done, next, mine := s.plan.reports.Handle(msg); mine && s.isSending() {
			if done != nil {
				s.plan.done = *done
				s.shell.Progress = s.plan.progress(*done)
			}
			return next
		}
	}
	if _, mine := s.sender.Handle(msg); mine {
		return s.handleSent()
	}
	if mouse, is := msg.(screen.Mouse); is && mouse.Wheel != "" {
		s.move(mouse.Wheel)
	}
	return nil
}

func (s *Many[I, R, P]) Offers() []actions.Offer {
	switch p := s.plan; {
	case s.reader.Busy():
		return []actions.Offer{{ID: actions.Back, Hint: "cancel", Do: func() tea.Cmd {
			s.reader.Cancel()
			s.plan = nil
			return nil
		}}}
	case p == nil:
		return append([]actions.Offer{{ID: actions.Submit, Hint: "review", Do: s.review}},
			append(actions.Enabled(actions.NextField, actions.PreviousField),
				actions.Offer{ID: actions.Cancel, Do: s.discard})...)
	case s.isSending():
		return append([]actions.Offer{{ID: actions.Back, Hint: "stop", Do: func() tea.Cmd {
			p.batch.Stop(errStopped)
			return screen.Tell(screen.Note, "Stopping. Those that are left are not sent.")
		}}}, s.scroll.Moves(s.move)...)
	case s.isReviewing():
		word, fold := "save", "show all"
		if p.undoes {
			word = "undo"
		}
		if !s.folded {
			fold = "fold"
		}
		offers := []actions.Offer{
			{ID: actions.Submit, Why: actions.WhyIf(p.changing() == 0, "Nothing changes."), Hint: word,
				Do: s.send},
			{ID: actions.Back, Do: s.leaveReview},
		}
		if p.changing() > examples {
			offers = append(offers, actions.Offer{ID: actions.Open, Hint: fold, Do: func() tea.Cmd {
				s.folded = !s.folded
				return nil
			}})
		}
		return append(offers, s.scroll.Moves(s.move)...)
	}
	none := actions.WhyIf(s.plan.count(operation.RowDone) == 0, "Nothing was changed.")
	return append(s.Kind.offers([]actions.Offer{
		{ID: actions.Open, Do: func() tea.Cmd {
			return s.shell.Open(s.Kind.Route(s.plan.targets[s.table.Cursor()].ID))
		}},
		{ID: actions.Undo, Why: none, Hint: "undo all", Do: s.undo},
		{ID: actions.CopyID, Do: func() tea.Cmd {
			return s.shell.Copy(string(s.plan.targets[s.table.Cursor()].ID), "")
		}},
	}), widget.Moves(s.move)...)
}

func (s *Many[I, R, P]) move(id actions.ID) tea.Cmd {
	if s.isDone() {
		s.table.Do(id)
		return nil
	}
	return s.scroll.Scrolled(id)
}

func (s *Many[I, R, P]) discard() tea.Cmd {
	if len(s.form.Changed()) == 0 {
		return s.shell.Close()
	}
	return s.shell.Post(screen.Confirm{
		Title: "Discard your changes?", Yes: "discard", No: "keep editing", Local: true, Then: s.shell.Close,
		Text: display.Plural(len(s.Marked), s.Kind.Name+" stays as it is.", s.Kind.Many+" stay as they are."),
	})
}

// review reads the records, to show what the form would do to each.
func (s *Many[I, R, P]) review() tea.Cmd {
	s.notes = nil
	changes, err := s.changes()
	if invalid, is := errors.AsType[*api.Error](err); is {
		s.form.Check()
		s.form.Refuse(invalid.Fields)
		for _, name := range s.form.Names() {
			if len(invalid.Fields[name]) > 0 {
				s.form.FocusOnName(name)
				break
			}
		}
		return nil
	}
	if len(changes.Fields()) == 0 {
		return screen.Tell(screen.Note, "Nothing was changed.")
	}
	kind, marked, whyNot := s.Kind, s.Marked, s.Kind.WhyNot
	if s.Own {
		whyNot = nil
	}
	load := s.reader.Load(func(ctx context.Context, c *client.Client) ([]*target[I, R, P], error) {
		targets := make([]*target[I, R, P], len(marked))
		reads, ctx := errgroup.WithContext(ctx)
		reads.SetLimit(atOnce)
		for i, p := range marked {
			targets[i] = &target[I, R, P]{kind: kind, title: p.Title}
			targets[i].Kind, targets[i].ID = kind.EditKind, p.ID
			reads.Go(func() error { return targets[i].read(ctx, c, changes, whyNot) })
		}
		return targets, reads.Wait()
	})
	s.plan = &plan[I, R, P]{kind: s.Kind, fields: changes.Fields()}
	return load
}

// read reads the record, and finds out what the changes would do to it, or why it cannot be changed. The error would
// meet the others too.
func (t *target[I, R, P]) read(
	ctx context.Context, c *client.Client, changes api.Changes[R, P],
	whyNot func(context.Context, *client.Client, I) (string, error),
) (err error) {
	t.Saving = t.Read(ctx, c)
	if client.IsNotFound(t.ReadErr) {
		t.whyNot = "There is no such " + t.kind.Name + " any more."
		return nil
	}
	if t.ReadErr != nil {
		return t.ReadErr
	}
	if whyNot != nil {
		if t.whyNot, err = whyNot(ctx, c, t.ID); t.whyNot != "" || err != nil {
			return err
		}
	}
	before := t.Current.Record
	t.Base, t.ETag, t.title = &before, t.Current.ETag, t.kind.Title(before)
	t.Patch, err = changes.Of(before)
	if invalid, is := errors.AsType[*api.Error](err); is {
		var wrong []string
		for _, name := range changes.Fields() {
			if problems := invalid.Fields[name]; len(problems) > 0 {
				wrong = append(wrong, t.kind.field(name).Label+" "+strings.Join(problems, ", "))
			}
		}
		t.whyNot = display.Line(strings.Join(wrong, "; ")) + "."
		return nil
	}
	if t.Patch.IsEmpty() {
		t.whyNot = "It is so already."
	}
	return nil
}

// handleRead shows the review once all records are read.
func (s *Many[I, R, P]) handleRead() tea.Cmd {
	if err := s.reader.Err; err != nil {
		s.plan = nil
		what, next := s.shell.Explain(err)
		s.note("Nothing was sent: not all " + s.Kind.Many + " were read. " + what).note(next)
		return nil
	}
	s.plan.targets = s.reader.Value
	s.turn()
	return nil
}

// turn shows the plan from its beginning.
func (s *Many[I, R, P]) turn() { s.scroll, s.notes, s.folded, s.table = Scroll{}, nil, true, nil }

// leaveReview goes back to the form, or to the results that were to be undone.
func (s *Many[I, R, P]) leaveReview() tea.Cmd {
	s.plan = s.plan.of
	s.turn()
	if s.plan != nil {
		s.table = s.results()
	}
	return nil
}

// send sends the changes that were reviewed. A protected profile asks first; elsewhere the review is the question.
func (s *Many[I, R, P]) send() tea.Cmd {
	p := s.plan
	send := func() tea.Cmd {
		if s.plan != p || p.isSent {
			return nil
		}
		p.begin(s.shell.Sleep)
		s.shell.Progress = p.progress(0)
		s.scroll = Scroll{}
		return tea.Batch(p.reports.Wait, s.sender.Send(p.run))
	}
	if s.shell.Account.Confirm == nil {
		return send()
	}
	return s.shell.Post(screen.Confirm{
		Title: "Save " + s.Kind.count(p.changing()) + "?",
		Text:  fmt.Sprintf("Changes %s at %s", s.Kind.Labels(p.fields), s.shell.Account.Profile.APIURL),
		Yes:   "save", Then: send,
	})
}

// handleSent shows what became of each record.
func (s *Many[I, R, P]) handleSent() tea.Cmd {
	s.plan.reports.Stop()
	s.shell.Progress = ""
	s.turn()
	s.table = s.results()
	var changed []string
	for _, t := range s.plan.targets {
		if t.state == operation.RowDone {
			changed = append(changed, string(t.ID))
		}
	}
	kind := screen.Done
	if len(changed) < s.plan.all {
		kind = screen.Warning
	}
	return tea.Batch(screen.Tell(kind, "%s", s.plan.summary()), screen.Send(Changed{s.Kind.Name, changed}))
}

// Changed tells a list which of its records were changed.
type Changed struct {
	Kind string
	IDs  []string
}

// undo reviews how each record gets back to what it was.
func (s *Many[I, R, P]) undo() tea.Cmd {
	undo := &plan[I, R, P]{kind: s.Kind, undoes: true, of: s.plan, fields: s.plan.fields}
	for _, t := range s.plan.targets {
		if t.state != operation.RowDone {
			continue
		}
		after := s.Kind.with(*t.Base, t.Patch)
		back := &target[I, R, P]{kind: s.Kind, title: t.title}
		back.Kind, back.ID, back.ETag, back.Base = t.Kind, t.ID, t.left, &after
		back.Patch = s.Kind.Changes(after, *t.Base)
		undo.targets = append(undo.targets, back)
	}
	s.plan = undo
	s.turn()
	return nil
}

// names returns the fields in words.
func (p *plan[I, R, P]) names() string { return cmp.Or(p.kind.Labels(p.fields), "nothing") }

// isOdd tells whether a target is not changed, or was not.
func (t *target[I, R, P]) isOdd() bool { return t.whyNot != "" || t.state != operation.RowDone }

// oddFirst sorts what needs attention first.
func (p *plan[I, R, P]) oddFirst() {
	slices.SortStableFunc(p.targets, func(a, b *target[I, R, P]) int {
		switch odd, other := a.isOdd(), b.isOdd(); {
		case odd == other:
			return 0
		case odd:
			return -1
		}
		return 1
	})
}
