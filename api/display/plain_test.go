package display_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"example.com/perks/api/display"
)

func TestLineAndText(t *testing.T) {
	for _, test := range []struct{ in, line, text string }{
		{"Café ☕ 2-for-1", "Café ☕ 2-for-1", "Café ☕ 2-for-1"},
		{"two\nlines\tand\r\nmore", "two lines and  more", "two\nlines\tand\nmore"},
		{"\x1b[31mred\x1b[0m", "[31mred[0m", "[31mred[0m"},
		{"bell\a back\b del\x7f", "bell back del", "bell back del"},
		{"C1 \u009b31m \u0085", "C1 31m  ", "C1 31m "},
		{"\u202egnp.exe\u202c \u2066x\u2069 \u200fy", "gnp.exe x y", "gnp.exe x y"},
		{"not \xff\x9b UTF-8", "not \uFFFD UTF-8", "not \uFFFD UTF-8"},
		{"separator\u2028s", "separator s", "separator\u2028s"},
		{"no\u00a0break", "no break", "no\u00a0break"},
		{"", "", ""},
	} {
		if got := display.Line(test.in); got != test.line {
			t.Errorf("Line(%q) = %q, want %q", test.in, got, test.line)
		}
		if got := display.Text(test.in); got != test.text {
			t.Errorf("Text(%q) = %q, want %q", test.in, got, test.text)
		}
	}
}

func TestJSONKeepsItsMeaningWithoutControlCharacters(t *testing.T) {
	const text = "a\u009b31m\u202eb\u007f\nç☕😀"
	raw, err := json.Marshal(map[string]string{text: text})
	if err != nil {
		t.Fatal(err)
	}
	clean := display.JSON(append(raw, '\n'))
	var back map[string]string
	if err := json.Unmarshal(clean, &back); err != nil || back[text] != text {
		t.Errorf("%s decodes to %q, %v", clean, back, err)
	}
	if strings.ContainsFunc(strings.TrimSuffix(string(clean), "\n"), display.IsControl) {
		t.Errorf("%q", clean)
	}
}

func TestWriterRemovesControlCharacters(t *testing.T) {
	var out strings.Builder
	if n, err := display.Writer(&out).Write([]byte("a\x1bb\n")); n != 4 || err != nil || out.String() != "ab\n" {
		t.Errorf("wrote %d, %v: %q", n, err, out.String())
	}
	out.Reset()
	split := display.Writer(&out)
	for _, b := range []byte("é\u009b☕\u202e😀\xff\xe2\x98x") {
		if n, err := split.Write([]byte{b}); n != 1 || err != nil {
			t.Fatal(n, err)
		}
	}
	if want := "é☕😀\uFFFD\uFFFDx"; out.String() != want {
		t.Errorf("byte by byte: wrote %q, want %q", out.String(), want)
	}
}

func TestWritersCleanEachCharacterAsTheirFunctionsDo(t *testing.T) {
	for r := range rune(0x300) {
		text := "a" + string(r) + "b"
		var plain, escaped strings.Builder
		if _, err := display.Writer(&plain).Write([]byte(text)); err != nil || plain.String() != display.Text(text) {
			t.Errorf("of %q Writer wrote %q, %v", text, plain.String(), err)
		}
		if _, err := display.JSONWriter(&escaped).Write([]byte(text)); err != nil ||
			escaped.String() != string(display.JSON([]byte(text))) {
			t.Errorf("of %q JSONWriter wrote %q, %v", text, escaped.String(), err)
		}
	}
}

func FuzzControlCharactersAreRemoved(f *testing.F) {
	f.Add("\x1b[2J\u202eabc\u009b\xff")
	f.Fuzz(func(t *testing.T, text string) {
		line := display.Line(text)
		if strings.ContainsFunc(line, display.IsControl) || !utf8.ValidString(line) || display.Line(line) != line {
			t.Errorf("Line(%q) = %q", text, line)
		}
		if got := display.Text(text); display.Text(got) != got || strings.Contains(got, "\x1b") {
			t.Errorf("Text(%q) = %q", text, got)
		}
	})
}
