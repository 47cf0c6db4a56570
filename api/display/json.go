package display

import (
	"bytes"
	"encoding/json"
	"strings"
)

// MaxIndented is how many levels of a record are indented. Indenting each makes a text as long as the square of its
// depth.
const MaxIndented = 20

// IndentJSON lays out a JSON text as json.Indent does, with each further line behind the prefix. What is nested deeper
// than MaxIndented stays on one line.
func IndentJSON(text []byte, prefix string) ([]byte, error) {
	var compact, out bytes.Buffer
	if err := json.Compact(&compact, text); err != nil {
		return nil, err
	}
	breakLine := func(depth int) {
		if depth <= MaxIndented {
			out.WriteString("\n" + prefix + strings.Repeat("  ", depth))
		}
	}
	depth := 0
	for rest := compact.Bytes(); len(rest) > 0; {
		length := 1
		switch c := rest[0]; {
		case c == '"':
			length = lengthOfString(rest)
			out.Write(rest[:length])
		case len(rest) > 1 && (c == '{' && rest[1] == '}' || c == '[' && rest[1] == ']'):
			length = 2
			out.Write(rest[:length])
		case c == '{' || c == '[':
			out.WriteByte(c)
			depth++
			breakLine(depth)
		case c == '}' || c == ']':
			if depth <= MaxIndented {
				breakLine(depth - 1)
			}
			depth--
			out.WriteByte(c)
		case c == ',':
			out.WriteByte(c)
			breakLine(depth)
		case c == ':' && depth <= MaxIndented:
			out.WriteString(": ")
		default:
			out.WriteByte(c)
		}
		rest = rest[length:]
	}
	return out.Bytes(), nil
}

// lengthOfString returns the length of the string that valid JSON begins with.
func lengthOfString(text []byte) int {
	for i := 1; ; i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
}
