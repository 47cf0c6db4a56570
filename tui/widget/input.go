package widget

// Input draws what one field holds in a single line, without its label and without what is wrong with it: for screens that
// lay out their fields by themselves.
func (f *Form) Input(name string, width int) string {
	e := f.entry(name)
	if e == nil || width <= 0 {
		return ""
	}
	return Pad(f.draw(e, width, 1, name == f.Focus())[0], width)
}

// SendFromAnywhere makes Enter send the form from every field of one line: for forms that are followed while they are
// typed, where there is nothing left to fill in.
func (f *Form) SendFromAnywhere() { f.anywhere = true }
