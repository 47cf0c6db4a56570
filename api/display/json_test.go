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

func TestOnlyDeepJSONStaysOnOneLine(t *testing.T) {
	for _, text := range layouts[:8] {
		wantIndented(t, []byte(text))
	}
	for _, levels := range []int{21, 7_000} {
		text := strings.Repeat("[", levels-1) + `{"a":[1,"b: c"],"d":{"e":null}}` + strings.Repeat("]", levels-1)
		if got, err := display.IndentJSON([]byte(text), "> "); string(got) != text || err != nil {
			t.Errorf("%d levels are %.100s, %v", levels, got, err)
		}
	}
}

func FuzzIndentJSON(f *testing.F) {
	for _, text := range append(layouts, ``, `{`, `"`, `{"a":}`, `[1]]`) {
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
	var want bytes.Buffer
	if json.Indent(&want, text, "> ", "  ") != nil {
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
