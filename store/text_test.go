package store_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"example.com/perks/store"
)

func TestFoldIgnoresCaseAndEncoding(t *testing.T) {
	for _, same := range [][]string{
		{"coffee", "Coffee", "COFFEE"},
		{"straße", "STRASSE", "Strasse"},
		{"café", "CAFÉ", "cafe\u0301", "CAFE\u0301"},
		{"ὀδυσσεύς", "ὈΔΥΣΣΕΎΣ"},
		{"ǆ", "ǅ", "Ǆ"},
		{"ᏺ", "Ᏺ"},
		{"a\uFFFDb", "A\x00B", "a\xffB"},
	} {
		want := store.Fold(same[0])
		for _, text := range same[1:] {
			if got := store.Fold(text); got != want {
				t.Errorf("Fold(%q) = %q, but Fold(%q) = %q", text, got, same[0], want)
			}
		}
	}
}

func TestFoldKeepsDifferentTextsApart(t *testing.T) {
	for _, different := range [][2]string{{"cafe", "café"}, {"o", "ö"}, {"a b", "a  b"}, {"1", "１"}} {
		if store.Fold(different[0]) == store.Fold(different[1]) {
			t.Errorf("%q and %q fold to the same", different[0], different[1])
		}
	}
}

func FuzzFold(f *testing.F) {
	for _, seed := range []string{"", "Straße", "CAFE\u0301", "\u0345\u0391", "\x00\xff", "İi̇"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		folded := store.Fold(text)
		if !utf8.ValidString(folded) || strings.Contains(folded, "\x00") {
			t.Errorf("Fold(%q) = %q holds text a database cannot store", text, folded)
		}
		if again := store.Fold(folded); again != folded {
			t.Errorf("Fold(%q) = %q, and folding that again gives %q", text, folded, again)
		}
	})
}

func TestWords(t *testing.T) {
	long := strings.Repeat("é", 41)
	for _, test := range []struct {
		name, text string
		want       []string
	}{
		{"only punctuation", " -- !? ", nil},
		{"folded, once each, in order of appearance", "Pizza & PASTA, pizza!", []string{"pizza", "pasta"}},
		{"digits belong to words", "2for1 at 7-Eleven", []string{"2for1", "at", "7", "eleven"}},
		{"an apostrophe separates words", "Joe's", []string{"joe", "s"}},
		{"marks stay on their letters", "हिन्दी भाषा", []string{"हिन्दी", "भाषा"}},
		{"long words are truncated by characters", long + "x", []string{strings.Repeat("é", 40)}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := store.Words(test.text); !slices.Equal(got, test.want) {
				t.Errorf("Words(%q) = %q, want %q", test.text, got, test.want)
			}
		})
	}
}

func TestQueryWordsAreBounded(t *testing.T) {
	var text strings.Builder
	for i := range 100 {
		text.WriteString(strings.Repeat("a", i+1) + " ")
	}
	if got := store.QueryWords(text.String()); len(got) != 32 {
		t.Errorf("a search text of 100 words asks for %d, want 32", len(got))
	}
}

func TestATextHasTheBitsOfAllWordsThatBeginItsWords(t *testing.T) {
	for _, text := range []string{"Sunny loft by the canal", "Straße 7b, Ähren",
		"日本語 の 家", "ΣΊΣΥΦΟΣ",
		"café cafe\u0301", strings.Repeat("é", 50), "1017 a"} {
		words := store.Words(text)
		bits := store.WordBits(words)
		for _, word := range words {
			for end := range word + " " {
				if asked := store.WordBits(store.QueryWords(word[:end])); asked&bits != asked {
					t.Errorf("%q has the bits %x, and %q of it %x", text, bits, word[:end], asked)
				}
			}
		}
	}
	// They are stored.
	for text, want := range map[string]int64{"sunny": 1 << 33, "suns": 1 << 33, "su": 0, "": 0, "ähren": 1 << 36,
		"sunny ähren": 1<<33 | 1<<36} {
		if got := store.WordBits(store.Words(text)); got != want {
			t.Errorf("%q has the bits %x, want %x", text, got, want)
		}
	}
}
