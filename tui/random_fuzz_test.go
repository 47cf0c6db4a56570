package tui_test

import "math/rand/v2"

// randomSource decides what happens next.
type randomSource interface {
	// n returns a number from 0 to below-1.
	n(below int) int
	// exhausted tells that no input is left.
	exhausted() bool
}

// chance is true once in so many calls.
func chance(d randomSource, in int) bool { return d.n(in) == in-1 }

func pick[T any](d randomSource, from []T) T { return from[d.n(len(from))] }

// seeded repeats its decisions for the same seed.
type seeded struct{ *rand.Rand }

func newSeeded(seed uint64) seeded { return seeded{rand.New(rand.NewPCG(seed, 0))} }

func (s seeded) n(below int) int { return s.IntN(below) }
func (s seeded) exhausted() bool { return false }

// scripted takes its decisions from the input of a fuzz target.
type scripted struct{ bytes []byte }

func (s *scripted) n(below int) int {
	n := 0
	for size := 1; size < below; size <<= 8 {
		n = n<<8 | int(s.next())
	}
	return n % below
}

func (s *scripted) next() byte {
	if s.exhausted() {
		return 0
	}
	b := s.bytes[0]
	s.bytes = s.bytes[1:]
	return b
}

func (s *scripted) exhausted() bool { return len(s.bytes) == 0 }

// texts is what people, partners and attackers put into fields.
var texts = []string{
	"", " ", "Coffee", "Two coffees for one", "1", "42", "-1", "52.52,13.405", "120.50", "9223372036854775808",
	"2026-03-10", "yes",
	"https://images.example/1.jpg", "http://[::1]:1/1.png", "javascript:alert(1)", "a@b.example", "till=7",
	`{"a":{"b":[1,2,{"c":null}]}}`,
	"\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "\x1b[2J\x1b[H", "\x9b31m", "a\x00b\x7fc", "tab\there",
	"line\nfeed\r\nand more\n\n", "\u2028separators\u2029",
	"\u202Egnp.exe\u202C", "\u2066isolated\u2069", "\u200Fmark", "مرحبا بالعالم", "שלום abc 123",
	"कॖषि नमस्ते", "ภาษาไทย", "각하",
	"東京タワーの展望台", "全角ＡＢＣ", "👩‍👩‍👧‍👦 family", "👍🏽👍🏿",
	"🇩🇪🇫🇷🇯🇵", "☕️ ☕ ‼️ ⚠️", "❤️‍🔥",
	"e\u0301\u0301\u0301\u0301\u0301\u0301", "\u0301begins with an accent",
	"\u200b\u200b\u2060\ufeff", "\u200d\u200d", "\u00adsoft\u00adhyphen", "﷽﷽﷽", "𒐫𒐫", "\uFFFD", "\xff\xfe",
	"\U000E0041tag", "\ufe0f\ufe0f",
	"averyveryveryveryveryveryveryveryveryveryveryveryveryveryveryveryveryveryverylongword",
}

// realisticTexts is what honest partners and careful people put there.
var realisticTexts = []string{"Coffee", "Berlin", "coffee-2for1", "spa-day", "alice", "Two coffees for one", "1", "3",
	"42", "120.50", "52.52,13.405", "https://images.example/1.jpg", "till", "7"}

// world is what all parts of a walk share. A realistic one mostly uses realisticTexts, because other texts rarely get
// past a form.
type world struct {
	randomSource
	realistic bool
}

// text returns one of the texts, two of them joined, or a very long one.
func (w *world) text() string {
	if w.realistic && !chance(w, 20) {
		return pick(w, realisticTexts)
	}
	t := pick(w, texts)
	switch {
	case chance(w, 30):
		for len(t) < 3000 {
			t += " " + pick(w, texts) + "x"
		}
	case chance(w, 5):
		t += pick(w, texts)
	}
	return t
}

// rarely is true once in so many calls, and eight times less often in a realistic world.
func (w *world) rarely(in int) bool {
	if w.realistic {
		in *= 8
	}
	return chance(w, in)
}
