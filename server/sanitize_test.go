package server

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func TestTheFastPathHidesEverySecret(t *testing.T) {
	chance := rand.New(rand.NewPCG(1, 2))
	parts := []string{"a", "Z", "0", "-", "/", " ", "eyJ", ".", "漢", "abcdefgh", "ABCDEFGH", "aBcDeFgH12345678",
		"01a200ea-6b27-793f-833a-30f260f53b01"}
	found := 0
	for range 50_000 {
		var text strings.Builder
		for range chance.IntN(12) {
			text.WriteString(parts[chance.IntN(len(parts))])
		}
		shown := hideSecrets(text.String())
		if shown != hiddenByExpressions(text.String()) {
			t.Fatalf("%q is shown as %q", text.String(), shown)
		}
		if shown != text.String() {
			found++
		}
	}
	if found < 1000 {
		t.Errorf("only %d of 50,000 texts hold a secret: the test uses the wrong ones", found)
	}
}

func TestTruncatingLeavesNoPartOfASecret(t *testing.T) {
	const secret = "q7Zt0Xw3Lr9Kd2Vb6Nf1Hs8Jy4Gp5Mc-Ea_UoTiRxQw" // as long as perksd's secrets
	for before := maxLogged - len(secret) - 1; before <= maxLogged; before++ {
		shown := sanitize(strings.Repeat("/a", before)[:before-1] + "/" + secret + "/more")
		for i := range len(secret) - 4 {
			if strings.Contains(shown, secret[i:i+4]) {
				t.Fatalf("after %d bytes the log shows %q", before, shown[len(shown)-80:])
			}
		}
	}
	if got := sanitize(strings.Repeat("x", 600)); got != strings.Repeat("x", maxLogged)+"... (600 bytes)" {
		t.Errorf("of 600 letters it shows %q", got)
	}
}

func hiddenByExpressions(text string) string {
	return secretPattern.ReplaceAllStringFunc(tokenPattern.ReplaceAllString(text, hidden), func(run string) string {
		if strings.ToLower(run) != run && strings.ToUpper(run) != run {
			return hidden
		}
		return run
	})
}
