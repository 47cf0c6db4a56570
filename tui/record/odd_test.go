package record

import (
	"testing"

	"github.com/muesli/termenv"

	"example.com/perks/api"
	"example.com/perks/api/operation"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/theme"
)

func oddProperty(t *testing.T) (p api.Property) {
	t.Helper()
	text := `{"propertyId":42,"title":"Odd","price_pw":"£295.50","bathrooms":1.5,"lat":"north","images":7}`
	if err := api.ReadProperty([]byte(text), &p); err != nil {
		t.Fatal(err)
	}
	return p
}

func testShell() *screen.Shell {
	return &screen.Shell{Theme: theme.New(theme.None, termenv.Ascii)}
}

func formOf(p api.Property) *edit[api.PropertyID, api.Property, api.PropertyPatch] {
	kind := &Kind[api.PropertyID, api.Property, api.PropertyPatch]{EditKind: operation.Properties}
	e := kind.newEdit(testShell(), operation.Properties.NewEdit("42", operation.PropertyVersion{Record: p}))
	e.buildForm(testShell().Theme)
	return e
}

func TestUntouchedFormChangesNothing(t *testing.T) {
	odd := "\ta\r\n\x1b[31mb\n\u202ec \n\n\u200fd\ufffd\r"
	for _, p := range []api.Property{oddProperty(t), {Title: odd, Description: odd, Images: []string{" x", odd}}} {
		e := formOf(p)
		if e.typed(); e.Submit() != operation.FoundNothing || len(e.Typed()) > 0 {
			t.Errorf("untouched, the form changes %v, %v", e.Typed(), e.Problems())
		}
	}
}

func TestOddFieldsAreSentOnlyIfTheyAreSet(t *testing.T) {
	e := formOf(oddProperty(t))
	e.form.Set("price_pw", "295.50")
	e.form.Set("deposit", "0")
	e.typed()
	e.Submit()
	text, err := api.EncodeJSON(e.Patch)
	if string(text) != `{"price_pw":"295.50","deposit":0}` || err != nil {
		t.Errorf("the form sends %s, %v, %v", text, e.Problems(), err)
	}
}
