package tui_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/perks/api/display"
	"example.com/perks/server/servertest"
	"example.com/perks/tui"
	"example.com/perks/tui/tuitest"
)

// firstScreens are those that people see most, as they are opened with the sample data, and how many hundredths of
// their cells are used at least.
var firstScreens = []struct {
	name  string
	opens string
	least int
}{
	{"list of perks", `=> row 1 of`, 65},
	{"perk", `4 settle P => Perk`, 69},
	{"redeem dialog over the list", `r => > User`, 60},
	{"user", `2 "u-000001\n" => User u-000001`, 79},
	{"redemptions", `4 => Redemptions 200+`, 67},
	{"listing", `3 "5\n" => Property 5:`, 60},
}

// TestTheSpaceOfScreensIsUsed counts the cells of the first screens in a window of 120x40 that are used: those with a
// character, and one or two blanks between two characters, which are between words. More blanks than that set things
// apart that could be closer, or are empty. Frames are characters, too; the log says how many cells are used without
// them. No text may be cut while the cells behind it are empty in all rows.
func TestTheSpaceOfScreensIsUsed(t *testing.T) {
	clock := servertest.NewClock(time.Date(2026, time.November, 23, 9, 30, 0, 0, time.UTC)) // so that dates are the same
	server, owner := sampled(t, amounts{perks: 500, users: 1200, properties: 400, redemptions: 600}, clock)
	for _, s := range firstScreens {
		t.Run(s.name, func(t *testing.T) {
			d := tuitest.StartAs(t, server, owner.id, owner.secret, func(o *tui.Options) { o.Now = clock.Now })
			d.Resize(120, 40)
			d.Settle()
			d.Play(s.opens)
			d.Settle()
			cells := cellsOf(d.Screen())
			u := usageOf(cells)
			t.Logf("%d %% of %d cells are used: %s", u.percent(), u.all, u)
			if u.percent() < s.least {
				t.Errorf("%d %% of the cells are used, less than %d %%:\n%s", u.percent(), s.least, d.Screen())
			}
			for _, cut := range cutWithSpace(cells) {
				t.Errorf("%s:\n%s", cut, d.Screen())
			}
		})
	}
}

// cellsOf has a character for each cell of a screen. A wide one has the cells beside it, too.
func cellsOf(screen string) (cells [][]rune) {
	for line := range strings.SplitSeq(screen, "\n") {
		var row []rune
		for _, r := range line {
			row = append(row, slices.Repeat([]rune{r}, display.Width(string(r)))...)
		}
		for len(row) < 120 {
			row = append(row, ' ')
		}
		cells = append(cells, row)
	}
	return cells
}

// usage is how many cells of a screen are what.
type usage struct{ all, characters, frames, between int }

func (u usage) percent() int { return 100 * (u.characters + u.frames + u.between) / u.all }

func (u usage) String() string {
	return fmt.Sprintf("%d characters, %d frames, %d blanks between words; %d %% without the frames",
		u.characters, u.frames, u.between, 100*(u.characters+u.between)/(u.all-u.frames))
}

// isFrame tells whether a character is drawn around texts.
func isFrame(r rune) bool { return '─' <= r && r <= '▟' }

func usageOf(cells [][]rune) (u usage) {
	for _, row := range cells {
		blanks, before := 0, ' '
		for _, r := range row {
			u.all++
			switch {
			case r == ' ':
				blanks++
				continue
			case isFrame(r):
				u.frames++
			default:
				if u.characters++; before != ' ' && !isFrame(before) && blanks <= 2 {
					u.between += blanks
				}
			}
			blanks, before = 0, r
		}
	}
	return u
}

// cutWithSpace names texts that are cut though cells behind them are empty in every row of their list or text: more of
// them than the two that are between columns.
func cutWithSpace(cells [][]rune) (cuts []string) {
	for y, row := range cells {
		for x, r := range row {
			if r != '…' {
				continue
			}
			space := 0
			for at := x + 1; at < len(row) && isEmpty(cells, y, at); at++ {
				space++
			}
			if space > 2 {
				cuts = append(cuts, fmt.Sprintf("%q is cut before %d empty cells", strings.TrimSpace(string(row[:x+1])),
					space))
			}
		}
	}
	return cuts
}

// isEmpty tells whether a cell is blank, and those above and below it up to the frame of its panel.
func isEmpty(cells [][]rune, y, x int) bool {
	if cells[y][x] != ' ' {
		return false
	}
	left, right := x, x
	for ; left > 0 && !isFrame(cells[y][left]); left-- {
	}
	for ; right < len(cells[y])-1 && !isFrame(cells[y][right]); right++ {
	}
	for _, step := range []int{-1, 1} {
		for at := y; at >= 0 && at < len(cells) && !slices.Contains(cells[at][left:right], '─'); at += step {
			if cells[at][x] != ' ' {
				return false
			}
		}
	}
	return true
}

// TestATextThatIsCutBeforeSpaceIsFound has lists in which a column could be wider, and could not.
func TestATextThatIsCutBeforeSpaceIsFound(t *testing.T) {
	for name, c := range map[string]struct {
		screen string
		found  int
	}{
		"space in all rows":      {"╭────────╮\n│Te…    b│\n│Cup    a│\n╰────────╯", 1},
		"space in its row alone": {"╭────────╮\n│Te…    b│\n│Cup d  a│\n╰────────╯", 0},
		"two cells":              {"╭────────╮\n│Teapo…  │\n│Cup     │\n╰────────╯", 0},
		"beside another panel": {"╭────────╮╭────╮\n│Title B ││    │\n│        │╰────╯\n│Te…    b│\n│Cup    a│\n╰────────╯",
			0},
		"in a frame": {"╭─ Tea… ─╮\n│        │", 0},
	} {
		if found := cutWithSpace(cellsOf(c.screen)); len(found) != c.found {
			t.Errorf("%s: found %q", name, found)
		}
	}
}
