package perks_test

import "testing"

// The state has the most parts: invalid fields, rows that are hard to draw, and the preview.
func TestEverySizeFits(t *testing.T) {
	t.Parallel()
	d := states["strange"](t)
	d.Press("/", "tab", "tab", "tab")
	d.Type("52.5,200")
	d.Press("tab")
	d.Type("501")
	d.EverySize()
}
