package api_test

import (
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"example.com/perks/api"
)

func TestDecimalsAreExact(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	some := func() (api.Decimal, *big.Rat) {
		text := ""
		if random.IntN(3) == 0 {
			text = "-"
		}
		text += strings.Repeat("0", random.IntN(3)) + "0123456789"[random.IntN(10):][:1]
		for range random.IntN(24) {
			text += string(rune('0' + random.IntN(10)))
		}
		if at := 1 + random.IntN(len(text)); at < len(text) && text[at-1] != '-' {
			text = text[:at] + "." + text[at:]
		}
		if random.IntN(4) == 0 {
			text += []string{"e3", "E-7", "e+12", "e0"}[random.IntN(4)]
		}
		number, ok := api.ParseDecimal(text)
		exact, okToo := new(big.Rat).SetString(text)
		if !ok || !okToo {
			t.Fatalf("%q is read: %v, %v", text, ok, okToo)
		}
		return number, exact
	}
	half := big.NewRat(1, 2)
	for range 20_000 {
		a, exactA := some()
		b, exactB := some()
		for name, got := range map[string]struct {
			is   api.Decimal
			want *big.Rat
		}{
			"read":     {a, exactA},
			"plus":     {a.Plus(b), new(big.Rat).Add(exactA, exactB)},
			"minus":    {a.Minus(b), new(big.Rat).Sub(exactA, exactB)},
			"times":    {a.Times(b), new(big.Rat).Mul(exactA, exactB)},
			"decimals": {a.WithDecimals(3), exactA},
		} {
			if written, ok := new(big.Rat).SetString(got.is.String()); !ok || written.Cmp(got.want) != 0 {
				t.Fatalf("%s of %s and %s gives %s, want %s", name, a, b, got.is, got.want.RatString())
			}
		}
		if a.Cmp(b) != exactA.Cmp(exactB) || a.Sign() != exactA.Sign() {
			t.Fatalf("%s and %s compare as %d, and the sign is %d", a, b, a.Cmp(b), a.Sign())
		}
		if b.Sign() <= 0 {
			continue
		}
		// rounded is a multiple, and the distance is at most half a step, above or equal to it if exactly half
		rounded, _ := new(big.Rat).SetString(a.Rounded(b).String())
		steps := new(big.Rat).Quo(rounded, exactB)
		off := new(big.Rat).Quo(new(big.Rat).Sub(exactA, rounded), exactB)
		if !steps.IsInt() || off.Cmp(half) >= 0 || off.Cmp(new(big.Rat).Neg(half)) < 0 {
			t.Fatalf("%s rounded to %s gives %s", a, b, a.Rounded(b))
		}
	}
}

func TestAThousandSmallStepsLoseNothing(t *testing.T) {
	price, _ := api.ParseDecimal("120.50")
	step, _ := api.ParseDecimal("1.001")
	exact, factor := big.NewRat(12050, 100), big.NewRat(1001, 1000)
	for range 1000 {
		price, exact = price.Times(step), exact.Mul(exact, factor)
	}
	if got, _ := new(big.Rat).SetString(price.String()); got.Cmp(exact) != 0 {
		t.Errorf("a thousand steps of 0.1 %% lead to %.40s…", price)
	}
}

func changed(t *testing.T, listing api.Property, round, field, text string) (string, error) {
	t.Helper()
	changes, err := api.PropertyAmounts.Parse([]api.Member{{Name: field, Value: api.TextValue(text)}}, round)
	if err != nil {
		return "", err
	}
	patch, err := changes.Of(listing)
	return strings.Join(listing.With(patch).Texts(field), ","), err
}

func TestAmountsKeepTheirDigits(t *testing.T) {
	price := func(text string) (p api.Property) {
		p.PricePW, _ = api.ParsePrice(text)
		p.Bedrooms, p.Deposit = 3, 500.1
		return p
	}
	for _, c := range []struct{ now, field, change, round, want string }{
		{"120.50", "price_pw", "+5%", "", "126.525"},
		{"120.00", "price_pw", "+5%", "", "126.00"},
		{"120", "price_pw", "+5%", "", "126"},
		{"120.50", "price_pw", "+5%", "0.50", "126.50"},
		{"121", "price_pw", "+5%", "0.50", "127.00"},
		{"0.25", "price_pw", "*1", "0.50", "0.50"},
		{"0.24", "price_pw", "*1", "0.50", "0.00"},
		{"120.50", "price_pw", "-12.50", "", "108.00"},
		{"120", "price_pw", "+12.50", "", "132.50"},
		{"120.50", "price_pw", "*1.05", "5", "125.00"},
		{"120.50", "price_pw", "-100%", "", "0.00"},
		{"120.50", "price_pw", "99.90", "", "99.90"},
		{"99999999999999999999.99", "price_pw", "-0.01", "", "99999999999999999999.98"},
		{"1", "bedrooms", "+1", "", "4"},
		{"1", "bathrooms", "*1.5", "", "0"},
		{"1", "deposit", "+5%", "", "525.105"},
		{"1", "lat", "-1.55", "", "-1.55"},
		{"1", "title", "+5%", "", "+5%"},
	} {
		if got, err := changed(t, price(c.now), c.round, c.field, c.change); err != nil || got != c.want {
			t.Errorf("%s of %s %s, rounded to %q, is %q, %v; want %s",
				c.field, c.now, c.change, c.round, got, err, c.want)
		}
	}
	if patch, err := (api.Changes[api.Property, api.PropertyPatch]{}).Of(price("1")); err != nil || !patch.IsEmpty() {
		t.Errorf("no changes change %v, %v", patch.Fields(), err)
	}
}

func TestChangesThatCannotBeMadeSayWhy(t *testing.T) {
	listing := api.Property{Bedrooms: 3, Deposit: 0.1}
	listing.PricePW, _ = api.ParsePrice("10.00")
	var odd api.Property
	if err := api.ReadProperty([]byte(`{"propertyId": 1, "price_pw": "£295.50"}`), &odd); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		listing                    api.Property
		field, change, round, want string
	}{
		{listing, "price_pw", "-10.20", "0.50", "price_pw would be -0.20, and must not be negative"},
		{listing, "price_pw", "*1.0000000000000000000001", "", "at most 24 characters"},
		{listing, "bedrooms", "+50%", "", "bedrooms would be 4.5, and must be a whole number"},
		{listing, "bedrooms", "*9999999999", "", "must be at most"},
		{listing, "deposit", "*1.00000000000000000001", "", "more digits than the field keeps; round it"},
		{odd, "price_pw", "+5%", "", `price_pw is "£295.50", not a number; set it`},
		{odd, "deposit", "+5%", "", `deposit is "", not a number`},
		{listing, "price_pw", "+5", "0", "round must be an amount above 0"},
		{listing, "price_pw", "+5", "-1", "round must be an amount above 0"},
		{listing, "price_pw", "5", "0.50", "round needs a change to round"},
		{listing, "price_pw", "+", "", "must be a value, or a change such as +5%"},
		{listing, "price_pw", "*5%", "", "must be a value, or a change such as +5%"},
		{listing, "price_pw", "+-5", "", "must be a value, or a change such as +5%"},
		{listing, "price_pw", "+1e999999999", "", "must be a value, or a change such as +5%"},
		{listing, "price_pw", "*" + strings.Repeat("9", 10_000), "", "of at most 24 characters"},
		{listing, "price_pw", "+" + strings.Repeat("9", 10_000_000) + "%", "", "of at most 24 characters"},
		{listing, "lat", "+5%", "", "lat must be a number"},
	} {
		began := time.Now()
		_, err := changed(t, c.listing, c.round, c.field, c.change)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %.20s: %v, want an error that says %q", c.field, c.change, err, c.want)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("%s %.20s took %s", c.field, c.change, took)
		}
	}
	for _, hostile := range []string{
		"1e999999999", "1e-999999999", strings.Repeat("9", 10_000), "", "-", "0x10", "NaN", "1_0",
	} {
		if number, ok := api.ParseDecimal(hostile); ok {
			t.Errorf("%.20q is read as %.20s", hostile, number)
		}
	}
}
