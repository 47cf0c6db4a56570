package perks

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

// oldAfter is the age from which on the list says how old it is.
const oldAfter = 5 * time.Minute

// noRows says why there are no rows, if there are none.
func (s *Screen) noRows() (title, advice string, mood widget.Mood, none bool) {
	switch {
	case len(s.shown) > 0:
		return "", "", widget.Empty, false
	case s.isBusy():
		return "Loading perks ...", "", widget.Loading, true
	case s.list.Err != nil:
		problem, advice := s.failure("The perks could not be loaded.")
		return problem, advice, widget.Failure, true
	case !s.list.Has:
		return "Nothing was loaded.", s.keyOf(actions.Refresh) + " loads the list.", widget.Empty, true
	case s.want.isFiltered():
		advice := s.clearedBy()
		if id := s.typedID(); id != "" {
			advice = fmt.Sprintf("%s opens the perk with the id %q. ", s.openKey(), id) + advice
		}
		return "No perk fits the filter: " + s.want.filter() + ".", advice, widget.Empty, true
	}
	return "There are no perks yet.", "", widget.Empty, true
}

// typedID is the words of the filter if they match no perk but can be the id of one: the search does not look at ids.
func (s *Screen) typedID() string {
	if len(s.shown) > 0 || !s.settled || s.list.Err != nil {
		return ""
	}
	return s.want.asID()
}

// openKey is the key that opens the perk: in the filter, the one that leads to the list.
func (s *Screen) openKey() string {
	if s.typing {
		return actions.Spell("enter")
	}
	return s.keyOf(actions.Open)
}

// failure says what went wrong with the last load, after a few words on what that was, and what to do.
func (s *Screen) failure(what string) (problem, advice string) {
	var missing *screen.NotLoggedIn
	if errors.As(s.list.Err, &missing) {
		return display.Line(missing.Message), s.keyOf(actions.Login) + " logs in."
	}
	if fields := s.refused(); len(fields) > 0 {
		return "The service refuses the filter: " + s.refusal(fields) + ".", s.filterKey() + " changes it, " + s.clearedBy()
	}
	return what + " " + screen.Sentence("", s.list.Err), s.keyOf(actions.Refresh) + " tries again."
}

// refused is what the service said of the fields of the last query, by their names in the form.
func (s *Screen) refused() api.FieldErrors {
	var refused *client.Error
	if !errors.As(s.list.Err, &refused) {
		return nil
	}
	return inForm(refused.Fields)
}

// saysRefusal tells whether the open form shows why the service does not take the filter.
func (s *Screen) saysRefusal() bool {
	fields := s.refused()
	for name := range fields {
		if s.form.Field(name).Name == "" {
			return false
		}
	}
	return s.typing && len(fields) > 0
}

// refusal names the fields as the form does.
func (s *Screen) refusal(fields api.FieldErrors) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		label := s.form.Field(name).Label
		if label == "" {
			label = name
		}
		parts = append(parts, display.Line(label+" "+strings.Join(fields[name], ", ")))
	}
	return strings.Join(parts, "; ")
}

// problem says what is wrong while older rows are shown.
func (s *Screen) problem() string {
	if s.isBusy() || s.list.Err == nil || s.saysRefusal() {
		return ""
	}
	problem, advice := s.failure("Not loaded.")
	if s.typing {
		advice = ""
	}
	age := "These rows were loaded " + widget.Age(s.shell.Now().Sub(s.list.At)) + "."
	return strings.TrimSpace(problem + " " + age + " " + advice)
}

// position says where one is: in words where there is room, and otherwise in figures.
func (s *Screen) position(width int) string {
	meta := s.list.Value.page.Meta
	row := widget.Count((meta.Page-1)*int64(meta.PerPage) + int64(s.table.Cursor()) + 1)
	total, page, pages := widget.Count(meta.Total), widget.Count(meta.Page), widget.Count(meta.TotalPages)
	marks, age := s.marks.Say(s.shown), ""
	if old := s.shell.Now().Sub(s.list.At); s.list.Has && old >= oldAfter {
		age = "loaded " + widget.Age(old)
	}
	if len(s.shown) == 0 {
		return widget.Cut(joined(" - ", s.activity(), marks), width)
	}
	long := joined(" - ", s.activity(), fmt.Sprintf("row %s of %s, page %s of %s", row, total, page, pages), marks, age)
	if widget.Width(long) <= width {
		return long
	}
	if marks != "" {
		marks = fmt.Sprintf("%d*", len(s.marks))
	}
	return widget.Cut(joined(" ", s.activity(), fmt.Sprintf("%s/%s p%s/%s", row, total, page, pages), marks, strings.TrimPrefix(age, "loaded ")), width)
}

// activity says why the rows are not what the filter asks for.
func (s *Screen) activity() string {
	if s.isBusy() && len(s.shown) > 0 {
		return "loading ..."
	}
	if _, wrong := s.read(); s.typing && len(wrong) > 0 {
		return "filter incomplete"
	}
	if s.list.Err != nil && s.saysRefusal() {
		return "filter refused"
	}
	if s.categoriesWait {
		return "loading the categories ..."
	}
	return ""
}

func joined(between string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), between)
}
