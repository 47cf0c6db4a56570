package widget

import "example.com/perks/api"

// Refuse shows what the service said of fields, beside each of them until its value is changed, and goes to the first. It
// returns what it said of fields that the form does not have.
func (f *Form) Refuse(errors api.FieldErrors) (others api.FieldErrors) {
	others = api.FieldErrors{}
	first := -1
	for name, problems := range errors {
		e := f.entry(name)
		if e == nil {
			others[name] = problems
			continue
		}
		e.refused, e.said = problems, e.value()
	}
	for i, e := range f.entries {
		if len(e.refused) > 0 && e.said == e.value() && first < 0 {
			first = i
		}
	}
	if first >= 0 {
		f.FocusOn(first)
	}
	return others
}

// Check makes every field's rule speak up, goes to the first that is wrong, and tells whether none is.
func (f *Form) Check() bool {
	right := true
	for i, e := range f.entries {
		e.touched = true
		if right && len(e.problems()) > 0 {
			f.FocusOn(i)
			right = false
		}
	}
	return right
}

// Problems returns what is shown to be wrong with a field now.
func (f *Form) Problems(name string) []string {
	if e := f.entry(name); e != nil {
		return e.problems()
	}
	return nil
}

func (e *entry) problems() []string {
	var problems []string
	if e.touched && e.Check != nil {
		if problem := e.Check(e.value()); problem != "" {
			problems = append(problems, problem)
		}
	}
	if len(e.refused) > 0 && e.said == e.value() {
		problems = append(problems, e.refused...)
	}
	return problems
}

// notes is what a person has to know of a field that keeps nobody from sending it.
func (e *entry) notes() []string {
	if e.editor.overflow {
		return []string{"there is room for " + Count(mostTyped) + " characters; the rest was left out"}
	}
	return nil
}
