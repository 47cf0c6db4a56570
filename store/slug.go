package store

import (
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"example.com/perks/api"
)

const maxSlug = 56 // leaves room for a number within the 64 characters of an id

// CategoryID makes the id of a category that is known only by its name: the name's slug, or the slug with -2, -3 and so
// on for as long as taken says that another category has it.
func CategoryID(name string, taken func(id string) bool) string {
	base := slug(name)
	id := base
	for n := 2; api.PerkIDRule(id) != "" || taken(id); n++ {
		id = base + "-" + strconv.Itoa(n)
	}
	return id
}

// slug keeps the letters a to z and digits of the folded name, without their accents, and puts one hyphen for
// everything between.
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
