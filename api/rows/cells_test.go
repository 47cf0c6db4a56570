package rows_test

import (
	"bytes"
	"encoding/csv"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/perks/api/rows"
)

func TestNeutralise(t *testing.T) {
	for text, want := range map[string]string{
		"=1+1": "'=1+1", "@a": "'@a", "-x": "'-x", "+44123": "'+44123", " =1": "' =1", "＝1": "'＝1", "-1+1": "'-1+1",
		"-.5": "'-.5", "-1.2.3": "'-1.2.3",
		"\tx": "'\tx", "\r=x": "'\r'=x", "\n=x": "'\n'=x", "\x00=1": "'\x00=1", "\u00a0@": "'\u00a0@",
		"x;=1+1;y": "'x;'=1+1;y", "x\t+1\t": "'x\t'+1\t", "x| @a": "'x|' @a", "a\r\n=b": "'a\r\n'=b",
		`x;"=1"`: `'x;'"=1"`,
		"'=1":    "''=1", "''=1": "'''=1", "' =1": "'' =1", "'x;'=1": "''x;''=1", "x;'=1": "'x;''=1",
		"": "", "1-1": "1-1", "'": "'", "'x": "'x", "don't; won't": "don't; won't", "a=b": "a=b", "-1": "-1",
		"-3.5": "-3.5", " -3": " -3", "-1e-07": "-1e-07", "-1e+-7": "'-1e+-7",
		"10;-5;3": "10;-5;3", "a@b.example; c@d.example": "a@b.example; c@d.example",
		"2026-06-15T12:00:00Z": "2026-06-15T12:00:00Z",
	} {
		got := rows.Neutralise(text)
		if got != want {
			t.Errorf("Neutralise(%q) = %q, want %q", text, got, want)
		}
		if back := rows.Restore(got); back != text {
			t.Errorf("%q was restored from %q as %q", text, got, back)
		}
	}
}

func TestRestoreKeepsOtherCells(t *testing.T) {
	for _, cell := range []string{"'", "'x", "'-3.5", "x;'=1", "'x;=1", "'tis =x", "=1", "-x"} {
		if got := rows.Restore(cell); got != cell {
			t.Errorf("Restore(%q) = %q", cell, got)
		}
	}
}

// formula matches a formula at each start of a cell in a spreadsheet. It also matches negative numbers.
var formula = regexp.MustCompile(`(?:^|[;|\t\r\n])[ "]*[=+\-@＝＋－＠]`)

// FuzzCellsRoundTrip checks that cells survive both CSV variants, and that the one for spreadsheets has no formulas.
func FuzzCellsRoundTrip(f *testing.F) {
	for _, seed := range []string{"=1+1", "'=1+1", "''=1", "x;=1", "'x;'=1", "-3.5", "'-3.5", "-3\v", "\t'=1", "|'|=",
		"\"=1\"", "'\n'@", "a\r\n' -b"} {
		f.Add(seed, "x")
	}
	f.Fuzz(func(t *testing.T, first, second string) {
		for _, raw := range []bool{true, false} {
			for _, cells := range [][]string{{first}, {first, second}, {second, first}} {
				header := []string{"a", "b"}[:len(cells)]
				var file bytes.Buffer
				w := rows.NewCellWriter(&file, raw)
				for _, row := range [][]string{header, cells} {
					if err := w.Write(row); err != nil {
						t.Fatal(err)
					}
				}
				if err := w.Flush(); err != nil {
					t.Fatal(err)
				}
				written := file.String()
				var got [][]string
				for row, err := range rows.NewReader(&file, rows.CSV).Rows() {
					if err != nil {
						t.Fatalf("raw %v: %q: %v", raw, written, err)
					}
					got = append(got, row.Cells)
				}
				if diff := cmp.Diff([][]string{cells}, got); diff != "" {
					t.Fatalf("raw %v: wrote %q, read (-want +got):\n%s", raw, written, diff)
				}
			}
		}
		for _, part := range strings.FieldsFunc(rows.Neutralise(first),
			func(r rune) bool { return strings.ContainsRune(";|\t\r\n", r) }) {
			if formula.MatchString(part) && !regexp.MustCompile(`^\s*-\d+\.?\d*(e[-+]?\d+)?\s*$`).MatchString(part) {
				t.Fatalf("%q is still a formula in %q", part, rows.Neutralise(first))
			}
		}
	})
}

func TestCellsWithSeparatorsAreQuoted(t *testing.T) {
	var file bytes.Buffer
	w := rows.NewCellWriter(&file, false)
	if err := w.Write([]string{"a", "x;=1+1;y", "tab\there", "a|b", "bare", ""}); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	const want = "a,\"'x;'=1+1;y\",\"tab\there\",\"a|b\",bare,\n"
	if file.String() != want {
		t.Errorf("wrote %q, want %q", file.String(), want)
	}
	// Spreadsheets in some locales split at semicolons even inside quotes.
	split := csv.NewReader(strings.NewReader(file.String()))
	split.Comma, split.LazyQuotes = ';', true
	if cells, err := split.Read(); err != nil || cells[1] != "'=1+1" {
		t.Errorf("split at semicolons: %q, %v", cells, err)
	}
}
