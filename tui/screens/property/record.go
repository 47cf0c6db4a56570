package property

import (
	"fmt"
	"strconv"
	"strings"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/widget"
)

// viewRecord draws the property, or why there is none to be seen.
func (s *Screen) viewRecord() string {
	if mood, title, advice := s.standIn(); title != "" {
		return widget.Notice(s.shell.Theme, mood, title, advice, s.width, s.height)
	}
	lines := s.head(s.remarks(), nil)
	for _, text := range widget.Pairs(s.shell.Theme, s.width, facts(s.record.Value.Property)) {
		lines = append(lines, line{asDrawn, text})
	}
	return s.scrolled(lines)
}

// standIn is what is said instead of the property; no title if it can be shown.
func (s *Screen) standIn() (mood widget.Mood, title, advice string) {
	switch {
	case s.inSandbox():
		return widget.Failure, "The sandbox has no properties.", "What you changed here would be the live one. Log in to the live service for it (" + s.key(actions.Login) + ")."
	case s.deleted:
		return widget.Empty, fmt.Sprintf("Property %d was deleted.", s.id), fmt.Sprintf("The operator of the service can bring it back: perksd property restore %d", s.id)
	case s.id == 0:
		return widget.Empty, "No property is open.", s.key(actions.Open) + " chooses one."
	case s.record.Has:
		return 0, "", ""
	case s.record.Err != nil:
		what, next := s.explain(s.record.Err)
		return widget.Failure, fmt.Sprintf("Property %d cannot be shown. %s", s.id, what), next
	}
	return widget.Loading, fmt.Sprintf("Loading property %d ...", s.id), ""
}

// remarks is what has to be said above the property: what became of a change, and that what is shown is old.
func (s *Screen) remarks() []string {
	notes := append([]string(nil), s.notes...)
	if s.remover.Busy() {
		notes = append(notes, fmt.Sprintf("Property %d is being deleted ...", s.id))
	}
	if err := s.record.Err; err != nil {
		what, next := s.explain(err)
		notes = append(notes, what+" "+next, "What is shown was read "+widget.Age(s.shell.Now().Sub(s.record.At))+".")
	}
	return notes
}

// facts is everything about a property in words.
func facts(p api.Property) []widget.Pair {
	where := "(none)"
	if p.Lat != nil || p.Lng != nil {
		lat, lng := fieldNamed("lat"), fieldNamed("lng")
		where = "latitude " + shown(lat, position(p.Lat)) + ", longitude " + shown(lng, position(p.Lng))
	}
	pairs := []widget.Pair{}
	for _, f := range fields() {
		switch f.name {
		case "lat":
			pairs = append(pairs, widget.Pair{Label: "Position", Value: where})
			continue
		case "lng":
			continue
		}
		value := shown(f, textOf(p, f.name))
		if f.lines {
			value = strings.TrimRight(value, "\n")
		}
		pairs = append(pairs, widget.Pair{Label: f.caption(), Value: value})
	}
	return append(pairs, widget.Pair{Label: "Property id", Value: strconv.FormatInt(p.ID, 10)})
}

// Linear says all that View shows.
func (s *Screen) Linear() string {
	switch s.stage {
	case filling:
		return strings.Join(append(linearNotes(s.edit.notes), s.edit.form.Linear()), "\n")
	case comparing:
		s.seen = true // people who listen hear all of it
		lines := append(linearNotes(s.edit.notes), s.compareIntro()...)
		return strings.Join(lines, "\n") + "\n" + linearParts(s.edit.comparison())
	case merging:
		lines := append(append(linearNotes(s.edit.notes), s.mergeIntro()...), s.mergeStatus())
		return strings.Join(lines, "\n") + "\n" + linearParts(s.edit.merge.parts(s.edit))
	}
	if mood, title, advice := s.standIn(); title != "" {
		return widget.LinearNotice(mood, title, advice)
	}
	return strings.Join(append(linearNotes(s.remarks()), widget.LinearPairs(facts(s.record.Value.Property))...), "\n")
}

func linearNotes(notes []string) []string {
	lines := make([]string, len(notes))
	for i, note := range notes {
		lines[i] = "Note: " + display.Line(note)
	}
	return lines
}
