package widget_test

import (
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/theme"
	"example.com/perks/tui/tuitest"
	"example.com/perks/tui/widget"
)

var facts = []widget.Pair{
	{Label: "Title", Value: "お茶と漢字の本をもう一冊、そして" + family +
		"のためのコーヒーを二杯"},
	{Label: "Merchant's own terms",
		Value: "Not on Sundays.\nNot with other perks, not for groups of more than eight, " +
			"and only while the harbour is open to visitors."},
	{Label: "עיר", Value: "תל אביב"},
	{Label: "Redeemed", Value: ""},
	{Label: "Link", Value: "https://example.com/" + strings.Repeat("x", 60)},
}

func pairs(look *theme.Theme, width, height int) string {
	return display.Crop(strings.Join(widget.Pairs(look, width, facts), "\n"), width, height)
}

func TestPairs(t *testing.T) {
	golden(t, "pairs", pairs)
	everySize(t, func(look *theme.Theme, width, height int) string {
		for _, line := range widget.Pairs(look, width, facts) {
			if display.Width(line) > max(0, width) {
				t.Fatalf("at width %d: %q", width, line)
			}
		}
		return pairs(look, width, height)
	})
	want := []string{"Title: a b", "City: Paris"}
	if diff := cmp.Diff(want, widget.AccessiblePairs([]widget.Pair{{Label: "Title", Value: "a\nb"},
		{Label: "City", Value: "Paris"}})); diff != "" {
		t.Error(diff)
	}
}

func TestTabs(t *testing.T) {
	names := []string{"Available 12", "Redeemed 3", "漢字"}
	for _, test := range []struct {
		width, current int
		want           string
	}{
		{40, 0, "[Available 12] Redeemed 3  漢字 "},
		{40, 2, " Available 12  Redeemed 3 [漢字]"},
		{40, 9, " Available 12  Redeemed 3 [漢字]"},
		{40, -1, "[Available 12] Redeemed 3  漢字 "},
		{31, 1, "[Redeemed 3] 2/3"},
		{12, 1, "[Redee…] 2/3"},
		{7, 1, "[…] 2/3"},
		{4, 1, "Red…"},
		{1, 2, "…"},
		{0, 0, ""},
	} {
		if got := ansi.Strip(widget.Tabs(plain, test.width, names, test.current)); got != test.want {
			t.Errorf("at width %d: %q, want %q", test.width, got, test.want)
		}
	}
	golden(t, "tabs", func(look *theme.Theme, width, _ int) string { return widget.Tabs(look, width, names, 1) })
	everySize(t, func(look *theme.Theme, width, _ int) string { return widget.Tabs(look, width, names, 1) })
	if got := widget.Tabs(plain, 40, nil, 0) + widget.AccessibleTabs(nil, 0); got != "" {
		t.Errorf("without tabs: %q", got)
	}
	if got := widget.AccessibleTabs(names, 1); got != "Tab Redeemed 3, shown. Other tabs: Available 12, 漢字." {
		t.Error(got)
	}
	if got := widget.AccessibleTabs(names[:1], 0); got != "Tab Available 12, shown." {
		t.Error(got)
	}
}

func TestTabAt(t *testing.T) {
	names := []string{"漢字", "b"}
	for column, want := range map[int]int{0: 0, 5: 0, 6: 1, 8: 1} {
		if got, ok := widget.TabAt(40, names, 0, column); !ok || got != want {
			t.Errorf("column %d is tab %d, %t", column, got, ok)
		}
	}
	for _, column := range []int{-1, 9, 40} {
		if got, ok := widget.TabAt(40, names, 0, column); ok {
			t.Errorf("column %d is tab %d", column, got)
		}
	}
	if got, ok := widget.TabAt(8, names, 1, 3); !ok || got != 0 {
		t.Errorf("with one tab drawn, column 3 is tab %d, %t", got, ok)
	}
}

func TestNotice(t *testing.T) {
	const title, advice = "The perks could not be loaded: お茶 is not there.",
		"Press R to retry, or ask your administrator whether the service is down."
	golden(t, "notice", func(look *theme.Theme, width, height int) string {
		return widget.Notice(look, widget.Failure, title, advice, width, height)
	})
	for _, kind := range []widget.NoticeKind{widget.Empty, widget.Loading, widget.Failure} {
		everySize(t, func(look *theme.Theme, width, height int) string {
			view := widget.Notice(look, kind, title, advice, width, height)
			if width >= 30 && height >= 8 &&
				(!strings.Contains(view, "The perks") || !strings.Contains(view, "administrator")) {
				t.Errorf("at %dx%d something is missing:\n%s", width, height, view)
			}
			if width > 9 && height > 0 && strings.Contains(view, "!") != (kind == widget.Failure) {
				t.Errorf("at %dx%d only a failure must have a mark:\n%s", width, height, view)
			}
			return view
		})
	}
	if got := widget.AccessibleNotice(widget.Failure, "It is down.", "Wait."); got != "Problem: It is down.\nWait." {
		t.Error(got)
	}
	if got := widget.AccessibleNotice(widget.Empty, "There are no perks.", ""); got != "There are no perks." {
		t.Error(got)
	}
}

func TestLoadingTitle(t *testing.T) {
	for elapsed, want := range map[time.Duration]string{
		-time.Hour: "Loading perks ...", 0: "Loading perks ...", time.Second - 1: "Loading perks ...",
		time.Second: "Loading perks ... 1 s", 90 * time.Second: "Loading perks ... 90 s",
	} {
		if got := widget.LoadingTitle("perks", elapsed); got != want {
			t.Errorf("after %s: %q", elapsed, got)
		}
	}
}

func TestScroll(t *testing.T) {
	var s widget.Scroll
	s.Resize(5, 3)
	s.Set(strings.Fields("one two three four five six 漢字漢字"))
	for _, step := range []struct {
		do           actions.ID
		first        string
		above, below int
	}{
		{actions.Up, "one", 0, 4}, {actions.Down, "two", 1, 3}, {actions.PageDown, "four", 3, 1},
		{actions.PageDown, "five", 4, 0},
		{actions.PageUp, "three", 2, 2}, {actions.Bottom, "five", 4, 0}, {actions.Top, "one", 0, 4},
	} {
		if !s.Do(step.do) {
			t.Errorf("%s is not known", step.do)
		}
		above, below := s.More()
		if view := s.View(); !strings.HasPrefix(view, step.first+"\n") || above != step.above || below != step.below {
			t.Errorf("after %s: %d above, %d below:\n%s", step.do, above, below, view)
		}
	}
	s.Reveal(6)
	if got := s.View(); got != "five\nsix\n漢字…" {
		t.Errorf("%q", got)
	}
	s.Reveal(1)
	if got := s.View(); got != "two\nthree\nfour" {
		t.Errorf("%q", got)
	}
	s.Set(strings.Fields("one two"))
	if got := s.View(); got != "one\ntwo\n" {
		t.Errorf("fewer lines: %q", got)
	}
	if s.Do(actions.Redeem) {
		t.Error("Do handled redeem")
	}
	for _, size := range [][2]int{{0, 0}, {-1, -1}, {5, 0}, {0, 5}} {
		s.Resize(size[0], size[1])
		s.Reveal(1)
		s.Do(actions.Bottom)
		tuitest.CheckFit(t, s.View(), max(0, size[0]), max(1, size[1]))
	}
}
