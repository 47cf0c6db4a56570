package widget_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
	"github.com/muesli/termenv"

	"example.com/perks/api"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/theme"
	"example.com/perks/tui/tuitest"
	"example.com/perks/tui/widget"
)

func perkForm(look *theme.Theme) *widget.Form {
	form := widget.NewForm(look,
		widget.Field{Name: "title", Label: "Title",
			Value: "Coffee for two at the harbour, with a view of the sea and of every ship in it, " +
				"from noon until nine"},
		widget.Field{Name: "city", Label: "City", Hint: "such as Paris"},
		widget.Field{Name: "about", Label: "Description", Kind: widget.Text,
			Value: strings.Repeat("漢字とお茶。 Tea "+family+" שלום.\n\n", 4)},
		widget.Field{Name: "secret", Label: "Client secret", Kind: widget.Secret, Value: "hunter2"},
		widget.Field{Name: "open", Label: "Open on Sundays and on all public holidays of the whole country",
			Kind: widget.Switch, Value: widget.Yes, Hint: "weather permitting"},
		widget.Field{Name: "size", Label: "Size", Value: "small"},
	)
	form.Refuse(api.FieldErrors{"title": {"must not be longer than 100 characters"},
		"size": {"is not served in this city any more, which is a pity"}})
	return form
}

func TestFormGolden(t *testing.T) {
	for _, name := range []string{"title", "about", "open"} { // a line, a text, and a switch
		golden(t, "form-"+name, func(look *theme.Theme, width, height int) string {
			form := perkForm(look)
			form.FocusOnName(name)
			return form.View(width, height)
		})
	}
}

func TestFormFitsEverySizeAndShowsItsCursor(t *testing.T) {
	form := perkForm(plain)
	form.Refuse(api.FieldErrors{"about": {"must not be about tea"}})
	for index, name := range form.Names() {
		form.FocusIndex(index)
		everySize(t, func(_ *theme.Theme, width, height int) string {
			view := form.View(width, height)
			if width < 8 || height < 1 {
				return view
			}
			if form.Field(name).Kind != widget.Switch && !strings.Contains(view, "▏") {
				t.Errorf("the cursor of %s is not visible at %dx%d:\n%s", name, width, height, view)
			}
			if height > 3 && !strings.Contains(view, "> ") {
				t.Errorf("the label of %s is not visible at %dx%d:\n%s", name, width, height, view)
			}
			if height > 2 && len(form.Problems(name)) > 0 && !strings.Contains(view, "! ") {
				t.Errorf("the problem of %s is not visible at %dx%d:\n%s", name, width, height, view)
			}
			return view
		})
	}
}

func TestCursorIsAlwaysVisible(t *testing.T) {
	text := "漢字 a long " + family + " line, with  blanks " + strings.Repeat("x", 30) +
		"\nand\n\nanother\tone e\u0301"
	for _, kind := range []widget.Kind{widget.Line, widget.Text} {
		for _, look := range []*theme.Theme{plain, dark} {
			form := one(widget.Field{Kind: kind, Value: text})
			form.SetTheme(look)
			for width := 5; width < 40; width++ {
				press(t, form, "ctrl+home")
				for _, key := range []string{"right", "left"} {
					for range 120 {
						press(t, form, key)
						view := form.View(width, 5)
						tuitest.CheckFit(t, view, width, 5)
						if seen := strings.Contains(view, "▏") || strings.Contains(view, "\x1b[7m"); !seen {
							t.Fatalf("kind %d, width %d: the cursor is not visible:\n%s", kind, width, view)
						}
					}
				}
			}
		}
	}
}

// TestASelectionIsSeenWithAnyColours compares the same field with its text selected, and with the cursor at either end.
func TestASelectionIsSeenWithAnyColours(t *testing.T) {
	const reverse, end = "\x1b[7m", "\x1b[0"
	for name, test := range map[string]struct {
		look                 *theme.Theme
		width                int
		selected, last, home string
	}{
		"16,000,000 colours": {dark, 20, reverse + "2 " + end, "2" + end + "m" + reverse + " " + end, reverse + "2" + end},
		"16 colours": {theme.New(theme.Light, termenv.ANSI), 20, reverse + "2 " + end, "2" + reverse + " " + end,
			reverse + "2" + end},
		"none":                   {plain, 20, "▏" + reverse + "2" + end + ";4m▏", "2▏", "▏2"},
		"none, and little space": {plain, 4, reverse + "2" + end + ";4m▏", "2▏", "▏2"},
	} {
		form := one(widget.Field{Value: "2"})
		form.SetTheme(test.look)
		for keys, want := range map[string]string{"": test.selected, "end": test.last, "home": test.home} {
			form.Select()
			press(t, form, strings.Fields(keys)...)
			if view := form.Input("field", test.width); !strings.Contains(view, want) {
				t.Errorf("%s, after %q: %q is not in %q", name, keys, want, view)
			}
		}
	}
}

func TestALongSelectionFits(t *testing.T) {
	form := one(widget.Field{Value: strings.Repeat("漢a", 30) + family})
	for _, look := range []*theme.Theme{plain, dark} {
		form.SetTheme(look)
		form.Select()
		everySize(t, func(_ *theme.Theme, width, height int) string { return form.View(width, height) })
	}
}

// flatForm has fields that are beside each other where there is space.
func flatForm(look *theme.Theme) *widget.Form {
	number := func(name, label string) widget.Field {
		return widget.Field{Name: name, Label: label, Width: 16, Value: "2", Beside: name != "price"}
	}
	form := widget.NewForm(look,
		widget.Field{Name: "title", Label: "Title", Value: "Bright flat"},
		widget.Field{Name: "city", Label: "City", Value: "Leeds"},
		widget.Field{Name: "postcode", Label: "Postcode", Value: "LS1 4AP", Beside: true},
		number("price", "Price"), number("deposit", "Deposit"), number("beds", "Beds"), number("baths", "Baths"),
		widget.Field{Name: "about", Label: "About", Kind: widget.Text, Value: strings.Repeat("Two rooms.\n", 30)},
		widget.Field{Name: "images", Label: "Images", Kind: widget.Text, Value: "https://img.example/1.jpg", Beside: true})
	form.MarkChanges()
	return form
}

func TestFieldsAreBesideEachOtherWhereThereIsSpace(t *testing.T) {
	for _, c := range []struct {
		width int
		want  [][]string // the labels on each line that has any
	}{
		{59, [][]string{{"Title"}, {"City"}, {"Postcode"}, {"Price"}, {"Deposit"}, {"Beds"}, {"Baths"}, {"About"},
			{"Images"}}},
		{66, [][]string{{"Title"}, {"City", "Postcode"}, {"Price", "Deposit"}, {"Beds", "Baths"}, {"About"}, {"Images"}}},
		{116, [][]string{{"Title"}, {"City", "Postcode"}, {"Price", "Deposit", "Beds", "Baths"}, {"About", "Images"}}},
	} {
		var got [][]string
		form := flatForm(plain)
		for line := range strings.SplitSeq(ansi.Strip(form.View(c.width, 60)), "\n") {
			var labels []string
			for _, name := range form.Names() {
				label := form.Field(name).Label
				if strings.Contains(line, " "+label+" ") || strings.HasSuffix(line, " "+label) {
					labels = append(labels, label)
				}
			}
			if len(labels) > 0 {
				got = append(got, labels)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("at %d columns the labels are (-want +got):\n%s", c.width, diff)
		}
	}
}

func TestEveryFieldBesideOthersFitsAndIsFoundByAClick(t *testing.T) {
	form := flatForm(plain)
	everySize(t, func(_ *theme.Theme, width, height int) string { return form.View(width, height) })
	for _, width := range []int{40, 60, 80, 120, 200} {
		lines := strings.Split(ansi.Strip(form.View(width, 60)), "\n")
		for index, name := range form.Names() {
			label := form.Field(name).Label
			y := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, label) })
			x := strings.Index(lines[y], label)
			if got, ok := form.FieldAt(x, y); !ok || got != index {
				t.Errorf("at %d columns a click on %s is on field %d", width, name, got)
			}
		}
	}
}

func TestAChangedLineSaysWhatItWas(t *testing.T) {
	form := flatForm(plain)
	form.FocusOnName("price")
	form.Update(typed("5"))
	form.FocusOnName("title")
	press(t, form, "ctrl+u")
	form.Update(typed("Quiet flat"))
	form.Set("images", "")
	view := ansi.Strip(form.View(116, 40))
	for _, want := range []string{"was: Bright flat", "25"} {
		if !strings.Contains(view, want) {
			t.Errorf("the form does not say %q:\n%s", want, view)
		}
	}
	if strings.Contains(view, "was: http") {
		t.Errorf("a long text says what it was:\n%s", view)
	}
	if text := form.AccessibleText(); !strings.Contains(text, "Price (changed, was 2): 25\n") {
		t.Errorf("it is read as\n%s", text)
	}
	form.FocusOnName("title")
	press(t, form, "ctrl+u")
	form.Update(typed(strings.Repeat("long ", 20)))
	if was := form.Was("title"); was != "" {
		t.Errorf("what the title was, %q, is on the screen already", was)
	}
	if view := ansi.Strip(form.View(80, 40)); strings.Contains(view, "was:") {
		t.Errorf("what was takes space from what is:\n%s", view)
	}
	if was := form.Was("title"); was != "Bright flat" {
		t.Errorf("what the title was is told as %q", was)
	}
	emptied := widget.NewForm(plain, widget.Field{Name: "price", Label: "Price", Value: "395", Hint: "such as 120.50"},
		widget.Field{Name: "about", Label: "About", Kind: widget.Text, Value: "Two rooms."})
	emptied.MarkChanges()
	press(t, emptied, "ctrl+u")
	emptied.Set("about", "")
	if emptied.View(116, 40); emptied.Was("price") != "395" || emptied.Was("about") != "" {
		t.Errorf("what an emptied price was is told as %q, and what a long text was as %q", emptied.Was("price"),
			emptied.Was("about"))
	}
}

func TestAFormToReadScrollsInALongTextBeforeTheNextField(t *testing.T) {
	form := flatForm(plain)
	form.ReadOnly()
	view := form.View(116, 16)
	if strings.Contains(view, "▏") || !strings.Contains(view, "lines 1 to ") {
		t.Errorf("the form to read:\n%s", view)
	}
	form.FocusOnName("about")
	steps := 0
	for ; form.Focus() == "about" && steps < 100; steps++ {
		form.Scroll(actions.Down)
		form.View(116, 16)
	}
	if form.Focus() != "images" || steps < 20 {
		t.Errorf("after %d steps the focus is on %s", steps, form.Focus())
	}
	if view := form.View(116, 16); !strings.Contains(view, " of 31)") {
		t.Errorf("the end of the text is not shown:\n%s", view)
	}
	for form.Scroll(actions.Up); form.Focus() == "about" && steps > 0; steps-- {
		form.Scroll(actions.Up)
	}
	if form.Focus() != "baths" {
		t.Errorf("back up the focus is on %s", form.Focus())
	}
	form.Scroll(actions.Bottom)
	form.Scroll(actions.Top)
	if form.Focus() != "title" {
		t.Errorf("the top is %s", form.Focus())
	}
}

func TestFieldAtFindsNoFieldOutsideOfTheForm(t *testing.T) {
	form := perkForm(plain)
	form.View(80, 24)
	for _, y := range []int{-1, 23} {
		if index, ok := form.FieldAt(0, y); ok {
			t.Errorf("on line %d there is field %d", y, index)
		}
	}
}

func TestFormAccessibleText(t *testing.T) {
	want := `Title: Coffee for two at the harbour, with a view of the sea and of every ship in it, from noon until nine
  Title must not be longer than 100 characters
City: (such as Paris)
Client secret: (hidden)
Size: small
  Size is not served in this city any more, which is a pity`
	form := perkForm(plain)
	form.Remove("about")
	form.Remove("open")
	if diff := cmp.Diff(want, form.AccessibleText()); diff != "" {
		t.Error(diff)
	}
}

// TestLongTextGrowsIntoFreeRows draws a text of twelve lines between two fields: all of it where there is space, and
// with the end in sight where there is not.
func TestLongTextGrowsIntoFreeRows(t *testing.T) {
	text := "1st\n" + strings.Repeat("line\n", 10) + "last"
	form := widget.NewForm(plain, widget.Field{Name: "a", Label: "A"},
		widget.Field{Name: "t", Label: "T", Kind: widget.Text, Value: text}, widget.Field{Name: "z", Label: "Z"})
	form.FocusOnName("t")
	for height, all := range map[int]bool{14: true, 13: false, 30: true} {
		view := form.View(80, height)
		if strings.Contains(view, "1st") != all || !strings.Contains(view, "last▏") ||
			!strings.Contains(view, "  Z") {
			t.Errorf("in %d lines:\n%s", height, view)
		}
	}
}

func TestALimitCountsTheCharacters(t *testing.T) {
	for _, kind := range []widget.Kind{widget.Line, widget.Text} {
		form := widget.NewForm(plain, widget.Field{Name: "a", Label: "A", Kind: kind, Value: strings.Repeat("é", 9),
			Limit: 10}, widget.Field{Name: "b", Label: "B"})
		if view := form.View(80, 10); !strings.Contains(view, "(9 of 10") {
			t.Errorf("kind %d is not counted:\n%s", kind, view)
		}
		form.Update(typed("éé"))
		if view := form.View(80, 10); !strings.Contains(view, "! 11 of 10 characters") ||
			strings.Contains(view, "(11 of") || form.Check() {
			t.Errorf("kind %d may be too long:\n%s", kind, view)
		}
		form.Do(actions.NextField)
		press(t, form, "shift+tab")
		if view := form.View(80, 10); !strings.Contains(view, "! 11 of 10 characters") {
			t.Errorf("kind %d is too long, which is not said without the keyboard:\n%s", kind, view)
		}
	}
}

func TestChangedFieldsAreMarked(t *testing.T) {
	form := widget.NewForm(plain, widget.Field{Name: "a", Label: "Alpha", Value: "x"},
		widget.Field{Name: "b", Label: "Beta"})
	form.Update(typed("y"))
	if strings.Contains(form.View(80, 4), "*") || strings.Contains(form.AccessibleText(), "changed") {
		t.Error("a form marks changes that nobody asked to mark")
	}
	form.MarkChanges()
	if view := ansi.Strip(form.View(80, 4)); !strings.Contains(view, ">*Alpha") || !strings.Contains(view, "  Beta") ||
		!strings.HasPrefix(form.AccessibleText(), "Alpha (changed, was x): xy\nBeta: ") {
		t.Errorf("the changed field is not marked alone:\n%s\n%s", view, form.AccessibleText())
	}
	press(t, form, "backspace")
	if view := form.View(80, 4); strings.Contains(view, "*") {
		t.Errorf("a field that is as before is marked:\n%s", view)
	}
}

func TestFieldsToTypeInHaveABackground(t *testing.T) {
	form := widget.NewForm(dark, widget.Field{Name: "a", Label: "A", Value: "x"},
		widget.Field{Name: "b", Label: "B", Kind: widget.Text, Value: "y"})
	for style, least := range map[*lipgloss.Style]int{&dark.Editing: 1, &dark.Input: 4} {
		begins, _, _ := strings.Cut(style.Render("|"), "|")
		if got := strings.Count(form.View(20, 6), begins); got < least {
			t.Errorf("%d of at least %d rows begin with %q:\n%q", got, least, begins, form.View(20, 6))
		}
	}
	for _, look := range []*theme.Theme{plain, theme.New(theme.Dark, termenv.ANSI)} {
		form.SetTheme(look)
		if view := form.View(20, 6); strings.Count(view, "\x1b[4m") != 4 || strings.Count(view, "\x1b[24m") != 4 {
			t.Errorf("without a background the four rows are not underlined:\n%q", view)
		}
	}
}
