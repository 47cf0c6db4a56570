package output_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"example.com/perks/api/rows"
	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
)

var update = flag.Bool("update", false, "update the golden files")

type item struct {
	ID     int64           `json:"id"`
	Title  string          `json:"title"`
	City   *string         `json:"city"`
	Price  string          `json:"price"`
	Lat    float64         `json:"lat"`
	Images []string        `json:"images"`
	Extra  json.RawMessage `json:"extra"`
}

var view = output.View{Columns: []string{"id", "title", "city", "lat"}, ID: "id"}

func text(s string) *string { return &s }

// items have values that are difficult for formats: escape sequences, spreadsheet formulas, text that YAML reads as
// another type, and numbers that a float would change.
func items() []item {
	return []item{
		{1, "Coffee ☕ & cake", text("Zürich"), "120.50", -33.86,
			[]string{"https://a.example/1.jpg", "https://a.example/2.jpg"},
			json.RawMessage(`{"b":1.50,"a":[true,null]}`)},
		{9007199254740993, "=HYPERLINK(\"x\")\x1b[31m\u202egnp\u202c", nil, "0", 0, []string{}, json.RawMessage(`{}`)},
		{3, "two\nlines\tand a tab", text("no"), "-1", 1e21, nil, json.RawMessage(`"\ud83d\ude00 \/"`)},
		{4, "寿司 at the long, long, very long table by the window", text("東京"), "@cmd", 35.6764, []string{"x"},
			json.RawMessage(`12`)},
	}
}

func all(items []item) iter.Seq2[item, error] {
	return func(yield func(item, error) bool) {
		for _, i := range items {
			if !yield(i, nil) {
				return
			}
		}
	}
}

// run writes with a printer and returns the output.
func run(t *testing.T, options output.Options, terminal bool, use func(*output.Printer[item]) error) (string, error) {
	t.Helper()
	s, out, _ := command.BufferedStreams("")
	if terminal {
		s.OutTTY, s.Width, s.ColourOut = true, 60, true
	}
	if err := options.Check(); err != nil {
		return "", err
	}
	options.Now = func() time.Time { return time.Date(2030, 5, 10, 12, 0, 0, 0, time.UTC) }
	printer, err := output.New[item](options, s, view)
	if err != nil {
		return "", err
	}
	err = use(printer)
	return out.String(), err
}

func list(items []item) func(*output.Printer[item]) error {
	return func(p *output.Printer[item]) error { return p.List(context.Background(), all(items)) }
}

func one(i item) func(*output.Printer[item]) error {
	return func(p *output.Printer[item]) error { return p.One(context.Background(), i) }
}

const sheet = `{{range .}}{{tablerow .id (hyperlink "https://a.example/?q=1" .title) (truncate 3 .city) ` +
	`(timeago "2030-05-08T12:00:00Z")}}{{end}}` +
	`{{tablerender}}{{join ", " (pluck "price" .)}}{{tablerow "one" "more"}}`

func TestGolden(t *testing.T) {
	for name, test := range map[string]struct {
		options  output.Options
		terminal bool
		use      func(*output.Printer[item]) error
	}{
		"table-terminal":     {output.Options{}, true, list(items())},
		"table-piped":        {output.Options{}, false, list(items())},
		"table-fields":       {output.Options{Fields: []string{"price", "id"}}, true, list(items())},
		"table-one-terminal": {output.Options{}, true, one(items()[0])},
		"table-one-piped":    {output.Options{}, false, one(items()[1])},
		"json":               {output.Options{Format: "json"}, false, list(items())},
		"json-one":           {output.Options{Format: "json"}, false, one(items()[0])},
		"json-fields":        {output.Options{Format: "json", Fields: []string{"title", "id"}}, false, list(items())},
		"jsonl":              {output.Options{Format: "jsonl"}, false, list(items())},
		"yaml":               {output.Options{Format: "yaml"}, false, list(items())},
		"yaml-one":           {output.Options{Format: "yaml"}, false, one(items()[2])},
		"csv":                {output.Options{Format: "csv"}, false, list(items())},
		"csv-raw":            {output.Options{Format: "csv", Raw: true}, false, list(items())},
		"id":                 {output.Options{Format: "id"}, false, list(items())},
		"jq":                 {output.Options{JQ: `.[] | .title, .id`}, false, list(items())},
		"jq-json":            {output.Options{JQ: `.[] | .title, .id`, Format: "json"}, false, list(items())},
		"jq-each": {output.Options{JQ: `select(.city == null) | {id}`, Format: "jsonl"}, false,
			list(items())},
		"template": {output.Options{Template: `{{range .}}{{.id}} {{.title}} {{json .extra}} ` +
			`{{join " " .images}}{{"\n"}}{{end}}`}, false, list(items()[:2])},
		"template-table":    {output.Options{Template: sheet}, false, list(items())},
		"template-terminal": {output.Options{Template: sheet}, true, list(items())},
		"template-rows": {output.Options{Template: "{{tablerow .id .title}}", Format: "jsonl"}, true,
			list(items())},
		"template-each": {output.Options{Template: "{{.id}}\n", Format: "jsonl"}, false, list(items())},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := run(t, test.options, test.terminal, test.use)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", name+".golden")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", path, diff)
			}
		})
	}
}

func TestDeepRecordsStaySmall(t *testing.T) {
	deep := items()[0]
	deep.Extra = json.RawMessage(`{"a":` + strings.Repeat("[", 7_000) + `{"b":1.50}` + strings.Repeat("]", 7_000) + `}`)
	for _, options := range []output.Options{
		{}, {Format: "json"}, {Format: "yaml"}, {Format: "jsonl"}, {Format: "csv"}, {Fields: []string{"extra"}},
		{JQ: "."}, {JQ: ".", Format: "json"},
	} {
		for name, use := range map[string]func(*output.Printer[item]) error{"one": one(deep),
			"a list": list([]item{deep})} {
			got, err := run(t, options, false, use)
			if err != nil || len(got) > 20_000 {
				t.Errorf("%s with %+v is %d bytes, %v", name, options, len(got), err)
			}
			if _, values, has := strings.Cut(got, "[[[[["); (has || options.Format != "") &&
				!strings.Contains(values, "1.50") {
				t.Errorf("%s with %+v is %.200s", name, options, got)
			}
		}
	}
}

func TestEmptyLists(t *testing.T) {
	for format, want := range map[string]string{
		"": "", "table": "", "json": "[]\n", "yaml": "[]\n", "jsonl": "", "id": "",
		"csv": "id,title,city,price,lat,images,extra\n",
	} {
		if got, err := run(t, output.Options{Format: format}, true, list(nil)); got != want || err != nil {
			t.Errorf("%q: %q, %v; want %q", format, got, err, want)
		}
	}
	if got, err := run(t, output.Options{JQ: "type, length"}, false, list(nil)); got != "array\n0\n" || err != nil {
		t.Errorf("jq: %q, %v", got, err)
	}
	if got, err := run(t, output.Options{Template: "{{json .}}"}, false, list(nil)); got != "[]" || err != nil {
		t.Errorf("template: %q, %v", got, err)
	}
}

// TestFormatsRoundTrip reads each format back.
func TestFormatsRoundTrip(t *testing.T) {
	wantRaw, err := json.Marshal(items())
	if err != nil {
		t.Fatal(err)
	}
	decode := func(raw []byte) (value any) {
		t.Helper()
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.UseNumber()
		if err := dec.Decode(&value); err != nil {
			t.Fatal(err)
		}
		return value
	}
	t.Run("json", func(t *testing.T) {
		got, _ := run(t, output.Options{Format: "json"}, false, list(items()))
		if diff := cmp.Diff(decode(wantRaw), decode([]byte(got))); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("yaml", func(t *testing.T) {
		got, _ := run(t, output.Options{Format: "yaml"}, false, list(items()))
		var value []map[string]any
		if err := yaml.Unmarshal([]byte(got), &value); err != nil {
			t.Fatal(err)
		}
		for i, want := range items() {
			if value[i]["title"] != want.Title || value[i]["price"] != want.Price {
				t.Errorf("item %d: title %q, price %#v", i, value[i]["title"], value[i]["price"])
			}
		}
		if value[2]["city"] != "no" || value[1]["city"] != nil || value[1]["id"] != 9007199254740993 {
			t.Errorf("cities %#v, %#v, id %#v", value[2]["city"], value[1]["city"], value[1]["id"])
		}
	})
	t.Run("csv, raw", func(t *testing.T) {
		got, _ := run(t, output.Options{Format: "csv", Raw: true}, false, list(items()))
		rows, err := csv.NewReader(strings.NewReader(got)).ReadAll()
		if err != nil || rows[2][1] != items()[1].Title {
			t.Errorf("%q, %v", rows, err)
		}
	})
}

func TestYAMLStringsAreQuotedForOldReaders(t *testing.T) {
	for title, want := range map[string]string{
		"no": `"no"`, "Yes": `"Yes"`, "12:30": `"12:30"`, "true": `"true"`, "null": `"null"`, "1e3": `"1e3"`,
		"0x1F": `"0x1F"`, "": `""`,
		"# x": `'# x'`, "a: b": `'a: b'`, "plain text": "plain text", "nobody": "nobody",
	} {
		got, err := run(t, output.Options{Format: "yaml", Fields: []string{"title"}}, false,
			one(item{Title: title, Extra: json.RawMessage("null")}))
		if err != nil || got != "title: "+want+"\n" {
			t.Errorf("%q became %q, %v", title, got, err)
		}
	}
}

func TestNoControlCharactersOnATerminal(t *testing.T) {
	for _, format := range []string{"table", "json", "yaml", "jsonl"} {
		got, err := run(t, output.Options{Format: format}, false, list(items()))
		if err != nil || strings.ContainsAny(got, "\x1b\u202e\u009b") {
			t.Errorf("%s: %q, %v", format, got, err)
		}
	}
	for _, options := range []output.Options{
		{JQ: ".[].title"}, {Template: "{{range .}}{{.title}}{{end}}"}, {Format: "csv"}, {Format: "csv", Raw: true},
		{JQ: ".[]", Format: "json"},
	} {
		got, err := run(t, options, true, list(items()))
		if err != nil || strings.ContainsAny(got, "\x1b\u202e") {
			t.Errorf("%+v: %q, %v", options, got, err)
		}
	}
}

func TestProgramsGetUnchangedText(t *testing.T) {
	const title = "a\x1b[2J\u009b\u202eb\x7f"
	for _, options := range []output.Options{
		{JQ: ".[].title"}, {Template: "{{range .}}{{.title}}{{end}}"}, {Format: "csv", Fields: []string{"title"}},
		{Format: "csv", Fields: []string{"title"}, Raw: true},
	} {
		got, err := run(t, options, false, list([]item{{Title: title, Extra: json.RawMessage("null")}}))
		if err != nil || !strings.Contains(got, title) {
			t.Errorf("%+v: %q, %v", options, got, err)
		}
	}
	s, out, _ := command.BufferedStreams("")
	printer, err := output.New[json.RawMessage](output.Options{Format: "id"}, s, output.View{ID: "id"})
	if err == nil {
		err = printer.List(context.Background(),
			output.Each([]json.RawMessage{json.RawMessage(`{"id":"a\u0002\u00a0b"}`),
				json.RawMessage(`{"id":"c\nd"}`)}))
	}
	if err != nil || out.String() != "a\x02\u00a0b\nc d\n" {
		t.Errorf("ids: %q, %v", out, err)
	}
}

func TestCSVCellsAreNoFormulas(t *testing.T) {
	for cell, want := range map[string]string{"=1+1": "'=1+1", "'=1+1": "''=1+1", "x;=1": "'x;'=1", "-1": "-1"} {
		for raw, want := range map[bool]string{false: want, true: strings.ReplaceAll(cell, "'", "''")} {
			options := output.Options{Format: "csv", Fields: []string{"title", "lat"}, Raw: raw}
			got, err := run(t, options, false, one(item{Title: cell, Lat: -1e-7, Extra: json.RawMessage("null")}))
			if err != nil {
				t.Fatal(err)
			}
			cells, err := csv.NewReader(strings.NewReader(got)).ReadAll()
			if err != nil || cells[1][0] != want || cells[1][1] != "-1e-7" {
				t.Errorf("raw %v: %q became %q, %v; want %q and an unchanged number", raw, cell, cells, err, want)
			}
			for row, err := range rows.NewReader(strings.NewReader(got), rows.CSV).Rows() {
				if err != nil || row.Cells[0] != cell {
					t.Errorf("raw %v: %q was read as %q, %v", raw, cell, row.Cells, err)
				}
			}
		}
	}
}

func TestListsInCSV(t *testing.T) {
	for want, images := range map[string][]string{
		"": {}, "https://a.example/1": {"https://a.example/1"}, "a,b": {"a", "b"},
		`["https://a.example/1,2","b"]`: {"https://a.example/1,2", "b"},
	} {
		got, err := run(t, output.Options{Format: "csv", Fields: []string{"id", "images"}}, false,
			one(item{Images: images, Extra: json.RawMessage("null")}))
		if err != nil {
			t.Fatal(err)
		}
		if cells, err := csv.NewReader(strings.NewReader(got)).ReadAll(); err != nil || cells[1][1] != want {
			t.Errorf("%q became %q, %v; want %q", images, cells, err, want)
		}
	}
}

func TestListReportsFailure(t *testing.T) {
	wrong := errors.New("page 2 failed")
	broken := func(yield func(item, error) bool) {
		if yield(items()[0], nil) {
			yield(item{}, wrong)
		}
	}
	for _, format := range []string{"table", "json", "yaml", "jsonl", "csv", "id"} {
		got, err := run(t, output.Options{Format: format}, true,
			func(p *output.Printer[item]) error { return p.List(context.Background(), broken) })
		if !errors.Is(err, wrong) {
			t.Errorf("%s: %v", format, err)
		}
		if format == "json" && json.Valid([]byte(got)) {
			t.Errorf("the partial list is valid JSON: %s", got)
		}
		if format == "yaml" && yaml.Unmarshal([]byte(got), new(any)) == nil {
			t.Errorf("the partial list is valid YAML: %s", got)
		}
		if got == "" {
			t.Errorf("%s: the items before the failure are missing", format)
		}
	}
	for _, options := range []output.Options{{Format: "csv"}, {JQ: "length"}, {Template: "{{len .}}"}} {
		got, err := run(t, options, false, func(p *output.Printer[item]) error {
			return p.List(context.Background(), func(yield func(item, error) bool) { yield(item{}, wrong) })
		})
		if got != "" || !errors.Is(err, wrong) {
			t.Errorf("%+v: a list that fails at once is written as %q, %v", options, got, err)
		}
	}
}

func TestFailingExpressionsAreErrors(t *testing.T) {
	for _, options := range []output.Options{{JQ: ".[0].title.x"}, {Template: "{{.id}}"}} {
		if _, err := run(t, options, false, list(items())); err == nil {
			t.Errorf("%+v succeeded", options)
		}
	}
}

func TestHaltIsNoError(t *testing.T) {
	for format, want := range map[string]string{"": "1\n", "jsonl": "1\n"} {
		if got, err := run(t, output.Options{JQ: "1, halt, 2", Format: format}, false, list(items())); err != nil ||
			got != want {
			t.Errorf("-o %q: %q, %v", format, got, err)
		}
	}
	if _, err := run(t, output.Options{JQ: `"why" | halt_error`}, false, list(items())); err == nil ||
		!strings.Contains(err.Error(), "why") {
		t.Errorf("halt_error: %v", err)
	}
}

func TestTemplateAdviceIsOnlyAboutLists(t *testing.T) {
	advised := func(text string, use func(*output.Printer[item]) error) bool {
		_, err := run(t, output.Options{Template: text}, false, use)
		if err == nil {
			t.Errorf("%s succeeded", text)
		}
		var advice *command.Advised
		return errors.As(err, &advice)
	}
	if !advised("{{.id}}", list(items())) {
		t.Error("no advice for a list used as a record")
	}
	if advised("{{.none}}", one(items()[0])) || advised("{{range .}}{{.none}}{{end}}", list(items())) ||
		advised("{{range .title}}{{.x}}{{end}}", one(items()[0])) ||
		advised("{{with .images}}{{.x}}{{end}}", one(items()[0])) {
		t.Error("advice about a list without reason")
	}
}

func TestLongTablesAreStreamed(t *testing.T) {
	s, out, _ := command.BufferedStreams("")
	s.OutTTY, s.Width = true, 60
	printer, err := output.New[item](output.Options{}, s, view)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	endless := func(yield func(item, error) bool) {
		for i := range 5000 {
			seen = out.Len()
			if !yield(item{ID: int64(i), Title: "x", Extra: json.RawMessage("null")}, nil) {
				return
			}
		}
	}
	if err := printer.List(context.Background(), endless); err != nil {
		t.Fatal(err)
	}
	if seen == 0 {
		t.Error("no row was written before the last one")
	}
	if lines := strings.Count(out.String(), "\n"); lines != 5001 {
		t.Errorf("%d lines, want 5001", lines)
	}
}
