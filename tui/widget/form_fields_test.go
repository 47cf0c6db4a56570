package widget

import (
	"strings"
	"testing"

	"example.com/perks/tui/theme"
)

func TestInsertAndRemoveKeepTheFocus(t *testing.T) {
	form := NewForm(theme.New(theme.None, 0), Field{Name: "a", Value: "1"}, Field{Name: "c", Value: "3"})
	form.FocusOnName("c")
	form.Insert("a", Field{Name: "b", Value: "2"})
	if names := strings.Join(form.Names(), " "); names != "a b c" || form.Focus() != "c" || form.Value("c") != "3" {
		t.Errorf("after Insert: %s, focus on %s", names, form.Focus())
	}
	form.Remove("a")
	if names := strings.Join(form.Names(), " "); names != "b c" || form.Focus() != "c" {
		t.Errorf("after Remove: %s, focus on %s", names, form.Focus())
	}
	form.Insert("nowhere", Field{Name: "z"})
	form.Remove("c")
	if names := strings.Join(form.Names(), " "); names != "b z" || form.Focus() != "z" {
		t.Errorf("after removing the focused field: %s, focus on %s", names, form.Focus())
	}
	form.Remove("z")
	form.Remove("b")
	form.Remove("b")
	form.Insert("", Field{Name: "only"})
	if form.Focus() != "only" {
		t.Errorf("focus on %q after Insert into an empty form", form.Focus())
	}
}
