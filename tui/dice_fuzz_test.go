package tui_test

import "math/rand/v2"

// dice decides what happens next.
type dice interface {
	// n returns a number from 0 to below-1.
	n(below int) int
	// over tells that nothing is left to decide by.
	over() bool
}

// chance tells whether something happens that does so once in so many times.
func chance(d dice, in int) bool { return d.n(in) == in-1 }

func pick[T any](d dice, from []T) T { return from[d.n(len(from))] }

// seeded is dice that fall the same way for the same seed.
type seeded struct{ *rand.Rand }

func newSeeded(seed uint64) seeded { return seeded{rand.New(rand.NewPCG(seed, 0))} }

func (s seeded) n(below int) int { return s.IntN(below) }
func (s seeded) over() bool      { return false }

// scripted is dice that fall as the bytes of a fuzz target's input say.
type scripted struct{ bytes []byte }

func (s *scripted) n(below int) int {
	n := 0
	for size := 1; size < below; size <<= 8 {
		n = n<<8 | int(s.next())
	}
	return n % below
}

func (s *scripted) next() byte {
	if s.over() {
		return 0
	}
	b := s.bytes[0]
	s.bytes = s.bytes[1:]
	return b
}

func (s *scripted) over() bool { return len(s.bytes) == 0 }

// texts is what people, partners and attackers put into fields.
var texts = []string{
	"", " ", "Coffee", "Two coffees for one", "1", "42", "-1", "52.52,13.405", "120.50", "9223372036854775808", "2026-03-10", "yes",
	"https://images.example/1.jpg", "http://[::1]:1/1.png", "javascript:alert(1)", "a@b.example", "till=7", `{"a":{"b":[1,2,{"c":null}]}}`,
	"\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "\x1b[2J\x1b[H", "\x9b31m", "a\x00b\x7fc", "tab\there", "line\nfeed\r\nand more\n\n", "\u2028separators\u2029",
	"\u202Egnp.exe\u202C", "\u2066isolated\u2069", "\u200Fmark", "مرحبا بالعالم", "שלום abc 123", "कॖषि नमस्ते", "ภาษาไทย", "각하",
	"東京タワーの展望台", "全角ＡＢＣ", "👩‍👩‍👧‍👦 family", "👍🏽👍🏿", "🇩🇪🇫🇷🇯🇵", "☕️ ☕ ‼️ ⚠️", "❤️‍🔥", "e\u0301\u0301\u0301\u0301\u0301\u0301", "\u0301begins with an accent",
	"\u200b\u200b\u2060\ufeff", "\u200d\u200d", "\u00adsoft\u00adhyphen", "﷽﷽﷽", "𒐫𒐫", "\uFFFD", "\xff\xfe", "\U000E0041tag", "\ufe0f\ufe0f",
	"averyveryveryveryveryveryveryveryveryveryveryveryveryveryveryveryveryveryverylongword",
}

// sane is what an honest partner and a careful person put there.
var sane = []string{"Coffee", "Berlin", "coffee-2for1", "spa-day", "alice", "Two coffees for one", "1", "3", "42", "120.50", "52.52,13.405", "https://images.example/1.jpg", "till", "7"}

// world is what all parts of a walk share. A tame one is mostly sane, because what lies behind forms is not reached otherwise.
type world struct {
	dice
	tame bool
}

// text makes one of the texts, several of them, or a very long one.
func (w *world) text() string {
	if w.tame && !chance(w, 20) {
		return pick(w, sane)
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

// rarely tells whether something happens that does so once in so many times, and hardly ever in a tame world.
func (w *world) rarely(in int) bool {
	if w.tame {
		in *= 8
	}
	return chance(w, in)
}
