package output_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/mattn/go-runewidth"

	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
)

// shown returns the output on a terminal with the width.
func shown[T any](
	t *testing.T, width int, view output.View, options output.Options, records ...T,
) (data, notes string) {
	t.Helper()
	s, out, err := command.BufferedStreams("")
	s.OutTTY, s.Width = true, width
	printer, failed := output.New[T](options, s, view)
	if failed != nil {
		t.Fatal(failed)
	}
	if failed := printer.OneOrList(context.Background(), records); failed != nil {
		t.Fatal(failed)
	}
	return out.String(), err.String()
}

func TestEveryLineFitsEveryScreen(t *testing.T) {
	wide := items()
	wide = append(wide,
		item{ID: 5, Title: "👩‍👩‍👧‍👦 family 🇩🇪 flag 👍🏽 thumbs é e\u0301 ｆｕｌｌ",
			City:  text("서울특별시"),
			Extra: json.RawMessage(`"` + strings.Repeat("長い", 90) + `"`)},
		item{ID: 6, Title: strings.Repeat("unbroken", 40), City: text("…"), Extra: json.RawMessage(`{}`)})
	longest := len("9007199254740993") // of the ids in a list, which are never cut
	for width := 1; width <= 200; width++ {
		for name, records := range map[string][]item{"a list": wide, "one": wide[4:5], "another": wide[5:],
			"one with newlines": wide[2:3]} {
			data, _ := shown(t, width, view, output.Options{}, records...)
			for line := range strings.SplitSeq(data, "\n") {
				if columns := runewidth.StringWidth(line); columns > width && (name != "a list" || columns > longest) {
					t.Fatalf("%s on %d columns: %q is %d wide", name, width, line, columns)
				}
			}
		}
	}
}

type offer struct {
	ID, Title, Category, City string
	Until                     *time.Time `json:"until"`
}

func TestNarrowScreensDropLeastColumnsFirst(t *testing.T) {
	offers := output.View{Columns: []string{"ID", "Title", "Category", "City"}, Least: []string{"Category"}, ID: "ID"}
	records := []offer{{"coffee-2for1", "Two coffees for the price of one", "Food & Drink", "Berlin", nil},
		{"spa", "A day in the spa", "Wellness", "Bad Homburg", nil}}
	for width, want := range map[int]string{
		80: "ID            TITLE                             CATEGORY      CITY\n" +
			"coffee-2for1  Two coffees for the price of one  Food & Drink  Berlin\n" +
			"spa           A day in the spa                  Wellness      Bad Homburg\n",
		60: "ID            TITLE                CATEGORY      CITY\n" +
			"coffee-2for1  Two coffees for th…  Food & Drink  Berlin\n" +
			"spa           A day in the spa     Wellness      Bad Homburg\n",
		40: "ID            TITLE          CITY\n" +
			"coffee-2for1  Two coffees …  Berlin\n" +
			"spa           A day in the…  Bad Homburg\n",
		24: "ID            TITLE\n" +
			"coffee-2for1  Two coffe…\nspa           A day in …\n",
		12: "ID\ncoffee-2for1\nspa\n",
		5:  "ID\ncoffee-2for1\nspa\n",
	} {
		got, _ := shown(t, width, offers, output.Options{}, records...)
		if got != want {
			t.Errorf("%d columns:\n%s\nwant\n%s", width, got, want)
		}
	}
	_, notes := shown(t, 24, offers, output.Options{}, records...)
	if notes != "The screen is too narrow for Category, City.\n" {
		t.Errorf("notes %q", notes)
	}
	got, _ := shown(t, 24, offers, output.Options{Fields: []string{"Category", "City", "Title"}}, records...)
	if !strings.HasPrefix(got, "CATEGORY      CITY\n") {
		t.Errorf("the last of --fields must be dropped first:\n%s", got)
	}
}

// A list of redemptions on 80 columns: people copy its ids, and half of a date is wrong.
func TestIDsAndTimesAreNeverCut(t *testing.T) {
	type redemption struct {
		ID     string    `json:"id"`
		Perk   string    `json:"perk_id"`
		User   string    `json:"user_id"`
		Status string    `json:"status"`
		At     time.Time `json:"redeemed_at"`
		Client string    `json:"client_id"`
	}
	view := output.View{
		Columns: []string{"id", "perk_id", "user_id", "status", "redeemed_at", "client_id"},
		Least:   []string{"client_id"}, ID: "id",
	}
	at := time.Date(2020, 1, 31, 9, 0, 0, 0, time.UTC)
	id := "01a20f33-a334-786e-bbd9-2f6b8e4a1c33"
	records := []redemption{{id, "coffee-2for1-berlin", "u-4711", "approved", at, "support-desk"},
		{"r", "spa", "u", "pending", at, "desk"}}
	got, notes := shown(t, 80, view, output.Options{}, records...)
	want := "ID                                    PERK_ID     USER_ID  STATUS    REDEEMED_AT\n" +
		id + "  coffee-2f…  u-4711   approved  2020-01-31\n" +
		"r                                     spa         u        pending   2020-01-31\n"
	if got != want || notes != "The screen is too narrow for client_id.\n" {
		t.Errorf("got\n%swant\n%s%s", got, want, notes)
	}
	got, _ = shown(t, 20, view, output.Options{}, records...)
	if !strings.Contains(got, "\n"+id+"\n") {
		t.Errorf("20 columns:\n%s", got)
	}
}

func TestLongTextsAreWrapped(t *testing.T) {
	record := offer{ID: "x", Title: "First line.\nThen a longer one that does not fit beside its name.", City: "Köln"}
	got, _ := shown(t, 32, view, output.Options{}, record)
	want := "ID        x\n" +
		"Title     First line.\n" +
		"          Then a longer one that\n" +
		"          does not fit beside\n" +
		"          its name.\n" +
		"Category\n" +
		"City      Köln\n" +
		"until\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	got, _ = shown(t, 16, view, output.Options{Fields: []string{"Title"}}, offer{Title: "Two words under their name"})
	if want := "Title\n  Two words\n  under their\n  name\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestTablesShowRelativeTimes(t *testing.T) {
	now := time.Date(2030, 5, 10, 12, 0, 0, 0, time.UTC)
	options := output.Options{Now: func() time.Time { return now }, Fields: []string{"until"}}
	at := func(d time.Duration) *time.Time { moment := now.Add(d).In(time.FixedZone("", 5*3600)); return &moment }
	const day = 24 * time.Hour
	for _, test := range []struct {
		distance   time.Duration
		list, long string
	}{
		{20 * time.Second, "now", "now"},
		{-90 * time.Second, "1 minute ago", "1 minute ago"},
		{-2*time.Hour - time.Minute, "2 hours ago", "2 hours ago"},
		{3*day + time.Hour, "in 3 days", "in 3 days"},
		{29 * day, "in 29 days", "in 29 days"},
		{31 * day, "2030-06-10", "in 1 month"},
		{-200 * day, "2029-10-22", "6 months ago"},
		{5*365*day + 30*day, "2035-06-08", "in 5 years"},
	} {
		list, _ := shown(t, 80, view, options, offer{Until: at(test.distance)}, offer{})
		if want := "UNTIL\n" + test.list + "\n\n"; list != want {
			t.Errorf("%s in a list: %q, want %q", test.distance, list, want)
		}
		one, _ := shown(t, 80, view, options, offer{Until: at(test.distance)})
		if want := "until  " + at(test.distance).Local().Format("2006-01-02 15:04 MST") + ", " + test.long +
			"\n"; one != want {
			t.Errorf("%s alone: %q, want %q", test.distance, one, want)
		}
	}
}

func TestProgramsReadTimesInUTC(t *testing.T) {
	moment := time.Date(2030, 5, 10, 1, 30, 0, 0, time.FixedZone("", 2*3600))
	const utc = "2030-05-09T23:30:00Z"
	for _, options := range []output.Options{
		{}, {Format: "json"}, {Format: "jsonl"}, {Format: "yaml"}, {Format: "csv"}, {JQ: ".[].until"},
		{Template: "{{range .}}{{.until}}{{end}}"},
	} {
		s, out, _ := command.BufferedStreams("")
		s.OutTTY = options.Format != "" || !options.IsTable()
		options.Fields = []string{"until"}
		printer, err := output.New[offer](options, s, view)
		if err == nil {
			err = printer.List(context.Background(), output.Each([]offer{{Until: &moment}}))
		}
		if err != nil || !strings.Contains(out.String(), utc) {
			t.Errorf("%+v: %q, %v", options, out, err)
		}
	}
	if moment.Hour() != 1 {
		t.Error("the record was changed")
	}
}

func TestUnknownFieldsOfRawRecords(t *testing.T) {
	for name, test := range map[string]struct {
		options output.Options
		notes   string
	}{
		"known": {output.Options{Format: "json", Fields: []string{"a"}}, ""},
		"unknown": {output.Options{Format: "json", Fields: []string{"a", "zz", "y"}},
			"warning: no record has a field named y, zz.\n"},
	} {
		_, notes := shown(t, 80, view, test.options, json.RawMessage(`{"a":1}`), json.RawMessage(`{"b":1}`))
		if notes != test.notes {
			t.Errorf("%s: notes %q", name, notes)
		}
	}
	s, _, _ := command.BufferedStreams("")
	printer, err := output.New[json.RawMessage](output.Options{Format: "id"}, s, output.View{ID: "id"})
	if err == nil {
		err = printer.One(context.Background(), json.RawMessage(`{"name":"x"}`))
	}
	if err == nil || !strings.Contains(err.Error(), `no field "id"`) {
		t.Errorf("missing id: %v", err)
	}
}

func TestRawCSVIsSafeOnATerminal(t *testing.T) {
	record := offer{ID: "=1", Title: "\x1b[31m"}
	options := output.Options{Format: "csv", Raw: true, Fields: []string{"ID", "Title"}}
	if got, _ := shown(t, 80, view, options, record); got != "ID,Title\n=1,[31m\n" {
		t.Errorf("%q", got)
	}
	named, _ := shown(t, 80, view, output.Options{Format: "csv"}, json.RawMessage(`{"=cmd()":1,"a\u001b[2J":2}`))
	if named != "'=cmd(),a[2J\n1,2\n" {
		t.Errorf("column names: %q", named)
	}
}

type counted struct {
	Key   string `json:"key"`
	Title string `json:"title"`
	Total int    `json:"total"`
	Other int    `json:"other"`
}

func TestATerminalShowsABarIfThereIsSpace(t *testing.T) {
	bar := output.View{Columns: []string{"key", "title", "total", "other"}, Least: []string{"other"}, ID: "key",
		Bar: "total", KeyName: "perk"}
	records := []counted{{"spa-day", "温泉の一日", 80, 1}, {"tea", "Tea", 21, 0}, {"one", "One", 1, 0},
		{"none", "None", 0, 0}}
	for width, want := range map[int]string{
		80: "PERK     TITLE       TOTAL  OTHER\n" +
			"spa-day  温泉の一日  80     1      ████████████████████████████████████████\n" +
			"tea      Tea         21     0      ██████████▌\n" +
			"one      One         1      0      ▌\n" +
			"none     None        0      0\n",
		45: "PERK     TITLE       TOTAL  OTHER\n" +
			"spa-day  温泉の一日  80     1      ██████████\n" +
			"tea      Tea         21     0      ██▋\n" +
			"one      One         1      0      ▏\n" +
			"none     None        0      0\n",
		44: "PERK     TITLE       TOTAL  OTHER\n" +
			"spa-day  温泉の一日  80     1\n" +
			"tea      Tea         21     0\n" +
			"one      One         1      0\n" +
			"none     None        0      0\n",
	} {
		if data, _ := shown(t, width, bar, output.Options{}, records...); data != want {
			t.Errorf("on %d columns:\n%swant\n%s", width, data, want)
		}
	}
	for width := len("spa-day"); width <= 100; width++ { // an id is never cut
		data, _ := shown(t, width, bar, output.Options{}, records...)
		for line := range strings.SplitSeq(data, "\n") {
			if columns := runewidth.StringWidth(line); columns > width {
				t.Fatalf("on %d columns: %q is %d wide", width, line, columns)
			}
		}
	}
	s, out, _ := command.BufferedStreams("")
	printer, err := output.New[counted](output.Options{}, s, bar)
	if err != nil {
		t.Fatal(err)
	}
	if err := printer.List(t.Context(), output.Each(records)); err != nil || strings.Contains(out.String(), "█") {
		t.Errorf("off a terminal: %v\n%s", err, out)
	}
}
