package widget

import "slices"

// Insert puts a field behind the one of that name, at the end if there is none. What has the keyboard keeps it.
func (f *Form) Insert(behind string, field Field) {
	focus := f.Focus()
	f.Add(field)
	last := len(f.entries) - 1
	added := f.entries[last]
	if place := f.place(behind); place >= 0 {
		f.entries = slices.Insert(f.entries[:last:last], place+1, added)
	}
	f.FocusOn(max(0, f.place(focus)))
}

// Remove takes a field away, with what it holds. If it has the keyboard, the one behind it gets that.
func (f *Form) Remove(name string) {
	place := f.place(name)
	if place < 0 {
		return
	}
	f.entries = slices.Delete(f.entries, place, place+1)
	if f.focus > place {
		f.focus--
	}
	f.FocusOn(f.focus)
}

// FocusOnName gives the keyboard to a field by its name, if there is one.
func (f *Form) FocusOnName(name string) {
	if place := f.place(name); place >= 0 {
		f.FocusOn(place)
	}
}

func (f *Form) place(name string) int {
	return slices.IndexFunc(f.entries, func(e *entry) bool { return e.Name == name })
}
