package property

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
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

// Many is the screen that changes fields of several properties at once: a form, one review of what that would do to
// each, and what became of each. Nothing is sent that was not reviewed, and each change is only for the version that
// was.
type Many struct {
	shell         *screen.Shell
	width, height int

	marked []api.Property // as the list had them
	own    bool           // all are this client's
	form   *widget.Form
	notes  []string
	scroll scroll
	table  *widget.Table // of the results; nil before
	folded bool          // the review shows a few examples

	plan   *plan // what is reviewed, sent or done; nil while the form is filled in
	reader *screen.Loader[[]*target]
	sender *screen.Sender[struct{}]
}

// atOnce is how many properties are read or changed at the same time.
const atOnce = 4

// roundField is beside the fields of a property: the step to which changed amounts are rounded.
const roundField = "round"

func NewMany(shell *screen.Shell, route screen.ToManyProperties) *Many {
	s := &Many{shell: shell, marked: route.Properties, own: route.Own, form: widget.NewForm(shell.Theme),
		reader: screen.NewLoader[[]*target](shell), sender: screen.NewSender[struct{}](shell)}
	for _, f := range fields() {
		field := formField(f)
		switch field.Hint = ""; {
		case !api.IsAmount(f.Name):
		case f.Kind == api.PriceField:
			field.Hint = "such as 120.50, +5%, -12.50 or *1.05"
		default:
			field.Hint = "such as 3 or +1"
		}
		field.Check = func(text string) string { return s.problem(f.Field, text) }
		s.form.Add(field)
	}
	s.form.Add(widget.Field{
		Name: roundField, Label: "Round to", Width: widthOfNumber, Hint: "such as 0.50, or nothing",
	})
	s.form.FocusIndex(0)
	s.form.MarkChanges()
	return s
}

// problem says what is wrong with the text of a field; "" if nothing is. An empty one leaves the field as it is.
func (s *Many) problem(of api.Field, text string) string {
	if text == "" {
		return ""
	}
	_, err := api.ParseChanges([]api.Member{{Name: of.Name, Value: operation.ValueOf(of, text)}}, "")
	if invalid, is := errors.AsType[*api.Error](err); is {
		return strings.Join(invalid.Fields[of.Name], ", ")
	}
	return ""
}

// changes reads the form.
func (s *Many) changes() (api.Changes, error) {
	var members []api.Member
	for _, name := range s.form.Changed() {
		if f, known := api.PropertyFieldNamed(name); known {
			members = append(members, api.Member{Name: name, Value: operation.ValueOf(f, s.form.Value(name))})
		}
	}
	return api.ParseChanges(members, strings.TrimSpace(s.form.Value(roundField)))
}

func (s *Many) Title() string {
	if s.plan != nil && s.plan.undoes {
		return "Undo in " + count(len(s.plan.targets))
	}
	return "Edit " + count(len(s.marked))
}

func count(properties int) string { return display.Plural(properties, "property", "properties") }

func (s *Many) Init() tea.Cmd            { return nil }
func (s *Many) Resize(width, height int) { s.width, s.height = max(1, width), max(1, height) }
func (s *Many) isSending() bool          { return s.sender.Busy() }
func (s *Many) isDone() bool             { return s.plan != nil && s.plan.isSent && !s.isSending() }
func (s *Many) isReviewing() bool        { return s.plan != nil && !s.plan.isSent }
func (s *Many) note(text string) *Many   { s.notes = append(s.notes, text); return s }
func (s *Many) Watches(api.Event) bool   { return false }
func (s *Many) WatchesWhileTyping() bool { return false }
func (s *Many) Choose(row int) (has bool) { // of the results
	if !s.isDone() || row < 1 || row > s.table.Len() {
		return false
	}
	s.table.SetCursor(row - 1)
	return true
}

func (s *Many) Form() *widget.Form {
	if s.plan != nil || s.reader.Busy() {
		return nil
	}
	return s.form
}

// Close starts no further change.
func (s *Many) Close() {
	s.reader.Cancel()
	if s.isSending() {
		s.plan.batch.Stop(errStopped)
		s.shell.Progress = ""
	}
}

func (s *Many) Unsaved() string {
	switch {
	case s.isSending():
		return fmt.Sprintf("%s: those that are left would not be sent, and you would not see the outcome.",
			display.Capital(s.plan.progress(s.plan.done)))
	case s.isDone():
		if unknown := s.plan.count(operation.RowUnknown); unknown > 0 {
			return "It is unknown whether " + count(unknown) + " changed."
		}
		return ""
	case len(s.form.Changed()) > 0 && (s.plan == nil || !s.plan.undoes):
		return "The changes to " + count(len(s.marked)) + " are not saved."
	}
	return ""
}

func (s *Many) Update(msg tea.Msg) tea.Cmd {
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

func (s *Many) Offers() []actions.Offer {
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
	return append([]actions.Offer{
		{ID: actions.Open, Do: func() tea.Cmd {
			return s.shell.Open(screen.ToProperty{ID: s.plan.targets[s.table.Cursor()].ID})
		}},
		{ID: actions.Undo, Why: none, Hint: "undo all", Do: s.undo},
		{ID: actions.CopyID, Do: func() tea.Cmd {
			return s.shell.Copy(string(s.plan.targets[s.table.Cursor()].ID), "")
		}},
	}, widget.Moves(s.move)...)
}

func (s *Many) move(id actions.ID) tea.Cmd {
	if s.isDone() {
		s.table.Do(id)
		return nil
	}
	return s.scroll.Scrolled(id)
}

func (s *Many) discard() tea.Cmd {
	if len(s.form.Changed()) == 0 {
		return s.shell.Close()
	}
	return s.shell.Post(screen.Confirm{
		Title: "Discard your changes?", Yes: "discard", No: "keep editing", Local: true, Then: s.shell.Close,
		Text: display.Plural(len(s.marked), "property stays as it is.", "properties stay as they are."),
	})
}

// review reads the properties, to show what the form would do to each.
func (s *Many) review() tea.Cmd {
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
	marked, asksOwner := s.marked, !s.own && !s.shell.Account.Client.Lacks(api.ScopePropertiesRead)
	load := s.reader.Load(func(ctx context.Context, c *client.Client) ([]*target, error) {
		targets := make([]*target, len(marked))
		reads, ctx := errgroup.WithContext(ctx)
		reads.SetLimit(atOnce)
		for i, p := range marked {
			targets[i] = &target{title: display.Line(p.Title)}
			targets[i].Kind, targets[i].ID = operation.Properties, p.PropertyID()
			reads.Go(func() error { return targets[i].read(ctx, c, changes, asksOwner) })
		}
		return targets, reads.Wait()
	})
	s.plan = &plan{fields: changes.Fields()}
	return load
}

// read reads the property, and finds out what the changes would do to it, or why it cannot be changed. The error would
// meet the others too.
func (t *target) read(ctx context.Context, c *client.Client, changes api.Changes, asksOwner bool) (err error) {
	t.PropertySaving = t.Read(ctx, c)
	if client.IsNotFound(t.ReadErr) {
		t.whyNot = "There is no such property any more."
		return nil
	}
	if t.ReadErr != nil {
		return t.ReadErr
	}
	if asksOwner { // its history is for its owner alone
		_, err := c.PropertyHistory(ctx, t.ID, client.ListOptions{PerPage: 1})
		refused, is := errors.AsType[*client.Error](err)
		if is && refused.Status == http.StatusForbidden && refused.Code != api.CodeInsufficientScope {
			t.whyNot = "It belongs to another client."
			return nil
		}
		if err != nil && (!is || screen.MeetsAll(err) && !screen.IsLacking(err)) {
			return err
		}
	}
	before := t.Current.Record
	t.Base, t.ETag, t.title = &before, t.Current.ETag, display.Line(before.Title)
	t.Patch, err = changes.Of(before)
	if invalid, is := errors.AsType[*api.Error](err); is {
		var wrong []string
		for _, name := range changes.Fields() {
			if problems := invalid.Fields[name]; len(problems) > 0 {
				wrong = append(wrong, fieldNamed(name).Label+" "+strings.Join(problems, ", "))
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

// handleRead shows the review once all properties are read.
func (s *Many) handleRead() tea.Cmd {
	if err := s.reader.Err; err != nil {
		s.plan = nil
		what, next := s.shell.Explain(err)
		s.note("Nothing was sent: not all properties were read. " + what).note(next)
		return nil
	}
	s.plan.targets = s.reader.Value
	s.turn()
	return nil
}

// turn shows the plan from its beginning.
func (s *Many) turn() { s.scroll, s.notes, s.folded, s.table = scroll{}, nil, true, nil }

// leaveReview goes back to the form, or to the results that were to be undone.
func (s *Many) leaveReview() tea.Cmd {
	s.plan = s.plan.of
	s.turn()
	if s.plan != nil {
		s.table = s.results()
	}
	return nil
}

// send sends the changes that were reviewed. A protected profile asks first; elsewhere the review is the question.
func (s *Many) send() tea.Cmd {
	p := s.plan
	send := func() tea.Cmd {
		if s.plan != p || p.isSent {
			return nil
		}
		p.begin(s.shell.Sleep)
		s.shell.Progress = p.progress(0)
		s.scroll = scroll{}
		return tea.Batch(p.reports.Wait, s.sender.Send(p.run))
	}
	if s.shell.Account.Confirm == nil {
		return send()
	}
	return s.shell.Post(screen.Confirm{
		Title: "Save " + count(p.changing()) + "?",
		Text:  fmt.Sprintf("Changes %s at %s", labels(p.fields), s.shell.Account.Profile.APIURL),
		Yes:   "save", Then: send,
	})
}

// handleSent shows what became of each property.
func (s *Many) handleSent() tea.Cmd {
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
	return tea.Batch(screen.Tell(kind, "%s", s.plan.summary()), screen.Send(changedMany{changed}))
}

// changedMany tells the list which properties were changed.
type changedMany struct{ ids []string }

// undo reviews how each property gets back to what it was.
func (s *Many) undo() tea.Cmd {
	undo := &plan{undoes: true, of: s.plan, fields: s.plan.fields}
	for _, t := range s.plan.targets {
		if t.state != operation.RowDone {
			continue
		}
		after := t.Base.With(t.Patch)
		back := &target{title: t.title}
		back.Kind, back.ID, back.ETag, back.Base = t.Kind, t.ID, t.left, &after
		back.Patch = api.PropertyChanges(after, *t.Base)
		undo.targets = append(undo.targets, back)
	}
	s.plan = undo
	s.turn()
	return nil
}

// names returns the fields in words.
func (p *plan) names() string { return cmp.Or(labels(p.fields), "nothing") }

// isOdd tells whether a target is not changed, or was not.
func isOdd(t *target) bool { return t.whyNot != "" || t.state != operation.RowDone }

// oddFirst sorts what needs attention first.
func oddFirst(targets []*target) {
	slices.SortStableFunc(targets, func(a, b *target) int {
		switch odd, other := isOdd(a), isOdd(b); {
		case odd == other:
			return 0
		case odd:
			return -1
		}
		return 1
	})
}
