package record

import (
	"strings"
	"testing"
)

// TestWordsThatDifferAreFound marks the words that only one of two lines has, in capitals.
func TestWordsThatDifferAreFound(t *testing.T) {
	for _, test := range []struct{ before, after, removed, added string }{
		{"a b c", "a x c", "a B c", "a X c"},
		{"a b c d e f", "a c x d f y", "a B c d E f", "a c X d f Y"},
		{"a b", "b", "A b", "b"},
		{"a", "a b", "a", "a B"},
		{"a  b", "a b", "a  b", "a b"},
	} {
		before, after := strings.SplitAfter(test.before, " "), strings.SplitAfter(test.after, " ")
		removed, added, common := differing(before, after)
		marked := func(words []string, differ []bool) (line string) {
			for i, word := range words {
				if differ[i] {
					word = strings.ToUpper(word)
				}
				line += word
			}
			return line
		}
		if gotRemoved, gotAdded := marked(before, removed), marked(after, added); gotRemoved != test.removed ||
			gotAdded != test.added || !common {
			t.Errorf("%q, %q: %q, %q, %t", test.before, test.after, gotRemoved, gotAdded, common)
		}
	}
	if _, _, common := differing([]string{"a ", "b"}, []string{"c"}); common {
		t.Error("words in common where there are none")
	}
}
