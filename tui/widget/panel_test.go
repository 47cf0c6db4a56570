package widget_test

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"example.com/perks/tui/theme"
	"example.com/perks/tui/widget"
)

func TestPanelNamesAndFramesWhatIsInside(t *testing.T) {
	panel := widget.Panel{Title: "Perks 18,040", Note: "newest first", Foot: "1 of 18,040"}
	inside := "one\ntwo\nthree\nfour, which is longer than the panel is wide"
	for _, test := range []struct {
		name   string
		change func(p *widget.Panel)
		width  int
		want   string
	}{
		{"all of it", func(*widget.Panel) {}, 40, `
╭─ Perks 18,040 · newest first ────────╮
│one                                   │
│two                                   │
│three                                 │
│four, which is longer than the panel …│
│                                      │
╰─ 1 of 18,040 ────────────────────────╯`},
		{"a note without space", func(p *widget.Panel) { p.Note = "nearest first, within 10 km" }, 30, `
╭─ Perks 18,040 · nearest … ─╮
│one                         │
│two                         │
│three                       │
│four, which is longer than …│
│                            │
╰─ 1 of 18,040 ──────────────╯`},
		{"no words", func(p *widget.Panel) { *p = widget.Panel{Grave: true} }, 30, `
╔════════════════════════════╗
║one                         ║
║two                         ║
║three                       ║
║four, which is longer than …║
║                            ║
╚════════════════════════════╝`},
		{"more below", func(p *widget.Panel) { p.Bar = widget.Bar{Shown: 5, All: 10} }, 30, `
╭─ Perks 18,040 · newest f… ─╮
│one                         ▐
│two                         ▐
│three                       │
│four, which is longer than …│
│                            │
╰─ 1 of 18,040 ──────────────╯`},
		{"the end, below a line that stays", func(p *widget.Panel) {
			p.Bar = widget.Bar{First: 96, Shown: 4, All: 100, Above: 1}
		}, 30, `
╭─ Perks 18,040 · newest f… ─╮
│one                         │
│two                         │
│three                       │
│four, which is longer than …│
│                            ▐
╰─ 1 of 18,040 ──────────────╯`},
	} {
		changed := panel
		test.change(&changed)
		if diff := cmp.Diff(strings.TrimPrefix(test.want, "\n"),
			ansi.Strip(changed.View(plain, inside, test.width, 7))); diff != "" {
			t.Errorf("%s (-want +got)\n%s", test.name, diff)
		}
	}
	everySize(t, func(look *theme.Theme, width, height int) string { return panel.View(look, inside, width, height) })
	golden(t, "panel", func(look *theme.Theme, width, height int) string {
		focused := panel
		focused.Focused = true
		return focused.View(look, inside, width, height)
	})
}

// TestAThumbIsWhereItIsDragged drags that of bars of many sizes to each of their rows.
func TestAThumbIsWhereItIsDragged(t *testing.T) {
	const height = 20
	for all := 11; all < 3000; all += 1 + all/10 {
		for row := 1; row < height; row++ {
			bar := widget.Bar{Shown: 10, All: all, Above: 1}
			bar.First = bar.At(row, height)
			lines := strings.Split(ansi.Strip(widget.Panel{Bar: bar}.View(plain, "", 30, height+2)), "\n")
			if !strings.HasSuffix(lines[row+1], widget.Thumb) || bar.First+bar.Shown > all {
				t.Errorf("row %d of %d: the first line is %d:\n%s", row, all, bar.First, strings.Join(lines, "\n"))
			}
		}
	}
	if first := (widget.Bar{Shown: 10, All: 10}).At(3, height); first != 0 {
		t.Errorf("without a thumb the first line is %d", first)
	}
}

func TestSmallPanelsHaveNoBorder(t *testing.T) {
	for _, size := range [][2]int{{29, 7}, {30, 6}, {1, 1}} {
		width, height := widget.Inner(size[0], size[1])
		if got := (widget.Panel{Title: "Perks"}).View(plain, "one", size[0], size[1]); strings.ContainsAny(got,
			"╭│") || width != size[0] || height != size[1] {
			t.Errorf("at %v the inside is %dx%d: %q", size, width, height, got)
		}
	}
}
