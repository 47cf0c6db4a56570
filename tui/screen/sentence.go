package screen

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"example.com/perks/api/display"
)

// Sentence makes a sentence of an error, whose text by custom is part of one: with a capital letter, a full stop, and nothing
// that steers a terminal. before is what stands in front of it, such as "The id was not copied: ".
func Sentence(before string, err error) string {
	if err == nil {
		return ""
	}
	text := before + strings.TrimSpace(display.Line(err.Error()))
	if text == "" {
		return ""
	}
	if !strings.ContainsAny(text[len(text)-1:], ".?!)") {
		text += "."
	}
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}
