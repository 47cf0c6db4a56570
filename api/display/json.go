package display

import (
	"bytes"
	"encoding/json"
)

// MaxIndented is how many levels of a record are indented. Indenting each makes a text as long as the square of its
// depth.
const MaxIndented = 20

// IndentJSON lays out a JSON text as json.Indent does, with each further line behind the prefix. A text that nests
// deeper than MaxIndented stays on one line.
func IndentJSON(text []byte, prefix string) ([]byte, error) {
	var out bytes.Buffer
	if depthOf(text) > MaxIndented {
		err := json.Compact(&out, text)
		return out.Bytes(), err
	}
	err := json.Indent(&out, text, prefix, "  ")
	return out.Bytes(), err
}

// depthOf returns how deep arrays and objects nest in a JSON text.
func depthOf(text []byte) (deepest int) {
	depth, isQuoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			isQuoted = !isQuoted
		case isQuoted && c == '\\':
			i++
		case !isQuoted && (c == '{' || c == '['):
			depth++
			deepest = max(deepest, depth)
		case !isQuoted && (c == '}' || c == ']'):
			depth--
		}
	}
	return deepest
}
