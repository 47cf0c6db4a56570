package display

import (
	"bytes"
	"fmt"
	"io"
	"unicode/utf16"
)

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

// JSONWriter returns a writer that passes each write on through JSON. A write must hold whole characters.
func JSONWriter(w io.Writer) io.Writer { return jsonWriter{w} }

type jsonWriter struct{ out io.Writer }

func (w jsonWriter) Write(text []byte) (int, error) {
	if _, err := w.out.Write(JSON(text)); err != nil {
		return 0, err
	}
	return len(text), nil
}
