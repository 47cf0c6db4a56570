package api

import (
	"unicode/utf16"
	"unicode/utf8"
)

// maxPlainDepth is how deep arrays and objects may nest in a plain object.
const maxPlainDepth = 100

// splitPlain splits one JSON object into its members, and reads each byte once. It refuses invalid texts, and also rare
// ones: with an escape in a name, an escaped surrogate, or deep nesting. parseObject reads those again.
func splitPlain(text []byte) ([]Member, bool) {
	s := plainScanner{text: text}
	if !utf8.Valid(text) || !s.next('{') {
		return nil, false
	}
	var members members
	if !s.next('}') {
		for isFirst := true; isFirst || s.next(','); isFirst = false {
			s.skipBlanks()
			start := s.at
			if !s.skipString() {
				return nil, false
			}
			name := text[start+1 : s.at-1]
			if s.hasEscape || !s.next(':') {
				return nil, false
			}
			s.skipBlanks()
			start = s.at
			if !s.skipValue(1) {
				return nil, false
			}
			members.add(Member{Name: string(name), Value: Value{json: text[start:s.at:s.at]}})
		}
		if !s.next('}') {
			return nil, false
		}
	}
	s.skipBlanks()
	return members.list, s.at == len(text)
}

// plainScanner moves over the parts of a JSON text. What it does not accept, it may stop in the middle of.
type plainScanner struct {
	text      []byte
	at        int
	hasEscape bool // in the last string
}

// peek returns the next byte, and 0 at the end, which no JSON text has.
func (s *plainScanner) peek() byte {
	if s.at == len(s.text) {
		return 0
	}
	return s.text[s.at]
}

func (s *plainScanner) skipBlanks() {
	for c := s.peek(); c == ' ' || c == '\n' || c == '\t' || c == '\r'; c = s.peek() {
		s.at++
	}
}

// next tells whether the byte comes next, after blanks, and moves over it.
func (s *plainScanner) next(c byte) bool {
	s.skipBlanks()
	return s.skip(c)
}

func (s *plainScanner) skip(c byte) bool {
	if s.peek() != c {
		return false
	}
	s.at++
	return true
}

func (s *plainScanner) skipValue(depth int) bool {
	switch c := s.peek(); c {
	case '"':
		return s.skipString()
	case 't':
		return s.skipWord("true")
	case 'f':
		return s.skipWord("false")
	case 'n':
		return s.skipWord("null")
	case '{', '[':
		return depth < maxPlainDepth && s.skipList(c+2, c == '{', depth+1) // in ASCII, } is { + 2, and ] is [ + 2
	}
	return s.skipNumber()
}

func (s *plainScanner) skipWord(word string) bool {
	end := s.at + len(word)
	if end > len(s.text) || string(s.text[s.at:end]) != word {
		return false
	}
	s.at = end
	return true
}

// skipList moves over an array, or over an object within another.
func (s *plainScanner) skipList(last byte, isObject bool, depth int) bool {
	s.at++
	if s.next(last) {
		return true
	}
	for isFirst := true; isFirst || s.next(','); isFirst = false {
		s.skipBlanks()
		if isObject && (!s.skipString() || !s.next(':')) {
			return false
		}
		s.skipBlanks()
		if !s.skipValue(depth) {
			return false
		}
	}
	return s.next(last)
}

func (s *plainScanner) skipString() bool {
	s.hasEscape = false
	if !s.skip('"') {
		return false
	}
	for i := s.at; i < len(s.text); i++ {
		switch c := s.text[i]; {
		case c == '"':
			s.at = i + 1
			return true
		case c < ' ':
			return false
		case c == '\\':
			s.hasEscape = true
			length := plainEscape(s.text[i:])
			if length == 0 {
				return false
			}
			i += length - 1
		}
	}
	return false
}

// plainEscape returns the length of the escape that the text begins with, or 0.
func plainEscape(text []byte) int {
	if len(text) < 2 {
		return 0
	}
	switch text[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	}
	if unit, isUnit := escapedUnit(text); !isUnit || utf16.IsSurrogate(unit) {
		return 0
	}
	return len(`\u0000`)
}

func (s *plainScanner) skipNumber() bool {
	s.skip('-')
	if !s.skip('0') && !s.skipDigits() || s.skip('.') && !s.skipDigits() {
		return false
	}
	if s.skip('e') || s.skip('E') {
		_ = s.skip('+') || s.skip('-')
		return s.skipDigits()
	}
	return true
}

func (s *plainScanner) skipDigits() bool {
	start := s.at
	for c := s.peek(); c >= '0' && c <= '9'; c = s.peek() {
		s.at++
	}
	return s.at > start
}
