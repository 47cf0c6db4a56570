package rows_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/perks/api/display"
	"example.com/perks/api/rows"
)

// FuzzReader checks the rows of a Reader for arbitrary bytes.
func FuzzReader(f *testing.F) {
	f.Add([]byte("id,title\n1,\"a\nb\"\n2\n"))
	f.Add([]byte("\"id\";title\n1;\"a;b\"\n2,3\n"))
	f.Add([]byte("[{\"a\":1},\n{\"b\":2}]"))
	f.Add([]byte("{\"a\":1}\n\n[]\n{\"b\":2}"))
	f.Fuzz(func(t *testing.T, file []byte) {
		lines := 1 + bytes.Count(file, []byte("\n"))
		for _, format := range []rows.Format{rows.CSV, rows.TSV, rows.JSON, rows.JSONL} {
			line, failed := 0, false
			for row, err := range rows.NewReader(bytes.NewReader(file), format).Rows() {
				if failed {
					t.Fatalf("%s: rows after a final error", format)
				}
				var bad *rows.RowError
				switch {
				case errors.As(err, &bad):
					row.Line = bad.Line
				case err != nil:
					failed = true
					continue
				case row.Object != nil && (!json.Valid(row.Object) || row.Object[0] != '{'):
					t.Fatalf("%s: %q is not an object", format, row.Object)
				case row.Object == nil && len(row.Cells) != len(row.Header):
					t.Fatalf("%s: cells %q do not match header %q", format, row.Cells, row.Header)
				}
				if row.Line < max(line, 1) || row.Line > lines {
					t.Fatalf("%s: line %d follows line %d, of %d", format, row.Line, line, lines)
				}
				line = row.Line
			}
		}
	})
}

// FuzzCSVAgreesWithTheStandardLibrary checks that the scanner reads what encoding/csv reads, except carriage returns
// and neutralised cells.
func FuzzCSVAgreesWithTheStandardLibrary(f *testing.F) {
	f.Add("a,b\n1,2\n\n\"x\"\"y\",\"\n\"\n")
	f.Add("a\n\"\"\n")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "\r") {
			return
		}
		want, err := csv.NewReader(strings.NewReader("h,i\n" + text)).ReadAll()
		var got [][]string
		var refused error
		for row, err := range rows.NewReader(strings.NewReader("h,i\n"+text), rows.CSV).Rows() {
			if err != nil {
				refused = err
				break
			}
			got = append(got, row.Cells)
		}
		if (err != nil) != (refused != nil) {
			t.Fatalf("encoding/csv says %v, the reader %v", err, refused)
		}
		for _, cells := range want {
			for i := range cells {
				cells[i] = rows.Restore(cells[i])
			}
		}
		if err == nil && len(want) > 1 {
			if diff := cmp.Diff(want[1:], got); diff != "" {
				t.Fatalf("rows differ (-encoding/csv +rows):\n%s", diff)
			}
		}
	})
}

// FuzzRoundTrip checks that the Reader reads what the Writer wrote.
func FuzzRoundTrip(f *testing.F) {
	f.Add("plain", "with \"quotes\", commas\r\nand lines")
	f.Add("", " ")
	f.Fuzz(func(t *testing.T, first, second string) {
		want := map[string]string{"first": strings.ToValidUTF8(first, "?"), "second": strings.ToValidUTF8(second, "?")}
		for _, format := range []rows.Format{rows.CSV, rows.JSONL} {
			var file bytes.Buffer
			w, err := rows.NewWriter(&file, format, []string{"first", "second"}, display.JSON)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(w.Write(want), w.Flush()); err != nil {
				t.Fatal(err)
			}
			for row, err := range rows.NewReader(&file, format).Rows() {
				if err != nil {
					t.Fatalf("%s: %v", format, err)
				}
				got := map[string]string{}
				for i, name := range row.Header {
					got[name] = row.Cells[i]
				}
				if row.Object != nil {
					if err := json.Unmarshal(row.Object, &got); err != nil {
						t.Fatal(err)
					}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("%s: the record differs (-want +got):\n%s", format, diff)
				}
			}
		}
	})
}
