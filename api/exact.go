package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
)

// loneSurrogate returns where in valid JSON the first escape such as \ud800 stands that is half of a surrogate pair, or -1.
// encoding/json replaces each of them by U+FFFD, so that texts which differ would become the same.
func loneSurrogate(text []byte) int {
	for i := 0; i < len(text); {
		next := bytes.IndexByte(text[i:], '\\')
		if next < 0 {
			return -1
		}
		i += next
		unit, isUnit := escapedUnit(text[i:])
		switch {
		case !isUnit:
			i += len(`\n`)
		case !utf16.IsSurrogate(unit):
			i += len(`\u0000`)
		default:
			low, _ := escapedUnit(text[i+len(`\u0000`):])
			if utf16.DecodeRune(unit, low) == unicode.ReplacementChar {
				return i
			}
			i += len(`\ud83d\ude00`)
		}
	}
	return -1
}

// escapedUnit reads the escape such as \u00e9 at the start of the text, if there is one.
func escapedUnit(text []byte) (unit rune, isUnit bool) {
	if len(text) < len(`\u0000`) || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	parsed, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	return rune(parsed), err == nil
}

// ambiguity returns what two readers of a valid JSON value may read differently, as the end of a sentence whose subject is the
// value, or "": a repeated member, of which some take the first and some the last, or half of a surrogate pair. It names the
// member as a.b[0].
func ambiguity(value json.RawMessage) string {
	r := exactReader{decoder: json.NewDecoder(bytes.NewReader(value)), lone: loneSurrogate(value)}
	r.decoder.UseNumber()
	return r.read()
}

type exactReader struct {
	decoder *json.Decoder
	lone    int // where half of a surrogate pair stands, or -1
	path    []string
}

func (r *exactReader) read() string {
	token, err := r.decoder.Token()
	if err != nil {
		return "must be valid JSON"
	}
	switch token {
	case json.Delim('{'):
		return r.readMembers()
	case json.Delim('['):
		return r.readElements()
	}
	return r.surrogate()
}

func (r *exactReader) readMembers() string {
	names := map[string]bool{}
	for r.decoder.More() {
		token, err := r.decoder.Token()
		name, isName := token.(string)
		if err != nil || !isName {
			return "must be valid JSON"
		}
		r.path = append(r.path, "."+name)
		if problem := r.surrogate(); problem != "" {
			return problem
		}
		if names[name] {
			return fmt.Sprintf("has the member %q more than once", r.where())
		}
		names[name] = true
		if problem := r.read(); problem != "" {
			return problem
		}
		r.path = r.path[:len(r.path)-1]
	}
	_, _ = r.decoder.Token() // the closing brace, which More has seen
	return ""
}

func (r *exactReader) readElements() string {
	for i := 0; r.decoder.More(); i++ {
		r.path = append(r.path, "["+strconv.Itoa(i)+"]")
		if problem := r.read(); problem != "" {
			return problem
		}
		r.path = r.path[:len(r.path)-1]
	}
	_, _ = r.decoder.Token()
	return ""
}

// surrogate looks at the token that was read last.
func (r *exactReader) surrogate() string {
	if r.lone >= 0 && int64(r.lone) < r.decoder.InputOffset() {
		return fmt.Sprintf("has half of a surrogate pair in the member %q", r.where())
	}
	return ""
}

func (r *exactReader) where() string { return strings.TrimPrefix(strings.Join(r.path, ""), ".") }
