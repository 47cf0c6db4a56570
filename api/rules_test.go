package api_test

import (
	"strings"
	"testing"

	"example.com/perks/api"
)

func TestPerkIDRule(t *testing.T) {
	checkRule(t, api.PerkIDRule,
		[]string{"a", "A-z_0", "-", "0195b2c4-6f1e-7c3a-9d52-3b1f6e0c7a11", "Categories", strings.Repeat("a", 64)},
		[]string{"", "a b", "a/b", "a.b", "é", "a\n", "categories", "users", strings.Repeat("a", 65)})
}

func TestUserIDRule(t *testing.T) {
	checkRule(t, api.UserIDRule,
		[]string{"a", "alice@example.com", "a.b", "...", "a:b", "Žofie", "a%2Fb", "用户", strings.Repeat("é", 128)},
		[]string{"", " a", "a b", "a\u00a0b", "a/b", "a\x00", "a\x7f", "a\u0085", "a\n", "\xff", ".", "..",
			strings.Repeat("é", 129)})
}

func TestURLRule(t *testing.T) {
	checkRule(t, api.URLRule,
		[]string{"http://a", "https://a/b.jpg", "HTTPS://a/b", "http://a:8080/b?c=d#e", "http://[::1]/b",
			"https://bücher.example/ü", "https://a/b%20c", "https://a/" + strings.Repeat("b", 2038)},
		[]string{"", " ", "a", "/a", "//a/b", "http:", "http://", "http:///b", "http://:80/b", "ftp://a/b",
			"javascript:alert(1)", "data:image/png;base64,AA",
			"http://a/b c", " http://a/b", "http://a/b ", "http://a/\x00", "http://a/\n", "http://a/%zz", "http://a b/",
			"https://a/" + strings.Repeat("b", 2039)})
}

func TestIdempotencyKeyRule(t *testing.T) {
	checkRule(t, api.IdempotencyKeyRule,
		[]string{"a", "4f9d1c70-7a38-4a51-9a0c-4f0d3b1f5a11", "row 7 of batch ~",
			strings.Repeat("a", api.MaxIdempotencyKey)},
		[]string{"é", "a\tb", "a\x7f", "a\x00", strings.Repeat("a", api.MaxIdempotencyKey+1)})
}

func TestPositionRules(t *testing.T) {
	for _, c := range []struct {
		rule    func(float64) string
		extreme float64
	}{{api.LatRule, 90}, {api.LngRule, 180}} {
		for _, right := range []float64{0, c.extreme, -c.extreme} {
			if problem := c.rule(right); problem != "" {
				t.Errorf("%g %s", right, problem)
			}
		}
		for _, wrong := range []float64{c.extreme + 1e-9, -c.extreme - 1e-9} {
			if c.rule(wrong) == "" {
				t.Errorf("%g is accepted", wrong)
			}
		}
	}
}

func checkRule(t *testing.T, rule func(string) string, right, wrong []string) {
	t.Helper()
	for _, s := range right {
		if problem := rule(s); problem != "" {
			t.Errorf("%.80q %s", s, problem)
		}
	}
	for _, s := range wrong {
		if rule(s) == "" {
			t.Errorf("%.80q is accepted", s)
		}
	}
}
