// Package display makes text safe and fit for a terminal. All text of the service that is shown goes through it, so
// that it can't move the cursor, change colours or reverse words.
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

// Line returns the text as one safe line: without control characters and marks of writing direction, with blanks for
// tabs and line breaks, and with U+FFFD for invalid UTF-8.
func Line(text string) string {
	if !strings.ContainsFunc(text, isChangedByLine) { // nearly all texts: a list makes thousands of cells at once
		return text
	}
	return Text(strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD")))
}

// isChangedByLine asks first what is quick to tell of nearly all characters.
func isChangedByLine(r rune) bool {
	return (r < ' ' || r > '~') && (r == utf8.RuneError || unicode.IsSpace(r) || IsControl(r))
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

// IsControl tells whether a character controls a terminal: C0, DEL, C1, and the marks that embed, override or isolate a
// direction of writing.
func IsControl(r rune) bool {
	return unicode.IsControl(r) || r > unicode.MaxLatin1 && unicode.Is(unicode.Bidi_Control, r)
}

// JSON escapes the control characters in a JSON text that encoding/json leaves alone, such as C1. They occur only in
// strings.
func JSON(text []byte) []byte {
	if !bytes.ContainsFunc(text, IsUnsafe) {
		return text
	}
	var out bytes.Buffer
	for _, r := range string(text) {
		if !IsUnsafe(r) {
			out.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&out, `\u%04x`, unit)
		}
	}
	return out.Bytes()
}

// IsUnsafe tells whether a character is a control character other than the line feed, which lays out JSON and YAML.
func IsUnsafe(r rune) bool { return IsControl(r) && r != '\n' }

// Writer returns a writer that passes everything through Text. It may be used concurrently.
func Writer(w io.Writer) io.Writer {
	return &writer{out: w, clean: func(text []byte) []byte { return []byte(Text(string(text))) }}
}

// JSONWriter returns a writer that passes everything through JSON. It may be used concurrently.
func JSONWriter(w io.Writer) io.Writer { return &writer{out: w, clean: JSON} }

type writer struct {
	out   io.Writer
	clean func([]byte) []byte

	mu   sync.Mutex
	rest []byte // an incomplete character
}

func (w *writer) Write(text []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.rest) == 0 && isPlain(text) { // most lines of a log: reading them rune by rune took 5 % of a redemption
		return w.out.Write(text)
	}
	whole := append(w.rest, text...)
	end := len(whole)
	for n := 1; n < utf8.UTFMax && n <= len(whole); n++ {
		if last := whole[len(whole)-n:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				end -= n
			}
			break
		}
	}
	w.rest = bytes.Clone(whole[end:])
	if _, err := w.out.Write(w.clean(whole[:end])); err != nil {
		return 0, err
	}
	return len(text), nil
}

// isPlain tells whether a text is ASCII without control characters other than line feeds, and so is clean already.
func isPlain(text []byte) bool {
	for _, c := range text {
		if c < ' ' && c != '\n' || c >= 0x7f {
			return false
		}
	}
	return true
}
