// Package record edits records of any kind that operation.EditKind describes: one in a form, with a review and a merge,
// several at once, or a new one. It takes back what was saved, and shows what was changed.
package record

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/api/operation"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/theme"
	"example.com/perks/tui/widget"
)

// Kind is a kind of record that is edited, and how screens call it.
type Kind[I ~string, R any, P operation.Patch[R, P]] struct {
	*operation.EditKind[I, R, P]
	Many string     // "properties"
	List actions.ID // shows all of them
	Tab  int
	// Scope is what a client needs to change one.
	Scope api.Scope
	Route func(id I) screen.Route

	Title func(R) string // on one line
	// Summary is what a person checks before the record is created; a deletion asks with its first two lines.
	Summary func(R) []string
	Needs   string // what a new record needs, as a sentence
	// Rows is the order of the fields in forms, and which are beside each other in a wide window. Fields that it does
	// not name come last.
	Rows [][]string
	// CheckNew checks the fields of a new record. The error is CodeValidationFailed.
	CheckNew func([]api.Member) error
	Remember func(*screen.Shell, I, R) tea.Cmd // among those that were opened last

	// IsAbout tells whether an event is about a record, and InEvent returns how that is after it, if the event says so.
	IsAbout func(api.Event, I) bool
	InEvent func(api.Event) *R

	// WhyNot says why this client cannot change a record, "" if it can; nil where its scope tells.
	WhyNot func(ctx context.Context, c *client.Client, id I) (string, error)
}

// field returns a field by its name. One that is not known has no label.
func (k *Kind[I, R, P]) field(name string) api.Field {
	f, _ := k.Field(name)
	return f
}

// Labels returns the names of fields in a sentence.
func (k *Kind[I, R, P]) Labels(names []string) string {
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = lowerLabel(k.field(name))
	}
	return strings.Join(list, ", ")
}

// count counts records: "3 properties".
func (k *Kind[I, R, P]) count(n int) string { return display.Plural(n, k.Name, k.Many) }

// with returns a record with a patch applied.
func (k *Kind[I, R, P]) with(record R, patch P) R {
	patch.Apply(&record)
	return record
}

// offers says which scope the actions need.
func (k *Kind[I, R, P]) offers(offers []actions.Offer) []actions.Offer {
	for i := range offers {
		offers[i].Scope = string(k.Scope)
	}
	return offers
}

// EditMarked offers to change what is marked in a list, all at once.
func (k *Kind[I, R, P]) EditMarked(shell *screen.Shell, marked []Marked[I], own bool) actions.Offer {
	offer := actions.Offer{ID: actions.Edit, Scope: string(k.Scope), Do: func() tea.Cmd {
		return shell.Open(ToMany[I, R, P]{k, marked, own})
	}}
	if len(marked) > 0 {
		offer.Hint = fmt.Sprintf("edit %d marked", len(marked))
	}
	return offer
}

// New opens the form of a new record.
func (k *Kind[I, R, P]) New(shell *screen.Shell) func() tea.Cmd {
	return func() tea.Cmd { return shell.Open(ToNew[I, R, P]{k}) }
}

func lowerLabel(f api.Field) string { return strings.ToLower(f.Label) }

// Displayed is the text of a field as it is shown.
func Displayed(f api.Field, text string) string {
	switch {
	case text == "" && (f.Kind == api.LineField || f.Kind == api.TextField):
		return "(empty)"
	case text == "":
		return "(none)"
	case f.IsMultiline():
		return display.Text(text)
	}
	return display.Line(text)
}

const widthOfNumber = 16

func isNumber(f api.Field) bool { return f.Kind == api.PriceField || f.Kind == api.NumberField }

// ToRead returns a record to read, with the fields where the form to edit it has them.
func (k *Kind[I, R, P]) ToRead(look *theme.Theme, text func(api.Field) string) *widget.Form {
	form := widget.NewForm(look)
	for _, field := range k.formFields() {
		field.Value = text(k.field(field.Name))
		form.Add(field)
	}
	form.ReadOnly()
	return form
}

// required returns the fields of one line that a new record needs, in the order of Fields.
func (k *Kind[I, R, P]) required() (names []string) {
	missing, _ := errors.AsType[*api.Error](k.CheckNew(nil))
	for _, f := range k.Fields() {
		if missing != nil && len(missing.Fields[f.Name]) > 0 && !f.IsMultiline() {
			names = append(names, f.Name)
		}
	}
	return names
}

// formFields returns the fields of a form, without their values and checks. Some come first, each in a row of its own.
func (k *Kind[I, R, P]) formFields(first ...string) (fields []widget.Field) {
	left := k.Fields()
	add := func(name string, beside bool) (added bool) {
		at := slices.IndexFunc(left, func(f api.Field) bool { return f.Name == name })
		if at < 0 { // it was added already, or the service does not have it
			return false
		}
		f := left[at]
		left = slices.Delete(slices.Clone(left), at, at+1)
		field := widget.Field{Name: f.Name, Label: f.Label, Hint: f.Hint, Limit: f.MaxLength, Beside: beside}
		if f.IsMultiline() {
			field.Kind = widget.Text
		}
		if f.Kind == api.ListField {
			field.Hint = "one per line, " + field.Hint
		}
		if isNumber(f) {
			field.Width = widthOfNumber
		}
		fields = append(fields, field)
		return true
	}
	for _, name := range first {
		add(name, false)
	}
	for _, row := range k.Rows {
		beside := false
		for _, name := range row {
			beside = add(name, beside) || beside
		}
	}
	for len(left) > 0 {
		add(left[0].Name, false)
	}
	return fields
}
