package store

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Fold returns the form in which text is sorted and matched on every driver: full Unicode case folding in normal form C.
// Texts that differ only in case, or in how accents are encoded, fold to the same bytes; comparing folded texts byte by
// byte compares their code points. Bytes that no database's text could hold (broken UTF-8 and NUL) become U+FFFD.
func Fold(s string) string {
	if isPlain(s) {
		return strings.ToLower(s)
	}
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
	folded := cases.Fold().String(norm.NFD.String(s))
	return norm.NFC.String(strings.ToLower(folded)) // Cherokee alone has no one case after folding
}

// isPlain holds for most text there is, and spares it the tables.
func isPlain(s string) bool {
	for i := range len(s) {
		if s[i] == 0 || s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

const (
	maxWords       = 4096 // of one text; the longest perk has fewer
	maxQueryWords  = 32
	maxWordLetters = 40
)

// Words returns the distinct folded words of a text, in the order in which they first appear. A word is a run of
// letters, digits and the marks upon them; of a longer one only the first 40 characters count, in texts and in queries
// alike, so that a cut query still matches the text it was taken from.
func Words(s string) []string { return firstWords(s, maxWords) }

// QueryWords returns the words that a search text asks for: its first 32. A text matches when each of them is a prefix
// of one of the text's Words.
func QueryWords(s string) []string { return firstWords(s, maxQueryWords) }

func firstWords(s string, most int) []string {
	var words []string
	seen := map[string]bool{}
	for word := range strings.FieldsFuncSeq(Fold(s), isBetweenWords) {
		word = cut(word, maxWordLetters)
		if seen[word] {
			continue
		}
		if len(words) == most {
			break
		}
		seen[word] = true
		words = append(words, word)
	}
	return words
}

func isBetweenWords(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
}

func cut(s string, letters int) string {
	for i := range s {
		if letters == 0 {
			return s[:i]
		}
		letters--
	}
	return s
}
