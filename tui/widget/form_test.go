package widget_test

import (
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/google/go-cmp/cmp"

	"example.com/perks/api"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/widget"
)

func typed(text string) tea.KeyMsg { return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(text)} }

func pasted(text string) tea.KeyMsg {
	return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(text), Paste: true}
}

// named returns the key with this bubbletea name.
func named(t *testing.T, name string) tea.KeyMsg {
	t.Helper()
	for kind := tea.KeyType(-200); kind < 200; kind++ {
		if key := (tea.KeyMsg{Type: kind}); kind != tea.KeyRunes && key.String() == name {
			return key
		}
	}
	if letter, ok := strings.CutPrefix(name, "alt+"); ok {
		key := typed(letter)
		if len(letter) > 2 {
			key = named(t, letter)
		}
		key.Alt = true
		return key
	}
	t.Fatalf("there is no key %q", name)
	return tea.KeyMsg{}
}

func one(field widget.Field) *widget.Form {
	field.Name = "field"
	if field.Label == "" {
		field.Label = "Field"
	}
	return widget.NewForm(plain, field)
}

func press(t *testing.T, form *widget.Form, keys ...string) {
	t.Helper()
	for _, key := range keys {
		form.Update(named(t, key))
	}
}

func TestEditingALine(t *testing.T) {
	for name, test := range map[string]struct {
		value string
		keys  []string
		want  string
	}{
		"backspace":                  {"Coffee", []string{"backspace"}, "Coffe"},
		"backspace at the start":     {"Coffee", []string{"home", "backspace"}, "Coffee"},
		"delete":                     {"Coffee", []string{"home", "delete"}, "offee"},
		"a family is one character":  {"a" + family, []string{"backspace"}, "a"},
		"a flag is one character":    {japan + japan, []string{"left", "backspace"}, japan},
		"an accent joins its letter": {"e\u0301x", []string{"home", "right", "backspace"}, "x"},
		"a word back":                {"two coffees", []string{"ctrl+w"}, "two "},
		"a word back over blanks":    {"two coffees  ", []string{"alt+backspace"}, "two "},
		"a word forward":             {"two coffees", []string{"home", "alt+d"}, " coffees"},
		"everything before":          {"two coffees", []string{"alt+b", "ctrl+u"}, "coffees"},
		"word by word":               {"a b c", []string{"ctrl+left", "ctrl+left", "ctrl+right", "backspace"}, "a  c"},
		"right to left":              {"שלום", []string{"backspace"}, "שלו"},
		"up and down do nothing":     {"ab", []string{"home", "down", "up", "delete"}, "b"},
		"the palette's key":          {"ab", []string{"home", "ctrl+k"}, "ab"},
		"other keys with ctrl": {"ab", []string{"ctrl+p", "ctrl+n", "ctrl+s", "ctrl+z", "ctrl+v", "ctrl+t",
			"ctrl+y", "tab", "esc"}, "ab"},
		"letters with alt": {"ab", []string{"alt+x", "alt+u", "alt+é"}, "ab"},
		"enter":            {"ab", []string{"enter", "ctrl+j"}, "ab"},
	} {
		form := one(widget.Field{Value: test.value})
		press(t, form, test.keys...)
		if got := form.Value("field"); got != test.want {
			t.Errorf("%s: %v gave %q from %q, want %q", name, test.keys, got, test.value, test.want)
		}
	}
}

// TestSelectedTextIsReplaced presses each class of keys at a price that is selected, and types a 7 then.
func TestSelectedTextIsReplaced(t *testing.T) {
	for want, keys := range map[string][]string{
		"7": {"", "backspace", "ctrl+h", "delete", "ctrl+d", "ctrl+w", "alt+backspace", "alt+d",
			"alt+delete", "ctrl+u"},
		"7395.00":  {"left", "ctrl+b", "home", "ctrl+a", "ctrl+home"},
		"395.007":  {"right", "ctrl+f", "end", "ctrl+e", "ctrl+end", "ctrl+right", "alt+f", "tab shift+tab", "click"},
		" 7":       {" "},
		"410.507":  {"410.50"},
		"12 70.57": {"paste: 12\r\n70.5\n"},
	} {
		for _, key := range keys {
			form := widget.NewForm(plain, widget.Field{Name: "price", Value: "395.00"}, widget.Field{Name: "city"})
			form.Select()
			text, isPasted := strings.CutPrefix(key, "paste: ")
			_, edited := form.Update(nil)
			switch key {
			case "":
			case "click":
				form.FocusIndex(0)
			case "tab shift+tab":
				form.Do(actions.NextField)
				form.Do(actions.PreviousField)
			case " ", "410.50":
				_, edited = form.Update(typed(key))
			default:
				if msg := pasted(text); isPasted {
					_, edited = form.Update(msg)
				} else {
					_, edited = form.Update(named(t, key))
				}
			}
			if changed := form.Value("price") != "395.00"; edited != changed {
				t.Errorf("%q gave %q, and edited is %t", key, form.Value("price"), edited)
			}
			form.Update(typed("7"))
			if got := form.Value("price"); got != want {
				t.Errorf("%q and a 7 gave %q, want %q", key, got, want)
			}
		}
	}
}

// TestKeysThatDoNothingKeepTheSelection presses keys that do nothing in a line.
func TestKeysThatDoNothingKeepTheSelection(t *testing.T) {
	form := one(widget.Field{Value: "395.00"})
	form.Select()
	press(t, form, "enter", "ctrl+j", "up", "down", "pgup", "pgdown", "ctrl+s", "ctrl+t", "esc", "alt+x")
	form.Update(pasted("\x00\n"))
	if got := form.Value("field"); got != "395.00" {
		t.Errorf("they gave %q", got)
	}
	form.Update(typed("395.00"))
	if got := form.Value("field"); got != "395.00" {
		t.Errorf("typing gave %q", got)
	}
}

// TestOnlyLinesThatAreSeenAreSelected types into a text, a secret, a switch and an empty line.
func TestOnlyLinesThatAreSeenAreSelected(t *testing.T) {
	for want, field := range map[string]widget.Field{
		"one\ntwo!": {Kind: widget.Text, Value: "one\ntwo"}, "hunter2!": {Kind: widget.Secret, Value: "hunter2"},
		widget.Yes: {Kind: widget.Switch, Value: widget.Yes}, "!": {},
	} {
		form := one(field)
		form.Select()
		form.Update(typed("!"))
		if got := form.Value("field"); got != want {
			t.Errorf("kind %d holds %q, want %q", field.Kind, got, want)
		}
	}
	widget.NewForm(plain).Select()
}

func TestEveryPrintableKeyIsText(t *testing.T) {
	for _, kind := range []widget.Kind{widget.Line, widget.Secret, widget.Text} {
		form := one(widget.Field{Kind: kind})
		var want strings.Builder
		for r := ' '; r <= '~'; r++ {
			form.Update(typed(string(r)))
			want.WriteRune(r)
		}
		for _, r := range "éßЖعש漢한🙂" {
			form.Update(typed(string(r)))
			want.WriteRune(r)
		}
		form.Update(tea.KeyMsg{Type: tea.KeySpace, Runes: []rune{' '}})
		if got := form.Value("field"); got != want.String()+" " {
			t.Errorf("kind %d holds %q", kind, got)
		}
	}
}

func TestTypedAccentsJoin(t *testing.T) {
	form := one(widget.Field{Value: "x"})
	press(t, form, "home")
	form.Update(typed("e"))
	form.Update(typed("\u0301"))
	form.Update(typed("y"))
	if got := form.Value("field"); got != "e\u0301yx" {
		t.Errorf("%q", got)
	}
	press(t, form, "backspace", "backspace")
	if got := form.Value("field"); got != "x" {
		t.Errorf("after two deletions: %q", got)
	}
}

func TestPaste(t *testing.T) {
	const text = "Two\r\ncoffees\tfor\x1b[31m one\u202e\r"
	for kind, want := range map[widget.Kind]string{
		widget.Line:   "Two coffees for[31m one",
		widget.Secret: "Two coffees for[31m one",
		widget.Text:   "Two\ncoffees\tfor[31m one\n",
	} {
		form := one(widget.Field{Kind: kind})
		if _, edited := form.Update(pasted(text)); !edited || form.Value("field") != want {
			t.Errorf("kind %d holds %q, want %q", kind, form.Value("field"), want)
		}
	}
}

// TestSelectedTextMakesSpace pastes over a field that is full.
func TestSelectedTextMakesSpace(t *testing.T) {
	form := one(widget.Field{Value: strings.Repeat("x", 20_000)})
	form.Select()
	form.Update(pasted(strings.Repeat("y", 20_001)))
	got := form.Value("field")
	if got != strings.Repeat("y", 20_000) || !strings.Contains(form.View(80, 24), "1 too many") {
		t.Errorf("%d characters, which begin with %.5s:\n%s", len(got), got, form.View(80, 24))
	}
}

func TestLongPasteIsCut(t *testing.T) {
	for _, kind := range []widget.Kind{widget.Line, widget.Text} {
		for name, text := range map[string]string{
			"letters":  strings.Repeat("x", 10<<20),
			"controls": strings.Repeat("\x00", 10<<20) + "x",
			"CJK":      strings.Repeat("漢\r\n", 1<<20),
		} {
			form := one(widget.Field{Kind: kind, Value: "a"})
			msg := pasted(text)
			before := time.Now()
			form.Update(msg)
			form.View(80, 24)
			if took := time.Since(before); took > 3*time.Second {
				t.Errorf("pasting %s took %s", name, took)
			}
			got := []rune(form.Value("field"))
			if name != "controls" && len(got) != 20_000 {
				t.Errorf("kept %d characters of %s", len(got), name)
			}
			view := form.View(80, 24)
			if warned := strings.Contains(view, "only 20,000 characters fit"); warned == (name == "controls") {
				t.Errorf("pasting %s: warned: %t", name, warned)
			}
			if name == "letters" && !strings.Contains(view, "! 10,465,761 too many: ") {
				t.Errorf("pasting %s does not say how many were cut:\n%s", name, view)
			}
			press(t, form, "backspace")
			if strings.Contains(form.AccessibleText(), "too many") {
				t.Errorf("the warning stays after the text was changed")
			}
			form.Update(typed("yz"))
			if name == "letters" && !strings.Contains(form.AccessibleText(), "1 too many") {
				t.Errorf("no warning that a letter did not fit")
			}
		}
	}
}

func TestMultilineText(t *testing.T) {
	form := one(widget.Field{Kind: widget.Text, Value: "one\ntwo three"})
	form.View(14, 8) // eleven cells: "two three" takes one row, and so does "two! three"
	if !form.Takes("up") || form.Takes("down") {
		t.Error("the cursor is not at the end at first")
	}
	press(t, form, "ctrl+home")
	if form.Takes("up") || !form.Takes("down") || !form.Takes("enter") || form.Takes("left") || form.Takes("tab") {
		t.Error("on the first line it must take only enter and down")
	}
	press(t, form, "end", "down")
	form.Update(typed("!"))
	if got := form.Value("field"); got != "one\ntwo! three" {
		t.Errorf("down changed the column: %q", got)
	}
	if !form.Takes("up") || form.Takes("down") {
		t.Error("on the last line it must take the key up, and not down")
	}
	press(t, form, "enter", "ctrl+home", "ctrl+j", "ctrl+end", "home", "backspace")
	if got := form.Value("field"); got != "\none\ntwo! three" {
		t.Errorf("%q", got)
	}
	form.View(8, 8) // now "two! three" takes two rows
	if !form.Takes("up") || !form.Takes("down") {
		t.Error("the second row of a line is not reached")
	}
	if form.EnterSubmits() {
		t.Error("enter submits a field of several lines")
	}
}

func TestGoingUpAndDownKeepsTheColumn(t *testing.T) {
	form := one(widget.Field{Kind: widget.Text, Value: "abcdef\nab\n漢字漢字\n"})
	press(t, form, "ctrl+home", "right", "right", "right", "right", "right", "down", "down")
	form.Update(typed("X"))
	if got := form.Value("field"); got != "abcdef\nab\n漢字X漢字\n" {
		t.Errorf("%q", got)
	}
	press(t, form, "pgup", "delete", "pgdown")
	form.Update(typed("Y"))
	if got := form.Value("field"); got != "abcde\nab\n漢字X漢字\nY" {
		t.Errorf("%q", got)
	}
}

func TestASecretIsNeverShown(t *testing.T) {
	short := one(widget.Field{Kind: widget.Secret, Value: "hunter2"})
	long := one(widget.Field{Kind: widget.Secret})
	long.Update(pasted("correct horse battery staple"))
	for _, width := range []int{3, 10, 40, 120} {
		if short.View(width, 5) != long.View(width, 5) {
			t.Errorf("at width %d the length of a secret shows:\n%s\n%s", width, short.View(width, 5),
				long.View(width, 5))
		}
		if strings.Contains(short.View(width, 5)+short.AccessibleText()+short.Input("field", width), "hunter2") {
			t.Errorf("the secret shows at width %d", width)
		}
	}
	if _, ok := short.Values()["field"]; ok || short.Field("field").Value != "" {
		t.Error("the secret is in Values or Field")
	}
	if short.Value("field") != "hunter2" {
		t.Errorf("the secret is %q", short.Value("field"))
	}
	press(t, short, "home", "left", "ctrl+left", "backspace")
	if short.Value("field") != "hunter" {
		t.Errorf("the cursor moved inside the hidden text: %q", short.Value("field"))
	}
	press(t, short, "ctrl+w")
	if short.Value("field") != "" {
		t.Errorf("ctrl+w left part of the secret: %q", short.Value("field"))
	}
}

func TestEagerCheckRunsAtTheFirstKey(t *testing.T) {
	form := widget.NewForm(plain, widget.Field{Name: "price", Value: "12", Eager: true,
		Check: func(value string) string {
			if value != "12" {
				return "must be 12"
			}
			return ""
		}})
	form.Update(typed(","))
	if diff := cmp.Diff([]string{"must be 12"}, form.Problems("price")); diff != "" {
		t.Error(diff)
	}
}

func TestSwitchesTakeOnlySpaceAndArrows(t *testing.T) {
	form := widget.NewForm(plain, widget.Field{Name: "sandbox", Kind: widget.Switch, Value: widget.No})
	for r := '!'; r <= '~'; r++ {
		if _, edited := form.Update(typed(string(r))); edited {
			t.Errorf("%q changed a switch", r)
		}
	}
	var got []string
	for _, key := range []tea.KeyMsg{typed(" "), {Type: tea.KeyRight}, {Type: tea.KeyLeft}, {Type: tea.KeyBackspace}} {
		form.Update(key)
		got = append(got, form.Value("sandbox"))
	}
	if diff := cmp.Diff(strings.Fields("yes no yes yes"), got); diff != "" {
		t.Error(diff)
	}
}

func TestCheckRunsOnceTheFieldLostFocus(t *testing.T) {
	short := func(value string) string {
		if len(value) < 3 {
			return "is too short"
		}
		return ""
	}
	form := widget.NewForm(plain, widget.Field{Name: "title", Check: short}, widget.Field{Name: "city", Check: short})
	if form.Problems("title") != nil {
		t.Error("there is a problem before anything was typed")
	}
	form.Update(typed("a"))
	if form.Problems("title") != nil {
		t.Error("there is a problem while the first text is typed")
	}
	form.Do(actions.NextField)
	form.Do(actions.PreviousField)
	if diff := cmp.Diff([]string{"is too short"}, form.Problems("title")); diff != "" {
		t.Error(diff)
	}
	form.Update(typed("bc"))
	if form.Problems("title") != nil {
		t.Error("the problem stays after the text became valid")
	}
	if form.Check() || form.Focus() != "city" || form.Problems("city") == nil {
		t.Errorf("Check moved the focus to %s", form.Focus())
	}
	form.Do(actions.PreviousField)
	form.Do(actions.PreviousField)
	if form.Focus() != "city" {
		t.Errorf("the field before the first is %s", form.Focus())
	}
}

func TestRefusalStaysUntilTheValueChanges(t *testing.T) {
	form := widget.NewForm(plain, widget.Field{Name: "a"}, widget.Field{Name: "b", Value: "x"}, widget.Field{Name: "c"})
	others := form.Refuse(api.FieldErrors{"c": {"is taken"}, "b": {"is odd", "is old"}, "z": {"is unknown"}})
	if diff := cmp.Diff(api.FieldErrors{"z": {"is unknown"}}, others); diff != "" {
		t.Error(diff)
	}
	if form.Focus() != "b" || len(form.Problems("b")) != 2 || len(form.Problems("c")) != 1 {
		t.Errorf("focus on %s; %v, %v", form.Focus(), form.Problems("b"), form.Problems("c"))
	}
	form.Update(typed("y"))
	if form.Problems("b") != nil || form.Problems("c") == nil {
		t.Error("an edit must clear only the problems of its field")
	}
	press(t, form, "backspace")
	if form.Problems("b") == nil {
		t.Error("the refused value is back without its problem")
	}
}

func TestChanged(t *testing.T) {
	form := widget.NewForm(plain, widget.Field{Name: "a", Value: "1"},
		widget.Field{Name: "s", Kind: widget.Switch, Value: widget.No})
	form.Set("a", "2")
	form.Set("s", widget.Yes)
	if diff := cmp.Diff([]string{"a", "s"}, form.Changed()); diff != "" {
		t.Error(diff)
	}
	form.Set("a", "1")
	if diff := cmp.Diff([]string{"s"}, form.Changed()); diff != "" {
		t.Error(diff)
	}
}

func TestAFormWithoutFields(t *testing.T) {
	form := widget.NewForm(plain)
	form.Update(typed("a"))
	form.Do(actions.NextField)
	form.View(80, 24)
	if form.Focus() != "" || form.EnterSubmits() || form.Takes("enter") || !form.Check() ||
		form.AccessibleText() != "" {
		t.Error("an empty form has a focus, text or problems")
	}
}

func BenchmarkTypingIntoAFullField(b *testing.B) {
	for name, kind := range map[string]widget.Kind{"line": widget.Line, "text": widget.Text} {
		b.Run(name, func(b *testing.B) {
			form := one(widget.Field{Kind: kind, Value: strings.Repeat("漢字 tea ", 1250)})
			for b.Loop() {
				form.Update(typed("x"))
				form.View(80, 24)
				form.Update(tea.KeyMsg{Type: tea.KeyBackspace})
			}
		})
	}
}
