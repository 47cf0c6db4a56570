// Package display makes text fit to show on a terminal. Text from elsewhere loses what could move the cursor, recolour the
// screen or turn words around; everything that shows text of the service goes through it.
package display

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Line returns the text as one line: control characters and marks that change the direction of writing are gone, tabs and
// line ends are blanks, and bytes that are not UTF-8 are U+FFFD.
func Line(text string) string {
	return Text(strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD")))
}

// Text does the same but keeps line feeds and tabs.
func Text(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case IsControl(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

// IsControl tells whether a character steers a terminal instead of showing something: C0, DEL, C1, and the marks that
// embed, override or isolate a direction of writing.
func IsControl(r rune) bool {
	return unicode.IsControl(r) || r > unicode.MaxLatin1 && unicode.Is(unicode.Bidi_Control, r)
}

// JSON escapes in a JSON text what would steer a terminal and encoding/json lets stand, such as C1. Such characters occur only
// inside strings, where an escape means the same.
func JSON(text []byte) []byte {
	if !bytes.ContainsFunc(text, IsLoose) {
		return text
	}
	var out bytes.Buffer
	for _, r := range string(text) {
		if !IsLoose(r) {
			out.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&out, `\u%04x`, unit)
		}
	}
	return out.Bytes()
}

// IsLoose tells whether a character that steers a terminal is not one that lays out JSON and YAML.
func IsLoose(r rune) bool { return IsControl(r) && r != '\n' }

// Writer returns a writer that passes what is written on through Text. Several may write to it at once.
func Writer(w io.Writer) io.Writer {
	return &writer{out: w, clean: func(text []byte) []byte { return []byte(Text(string(text))) }}
}

// JSONWriter returns a writer that passes what is written on through JSON. Several may write to it at once.
func JSONWriter(w io.Writer) io.Writer { return &writer{out: w, clean: JSON} }

type writer struct {
	out   io.Writer
	clean func([]byte) []byte

	mu   sync.Mutex
	half []byte // the beginning of a character whose end is still to come
}

func (w *writer) Write(text []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	whole := append(w.half, text...)
	end := len(whole)
	for n := 1; n < utf8.UTFMax && n <= len(whole); n++ {
		if last := whole[len(whole)-n:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				end -= n
			}
			break
		}
	}
	w.half = bytes.Clone(whole[end:])
	if _, err := w.out.Write(w.clean(whole[:end])); err != nil {
		return 0, err
	}
	return len(text), nil
}
