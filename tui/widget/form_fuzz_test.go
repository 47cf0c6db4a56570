package widget_test

import (
	"math/rand/v2"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/tuitest"
)

// Texts whose width is hard to measure: wide, joined, combining, right-to-left, control characters, escapes and invalid
// bytes.
var hard = []string{
	"a", "b", " ", "  ", "-", ".", "漢", "字", "。", "（", "か", "한", "\u1100", "\u1161", family, japan, "🇯",
	"👍🏽", "🏽", "❤\ufe0f", "1\ufe0f\u20e3",
	"\u0301", "e\u0301", "\u200d", "\ufe0f", "\u200b", "\u00ad", "\u0600", "ש", "م", "นี้", "क्ष", "\t",
	"\n", "\r", "\x00", "\x7f", "\u009b", "\x80",
	"\xff", "\ufffd", "\x1b[31m", "\x1b[1;48;2;1;2;3m", "\x1b[0m", "\x1b", "\x1b[", "\x1b[2J",
	"\x1b]8;;https://example.com\x07", "\x1b]8;;\x07", "\x1b]8;", "…",
}

func TestRandomKeysInAForm(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	form := perkForm(plain)
	width, height := 40, 12
	for range 2000 {
		before := form.Value(form.Focus())
		edited := false
		switch key := random.IntN(100); {
		case key < 40:
			_, edited = form.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(hard[random.IntN(len(hard))]),
				Paste: key < 10, Alt: key == 39})
		case key < 80:
			_, edited = form.Update(tea.KeyMsg{Type: tea.KeyType(random.IntN(200) - 100), Alt: key > 70})
		case key < 85:
			form.Do([]actions.ID{actions.NextField, actions.PreviousField}[key%2])
			before = form.Value(form.Focus())
		case key < 87:
			width, height = random.IntN(100)+1, random.IntN(30)+1
		case key < 88:
			form.Set(form.Focus(), hard[random.IntN(len(hard))])
			before = form.Value(form.Focus())
		case key < 89:
			form.Select()
		case key < 90:
			form.Takes([]string{"up", "down"}[key%2])
		}
		if after := form.Value(form.Focus()); edited != (after != before) {
			t.Fatalf("%s is %q after %q, and edited is %t", form.Field(form.Focus()).Name, after, before, edited)
		}
		tuitest.CheckFit(t, form.View(width, height), width, height)
		display.Width(form.AccessibleText())
	}
}
