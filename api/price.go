package api

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"sync"
)

// Price is an amount of money that keeps its digits exactly as they were given ("120.50" stays "120.50") and never
// passes through a floating-point number. It is not negative. On the wire it is a JSON string; a JSON number is accepted
// too. The zero Price is "0".
type Price struct{ digits string }

const maxPriceDigits = 24

var plainDecimal = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(0|[1-9][0-9]*)(\.[0-9]+)?$`) })

// ParsePrice reads plain decimal digits such as "120", "0.5" or "120.50". Signs, exponents, leading zeros, blanks and
// more than 24 characters are refused.
func ParsePrice(text string) (Price, error) {
	switch {
	case strings.HasPrefix(text, "-"):
		return Price{}, errors.New("must not be negative")
	case len(text) > maxPriceDigits:
		return Price{}, errors.New("must be at most 24 characters long")
	case !plainDecimal().MatchString(text):
		return Price{}, errors.New("must be plain decimal digits such as 120.50")
	}
	return Price{digits: text}, nil
}

// String returns the digits as they were given.
func (p Price) String() string {
	if p.digits == "" {
		return "0"
	}
	return p.digits
}

// MarshalJSON writes the digits as a JSON string.
func (p Price) MarshalJSON() ([]byte, error) { return []byte(`"` + p.String() + `"`), nil }

// UnmarshalJSON reads a JSON string or number, digit by digit. Null leaves the price as it is, as encoding/json has it.
func (p *Price) UnmarshalJSON(raw []byte) error {
	text := string(raw)
	if text == "null" {
		return nil
	}
	if strings.HasPrefix(text, `"`) {
		if err := json.Unmarshal(raw, &text); err != nil {
			return err
		}
	}
	price, err := ParsePrice(text)
	if err != nil {
		return err
	}
	*p = price
	return nil
}
