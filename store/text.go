package store

import (
	"hash/fnv"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"example.com/perks/api"
)

// Fold returns the form in which every driver sorts and matches text: full Unicode case folding in normal form C. Texts
// that differ only in case, or in how accents are encoded, fold to the same bytes. Bytes that a database cannot store
// (invalid UTF-8 and NUL) become U+FFFD.
func Fold(s string) string {
	if isPlain(s) {
		return strings.ToLower(s)
	}
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
	folded := cases.Fold().String(norm.NFD.String(s))
	return norm.NFC.String(strings.ToLower(folded)) // Cherokee alone has no one case after folding
}

// isPlain reports whether the text is ASCII without NUL, which needs no Unicode tables.
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

// Words returns the distinct folded words of a text, in order of first appearance. A word is a run of letters, digits
// and marks. Longer words are cut to 40 characters, in texts and queries alike, so that they still match.
func Words(s string) []string { return firstWords(s, maxWords) }

// QueryWords returns the first 32 words of a search. A text matches if each of them is a prefix of one of its Words.
func QueryWords(s string) []string { return firstWords(s, maxQueryWords) }

// wordBits has a bit for the beginning of each word. A text has those of all words that any of its Words begins with.
// The bits are stored, so they must stay the same. Of one or two letters there is none: most texts have such a
// beginning.
func wordBits(words []string) (bits int64) {
	const letters = 3
	for _, word := range words {
		if beginning := cut(word, letters); utf8.RuneCountInString(beginning) == letters {
			hash := fnv.New32a()
			hash.Write([]byte(beginning))
			bits |= 1 << (hash.Sum32() % 64)
		}
	}
	return bits
}

func firstWords(s string, most int) []string {
	words := []string{} // never null in a database
	seen := map[string]bool{}
	isBetween := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) }
	for word := range strings.FieldsFuncSeq(Fold(s), isBetween) {
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

func cut(s string, letters int) string {
	for i := range s {
		if letters == 0 {
			return s[:i]
		}
		letters--
	}
	return s
}

const maxSlug = 56 // leaves space for a number within the 64 characters of an id

// CategoryID makes the id of a category from its name: the slug of the name, with -2, -3 and so on if taken says that
// the id exists.
func CategoryID(name string, taken func(id string) bool) string {
	base := slug(name)
	id := base
	for n := 2; api.PerkIDRule(id) != "" || taken(id); n++ {
		id = base + "-" + strconv.Itoa(n)
	}
	return id
}

// slug keeps the letters a to z and digits of the folded name, without accents, with a hyphen for everything between.
func slug(name string) string {
	var b strings.Builder
	gap := false
	for _, r := range norm.NFKD.String(Fold(name)) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			if gap && b.Len() > 0 {
				b.WriteByte('-')
			}
			gap = false
			b.WriteRune(r)
		case !unicode.IsMark(r):
			gap = true
		}
		if b.Len() >= maxSlug {
			break
		}
	}
	if b.Len() == 0 {
		return "category"
	}
	return b.String()
}

// PerkKeys are derived values that perks are searched and sorted by. Drivers store them with the perk.
type PerkKeys struct {
	Title, City            string   // folded
	Category, MerchantName *string  // folded; nil where the perk has none
	Cell                   *int     // of the grid; nil without a position
	Words                  []string // of title, description and merchant_name
}

// KeysOf computes the perk's keys.
func KeysOf(p PerkRecord) PerkKeys {
	keys := PerkKeys{Title: Fold(p.Title), City: Fold(p.City), Category: foldOrNil(p.Category),
		MerchantName: foldOrNil(p.MerchantName)}
	if p.Lat != nil && p.Lng != nil {
		keys.Cell = new(Cell(*p.Lat, *p.Lng))
	}
	text := p.Title + " " + p.Description
	if p.MerchantName != nil {
		text += " " + *p.MerchantName
	}
	keys.Words = Words(text)
	return keys
}

func foldOrNil(text *string) *string {
	if text == nil {
		return nil
	}
	return new(Fold(*text))
}
