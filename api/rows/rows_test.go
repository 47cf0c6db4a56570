package rows_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"example.com/perks/api/rows"
)

// read returns a line of text for each row and error of a Reader.
func read(r io.Reader, format rows.Format) []string {
	var got []string
	for row, err := range rows.NewReader(r, format).Rows() {
		var bad *rows.RowError
		switch {
		case errors.As(err, &bad):
			got = append(got, "bad "+err.Error())
		case err != nil:
			got = append(got, "end "+err.Error())
		case row.Object != nil:
			got = append(got, fmt.Sprintf("%d %s", row.Line, row.Object))
		default:
			got = append(got, fmt.Sprintf("%d %q %q", row.Line, row.Header, row.Cells))
		}
	}
	return got
}

func TestReader(t *testing.T) {
	long := strings.Repeat("x", rows.MaxRecord)
	tests := []struct {
		name   string
		format rows.Format
		file   string
		want   []string
	}{
		{"csv rows have their header", rows.CSV, "id,title\n1,Tea\n2,\n",
			[]string{`2 ["id" "title"] ["1" "Tea"]`, `3 ["id" "title"] ["2" ""]`}},
		{"csv without a final newline", rows.CSV, "id\n1", []string{`2 ["id"] ["1"]`}},
		{"csv with a byte order mark and CR LF", rows.CSV, "\ufeffid,t\r\n1,a\r\n", []string{`2 ["id" "t"] ["1" "a"]`}},
		{"csv trims column names and keeps cells as they are", rows.CSV, " id , t\n 1 , a\n",
			[]string{`2 ["id" "t"] [" 1 " " a"]`}},
		{"csv with semicolons", rows.CSV, "\"id\";\"t, u\"\n1;a,b\n\"2;\";\tc\n",
			[]string{`2 ["id" "t, u"] ["1" "a,b"]`, `3 ["id" "t, u"] ["2;" "\tc"]`}},
		{"csv with tabs", rows.CSV, "\ufeff id \t\"a;\"\t b\n1\t2\t3,4\n",
			[]string{`2 ["id" "a;" "b"] ["1" "2" "3,4"]`}},
		{"csv goes by the first separator of its header", rows.CSV, "id,t;u\n1,2;3\n",
			[]string{`2 ["id" "t;u"] ["1" "2;3"]`}},
		{"csv of one column has commas", rows.CSV, "id\n1;2\n1,2\n",
			[]string{`2 ["id"] ["1;2"]`, "bad line 3: has 2 cells, but the header names 1 columns"}},
		{"csv separators inside a quoted name separate nothing", rows.CSV, "\"a;b\",c\n1,2;3\n",
			[]string{`2 ["a;b" "c"] ["1" "2;3"]`}},
		{"tsv has tabs alone", rows.TSV, "a,b\n1;2\n1\t2\n",
			[]string{`2 ["a,b"] ["1;2"]`, "bad line 3: has 2 cells, but the header names 1 columns"}},
		{"csv counts newlines inside quotes", rows.CSV, "id,t\n1,\"a\nb\"\n2,c\n",
			[]string{`2 ["id" "t"] ["1" "a\nb"]`, `4 ["id" "t"] ["2" "c"]`}},
		{"csv keeps CR LF inside quotes", rows.CSV, "id\n\"a\r\nb\"\n", []string{`2 ["id"] ["a\r\nb"]`}},
		{"csv reads doubled quotes and commas inside quotes", rows.CSV, "id,t\n\"\"\"1\"\"\",\"a,b\"\n",
			[]string{`2 ["id" "t"] ["\"1\"" "a,b"]`}},
		{"csv skips blank lines", rows.CSV, "\nid\n\n\r\n1\n\n", []string{`5 ["id"] ["1"]`}},
		{"csv treats a lone CR as text", rows.CSV, "id\na\rb\n\rc\n",
			[]string{`2 ["id"] ["a\rb"]`, `3 ["id"] ["\rc"]`}},
		{"csv continues after a ragged row", rows.CSV, "a,b\n1\n1,2,3\n1,2\n", []string{
			"bad line 2: has 1 cells, but the header names 2 columns",
			"bad line 3: has 3 cells, but the header names 2 columns", `4 ["a" "b"] ["1" "2"]`}},
		{"csv continues after a bare quote", rows.CSV, "a,b\nx\"y,z\n1,2\n", []string{
			"bad line 2: has a quote inside a cell that does not begin with one; put the cell in quotes and write " +
				"the inner quote twice", `3 ["a" "b"] ["1" "2"]`}},
		{"csv continues after text behind a quote", rows.CSV, "a,b\n\"x\"y,z\n1,2\n", []string{
			"bad line 2: has text behind a closing quote; to write a quote inside quotes, write it twice",
			`3 ["a" "b"] ["1" "2"]`}},
		{"csv reports an open quote at its record", rows.CSV, "a\n1\n\"x\n2\n", []string{
			`2 ["a"] ["1"]`, "bad line 3: has a quote that is never closed, so the lines up to 4 belong to it"}},
		{"csv reports an open quote on the last line", rows.CSV,
			"a\n\"x", []string{"bad line 2: has a quote that is never closed"}},
		{"csv with Excel's line for the separator", rows.CSV,
			"sep=;\na,b;c\n1;2\n", []string{`3 ["a,b" "c"] ["1" "2"]`}},
		{"csv with only carriage returns", rows.CSV, "a,b\r1,2\r", []string{
			"end its lines end with carriage returns alone; save it with the line ends of Windows or Unix"}},
		{"csv of nothing but carriage returns", rows.CSV, "\r\r", []string{
			"end its lines end with carriage returns alone; save it with the line ends of Windows or Unix"}},
		{"empty csv", rows.CSV, "", []string{"end the file is empty: its first line must name the columns"}},
		{"csv with a column named twice", rows.CSV, "a,b,a\n1,2,3\n",
			[]string{`end the header names the column "a" twice`}},
		{"csv with a column without a name", rows.CSV, "a,,b\n1,2,3\n",
			[]string{"end the header has no name for column 2"}},
		{"csv with a broken header", rows.CSV, "a,\"b\n1,2\n", []string{
			"end line 1: has a quote that is never closed, so the lines up to 2 belong to it"}},
		{"csv with an endless cell", rows.CSV, "a\n\"" + long + "\n",
			[]string{"end line 2: the record that starts here is longer than 16 MiB; is a quote not closed?"}},
		{"csv continues after an endless line with a bare quote", rows.CSV, "a\nx\"" + long + "x\n1\n", []string{
			"bad line 2: has a quote inside a cell that does not begin with one; put the cell in quotes and write " +
				"the inner quote twice", `3 ["a"] ["1"]`}},

		{"jsonl skips blank lines", rows.JSONL, "{\"a\":1}\n\n  \r\n {\"b\":2} \n", []string{`1 {"a":1}`, `4 {"b":2}`}},
		{"jsonl with a byte order mark and no final newline", rows.JSONL, "\ufeff{\"a\":1}", []string{`1 {"a":1}`}},
		{"empty jsonl", rows.JSONL, "", nil},
		{"jsonl continues after invalid JSON", rows.JSONL, "{\"a\":\n{\"b\":2}\n",
			[]string{"bad line 1: is not valid JSON: it ends too early", `2 {"b":2}`}},
		{"jsonl names the column", rows.JSONL, "{\"ä\": nul}\n{\"a\":1} x\n", []string{
			`bad line 1: is not valid JSON: column 10 has an unexpected "}"`,
			`bad line 2: is not valid JSON: column 9 has an unexpected "x"`}},
		{"jsonl continues after another value", rows.JSONL, "[1]\nnull\n{}\n", []string{
			"bad line 1: is not a JSON object, in braces", "bad line 2: is not a JSON object, in braces", `3 {}`}},
		{"jsonl drops only the blanks of JSON around an object", rows.JSONL, " \t{\"a\":1} \r\n\u00a0{\"a\":1}\n",
			[]string{
				`1 {"a":1}`, `bad line 2: is not valid JSON: column 1 has an unexpected "\u00a0"`}},
		{"jsonl continues after an endless line", rows.JSONL, long + "x\n{}\n",
			[]string{"bad line 1: is longer than 16 MiB", `2 {}`}},

		{"json numbers each object by its first line", rows.JSON,
			"[\n  {\"a\":1},\n  {\n    \"b\": 2\n  }, {\"c\":3}\n]\n",
			[]string{`2 {"a":1}`, "3 {\n    \"b\": 2\n  }", `5 {"c":3}`}},
		{"empty json array", rows.JSON, " [ ] ", nil},
		{"json continues after another value", rows.JSON, "[1,\nnull,\n{}]", []string{
			"bad line 1: is not a JSON object, in braces", "bad line 2: is not a JSON object, in braces", `3 {}`}},
		{"json stops at a syntax error", rows.JSON, "[{},\n\n{\"a\":x},\n{}]", []string{`1 {}`,
			"end line 3: the record that starts here is not valid JSON, and what follows cannot be read"}},
		{"json without the closing bracket", rows.JSON, "[{}\n",
			[]string{`1 {}`, "end the JSON array is not complete: the file ends before its closing bracket"}},
		{"json truncated in an object", rows.JSON, "[{},{\"a\"",
			[]string{`1 {}`, "end the JSON array is not complete: the file ends before its closing bracket"}},
		{"json with text after the array", rows.JSON, "[{}]\n\n{}",
			[]string{`1 {}`, "end line 3: there is more text behind the array"}},
		{"json that is one object", rows.JSON, "{\"a\":1}",
			[]string{"end a JSON file must hold one array of objects, in brackets; with one object on each line the " +
				"format is jsonl"}},
		{"empty json", rows.JSON, "",
			[]string{"end a JSON file must hold one array of objects, in brackets; with one object on each line the " +
				"format is jsonl"}},
		{"json with an endless object", rows.JSON, "[{},\n{\"a\":\"" + long + long + "\"}]",
			[]string{`1 {}`, "end line 2: the record that starts here is longer than 16 MiB"}},

		{"utf-16 is named", rows.CSV, "\xff\xfei\x00d\x00",
			[]string{"end the file is UTF-16; save it as UTF-8 and try again"}},
		{"utf-16 without a mark is named", rows.CSV, "i\x00d\x00", []string{
			"end the file is UTF-16; save it as UTF-8 and try again"}},
		{"an unknown format is refused", "yaml", "a: 1", []string{`end cannot read the format "yaml"`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, read(strings.NewReader(test.file), test.format)); diff != "" {
				t.Errorf("rows differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReaderReadsByteByByte(t *testing.T) {
	files := map[rows.Format]string{
		rows.TSV:   "\ufeff\"i\"\tt\r\n1\t\"a\tb\"\r\n",
		rows.CSV:   "\ufeffid,t\r\n1,\"a\r\n\"\"b\"\r\n\r\nx\"\r\n2,c",
		rows.JSON:  "[\n{\"a\":1},\n{\"b\":[2]}\n]",
		rows.JSONL: "{\"a\":1}\n\n{\"b\":2}",
	}
	for format, file := range files {
		whole := read(strings.NewReader(file), format)
		if diff := cmp.Diff(whole, read(iotest.OneByteReader(strings.NewReader(file)), format)); diff != "" {
			t.Errorf("%s read byte by byte differs (-whole +bytes):\n%s", format, diff)
		}
	}
}

func TestReaderReturnsErrorOfItsSource(t *testing.T) {
	broken := errors.New("read failed")
	starts := map[rows.Format][]string{
		rows.CSV:   {"", "id", "id\n1", "id\n\"1", "id\n\"1\"", "id\nx\"y"},
		rows.JSON:  {"", "[", "[{}", "[{},{", "[{}]"},
		rows.JSONL: {"", "{}", "{}\n{"},
	}
	for format, texts := range starts {
		for _, text := range texts {
			var last error
			source := io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken))
			for _, err := range rows.NewReader(source, format).Rows() {
				last = err
			}
			if last == nil || !strings.Contains(last.Error(), broken.Error()) {
				t.Errorf("%s after %q: the last error is %v, want the source's", format, text, last)
			}
		}
	}
}

func TestReaderStopsOnBreak(t *testing.T) {
	files := map[rows.Format]string{rows.CSV: "a,b\n1\n1,2\n", rows.JSON: "[1,{}]", rows.JSONL: "1\n{}\n"}
	for format, file := range files {
		for stopAfter := 1; stopAfter <= 2; stopAfter++ {
			seen := 0
			for range rows.NewReader(strings.NewReader(file), format).Rows() {
				if seen++; seen == stopAfter {
					break
				}
			}
			if seen != stopAfter {
				t.Errorf("%s: saw %d rows, want %d", format, seen, stopAfter)
			}
		}
	}
}

func TestFormats(t *testing.T) {
	for name, want := range map[string]rows.Format{"a.csv": rows.CSV, "dir.csv/a.JSON": rows.JSON,
		"a.jsonl": rows.JSONL, "a.ndjson": rows.JSONL} {
		if got, err := rows.FormatOf(name); err != nil || got != want {
			t.Errorf("FormatOf(%q) = %q, %v, want %q", name, got, err, want)
		}
	}
	for _, name := range []string{"a", "a.txt", "csv", "-"} {
		if format, err := rows.FormatOf(name); err == nil {
			t.Errorf("FormatOf(%q) = %q, want an error", name, format)
		}
	}
	if format, err := rows.ParseFormat("json"); err != nil || format != rows.JSON {
		t.Errorf(`ParseFormat("json") = %q, %v`, format, err)
	}
	if _, err := rows.ParseFormat("xls"); err == nil {
		t.Error(`ParseFormat("xls") is accepted`)
	}
}
