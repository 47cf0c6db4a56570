package api

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Fit says whether a record is one that a field of a filter asks for.
type Fit int

// Whether a record matches. One Doubtful record proves nothing: another service may read the filter differently.
const (
	CannotTell Fit = iota
	Fits
	Misfits
	Doubtful
)

// FilterCheck compares the records of a list with the filter of the request: other services may ignore a filter that
// they do not know. It never finds fault with our service.
type FilterCheck[T any] struct {
	Records int // that were checked
	fields  []*fieldCheck[T]
}

// fieldCheck counts the records that do not fit one field.
type fieldCheck[T any] struct {
	flag   string
	key    string
	fits   func(*T) (fit Fit, value string)
	proves func(page, doubtful int, values map[string]bool) bool // that doubtful ones do not fit

	misfits, doubtful int
	isProven          bool
	values            map[string]bool // of doubtful ones
}

// Ignored is a filter that a service has ignored.
type Ignored struct {
	Flag    string
	Key     string // of a query; "" for its words
	Misfits int    // records that do not fit
}

// CheckFilter returns the check for a filter; nil if records cannot show whether it was used.
func CheckFilter[F, T any](fields []FilterField[F], filter F) *FilterCheck[T] {
	check := &FilterCheck[T]{}
	for _, field := range fields {
		if field.fits == nil || field.Get(filter) == "" {
			continue
		}
		proves := provesByValues
		if field.Key == "" {
			proves = provesByPage
		}
		check.fields = append(check.fields, &fieldCheck[T]{
			flag: field.Flag, key: field.Key, proves: proves, values: map[string]bool{},
			fits: func(record *T) (Fit, string) { return field.fits(filter, record) },
		})
	}
	if len(check.fields) == 0 {
		return nil
	}
	return check
}

// several is how many doubtful records or values cannot be a coincidence.
const several = 3

// provesByPage is for words: others may search more texts, but hardly find nothing but those.
func provesByPage(page, doubtful int, _ map[string]bool) bool {
	return page >= several && doubtful == page
}

// provesByValues is for a category: its id may be that of one with another name, or of two if ids differ in case alone.
// Among records with a category, one without any is not in it.
func provesByValues(_, _ int, values map[string]bool) bool {
	return len(values) >= several || len(values) > 1 && values[""]
}

// Page checks the records of a page.
func (c *FilterCheck[T]) Page(records []T) {
	if c == nil {
		return
	}
	c.Records += len(records)
	for _, field := range c.fields {
		doubtful := 0
		for i := range records {
			switch fit, value := field.fits(&records[i]); fit {
			case Misfits:
				field.misfits++
			case Doubtful:
				doubtful++
				field.values[value] = true
			}
		}
		field.doubtful += doubtful
		field.isProven = field.isProven || field.proves(len(records), doubtful, field.values)
	}
}

// Ignored returns the fields that the service has certainly ignored.
func (c *FilterCheck[T]) Ignored() (ignored []Ignored) {
	if c == nil {
		return nil
	}
	for _, field := range c.fields {
		misfits := field.misfits
		if field.isProven {
			misfits += field.doubtful
		}
		if misfits > 0 {
			ignored = append(ignored, Ignored{Flag: field.flag, Key: field.key, Misfits: misfits})
		}
	}
	return ignored
}

// judged adds to a field how a record is compared with it.
func judged[F, T any](field FilterField[F], fits func(F, *T) Fit) FilterField[F] {
	field.fits = func(filter F, record any) (Fit, string) {
		if record, ok := record.(*T); ok {
			return fits(filter, record), ""
		}
		return CannotTell, ""
	}
	return field
}

// sameText compares texts as our service does, without regard to case and to how accents are encoded. It cannot tell
// where that needs the tables of Unicode, or where the record lacks the text.
func sameText(wanted, text string) Fit {
	wanted, text = strings.TrimSpace(wanted), strings.TrimSpace(text)
	switch {
	case text == "":
		return CannotTell
	case strings.EqualFold(wanted, text):
		return Fits
	}
	return differs(wanted, text)
}

// differs tells whether two texts differ however accents are encoded: their first difference must be in ASCII.
func differs(a, b string) Fit {
	for i := 0; ; i++ {
		x, y := byteAt(a, i), byteAt(b, i)
		switch {
		case x >= utf8.RuneSelf || y >= utf8.RuneSelf:
			return CannotTell
		case lowerByte(x) != lowerByte(y):
			return Misfits
		case i >= len(a):
			return Fits
		}
	}
}

func byteAt(text string, i int) byte {
	if i >= len(text) {
		return 0
	}
	return text[i]
}

func lowerByte(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// How much of a query our service searches for.
const (
	maxSearched = 32 // words
	maxLetters  = 40 // of a word
)

// holdsWords tells whether each word of a query is in the texts. Another service may look into more texts, so a word
// that is missing is only Doubtful.
func holdsWords(query string, texts ...string) Fit {
	text := strings.ToLower(strings.Join(texts, " "))
	fit := Fits
	for i, word := range wordsOf(strings.ToLower(query)) {
		if letters := []rune(word); len(letters) > maxLetters {
			word = string(letters[:maxLetters])
		}
		switch {
		case i == maxSearched:
			return fit
		case strings.Contains(text, word):
		case mayHold(text, word):
			fit = CannotTell
		default:
			return Doubtful
		}
	}
	return fit
}

// mayHold tells whether a word of the text may begin with a word that it does not contain as it is written, because
// what is not ASCII may be written in several ways.
func mayHold(text, word string) bool {
	start := asciiStart(word)
	for _, other := range wordsOf(text) {
		begin := asciiStart(other)
		isCut := begin != other || start != word
		if isCut && (strings.HasPrefix(begin, start) || begin != other && strings.HasPrefix(start, begin)) {
			return true
		}
	}
	return false
}

func asciiStart(word string) string {
	if i := strings.IndexFunc(word, func(r rune) bool { return r >= utf8.RuneSelf }); i >= 0 {
		return word[:i]
	}
	return word
}

func wordsOf(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	})
}

// fitCategory also returns the category that is in doubt: the text may be the id of one, and the record has its name.
func fitCategory(f PerkFilter, record any) (fit Fit, value string) {
	perk, ok := record.(*Perk)
	if !ok {
		return CannotTell, ""
	}
	if perk.Category != nil {
		value = *perk.Category
	}
	switch fit = sameText(f.Category, value); {
	case value == "" || fit == Misfits && PerkIDRule(f.Category) == "":
		return Doubtful, strings.ToLower(value)
	}
	return fit, ""
}

// within compares numbers, of which an absent one is 0.
func within(isAbsent, isInside bool) Fit {
	switch {
	case isInside:
		return Fits
	case isAbsent:
		return CannotTell
	}
	return Misfits
}

// tick is the coarsest unit in which services write times.
const tick = time.Second

func fitPrefix(prefix, id string) Fit {
	if len(id) > len(prefix) && utf8.RuneStart(id[len(prefix)]) {
		id = id[:len(prefix)]
	}
	return sameText(prefix, id)
}

func orEmpty(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}
