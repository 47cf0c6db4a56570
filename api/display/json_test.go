package display_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"example.com/perks/api/display"
)

var layouts = []string{
	`{}`, `[]`, `1`, `"a"`, `null`,
	`{"a":[],"b":{},"c":[1,-2.50e3,true,null,{"d":"x: [1, \"{\\"}]}`, ` [ { } , [ ] ] `, `"é\u009b"`,
	strings.Repeat("[", 20) + `{"a":1}` + strings.Repeat("]", 20),
	`{"a":{"b":[{"c":[[[]]]},{"d":[[[[[[[[[[[[[[[[[1,{"e":2}],3]]]]]]]]]]]]]]]]}]}}`,
}

func TestIndentedJSONIsThatOfTheStandardLibraryWithoutDeepLevels(t *testing.T) {
	for _, text := range layouts[:8] {
		wantIndented(t, []byte(text))
	}
}

func TestDeepJSONStaysOnOneLine(t *testing.T) {
	for _, levels := range []int{21, 22, 7_000} {
		inner := `{"a":[1,"b: c"],"d":{"e":null}}`
		text := strings.Repeat("[", levels-1) + inner + strings.Repeat("]", levels-1)
		got, err := display.IndentJSON([]byte(text), "> ")
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(got), "\n")
		deep := lines[20]
		if len(lines) != 41 || !strings.Contains(deep, inner) || len(got) > len(text)+41*50 {
			t.Errorf("%d levels are %d bytes in %d lines; the deepest is %.100s", levels, len(got), len(lines), deep)
		}
		wantSameJSON(t, []byte(strings.ReplaceAll(string(got), "\n> ", "\n")), []byte(text))
	}
}

func TestIndentingRefusesWhatIsNoJSON(t *testing.T) {
	for _, text := range []string{``, `{`, `"`, `{"a":}`, `[1]]`} {
		if got, err := display.IndentJSON([]byte(text), ""); err == nil {
			t.Errorf("%s is indented as %s", text, got)
		}
	}
}

func FuzzIndentJSON(f *testing.F) {
	for _, text := range layouts {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := display.IndentJSON(text, "")
		if (err == nil) != json.Valid(text) {
			t.Fatalf("%q: %v", text, err)
		}
		if err == nil {
			wantSameJSON(t, got, text)
		}
		if depth := bytes.Count(text, []byte("[")) + bytes.Count(text, []byte("{")); err == nil && depth <= 20 {
			wantIndented(t, text)
		}
	})
}

// wantIndented compares with the standard library, which indents every level.
func wantIndented(t *testing.T, text []byte) {
	t.Helper()
	var compact, want bytes.Buffer
	if json.Compact(&compact, text) != nil || json.Indent(&want, compact.Bytes(), "> ", "  ") != nil {
		t.Fatalf("%q is not JSON", text)
	}
	if got, err := display.IndentJSON(text, "> "); err != nil || string(got) != want.String() {
		t.Errorf("%s is indented as\n%s\n%v, want\n%s", text, got, err, want.String())
	}
}

func wantSameJSON(t *testing.T, a, b []byte) {
	t.Helper()
	var first, second bytes.Buffer
	if json.Compact(&first, a) != nil || json.Compact(&second, b) != nil || first.String() != second.String() {
		t.Errorf("%.200q and %.200q differ", a, b)
	}
}
