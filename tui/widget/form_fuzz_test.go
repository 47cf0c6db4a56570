package widget_test

import (
	"math/rand/v2"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/tui/actions"
	"example.com/perks/tui/widget"
)

func TestNoKeysBreakAForm(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	form := listing(plain)
	width, height := 40, 12
	for range 2000 {
		before := form.Value(form.Focus())
		edited := false
		switch key := random.IntN(100); {
		case key < 40:
			_, edited = form.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(hard[random.IntN(len(hard))]), Paste: key < 10, Alt: key == 39})
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
		case key < 90:
			form.Takes([]string{"up", "down"}[key%2])
		}
		if after := form.Value(form.Focus()); edited != (after != before) {
			t.Fatalf("%s is %q after %q, and edited is %t", form.Field(form.Focus()).Name, after, before, edited)
		}
		checkSize(t, "the form", form.View(width, height), width, height)
		widget.Width(form.Linear())
	}
}
