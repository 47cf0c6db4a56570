package api

import (
	"errors"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Decimal is an exact decimal number. It keeps its decimals: 120.50 is not written as 120.5. The zero Decimal is 0.
type Decimal struct {
	units    *big.Int // of the last decimal; nil is 0
	decimals int      // digits behind the point
}

var anyNumber = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(-?[0-9]+)(?:\.([0-9]+))?(?:[eE]([-+]?[0-9]{1,4}))?$`)
})

// maxDecimalText is the length of the longest text that ParseDecimal reads, which is more than a double can need.
const maxDecimalText = 800

// ParseDecimal reads a number in decimal or scientific notation.
func ParseDecimal(text string) (number Decimal, ok bool) {
	if len(text) > maxDecimalText {
		return number, false
	}
	parts := anyNumber().FindStringSubmatch(text)
	if parts == nil {
		return number, false
	}
	units, _ := new(big.Int).SetString(parts[1]+parts[2], 10)
	power, _ := strconv.Atoi(parts[3]) // 0 if there is none
	number = Decimal{units, len(parts[2]) - power}
	if power < -maxExponent || power > maxExponent {
		return Decimal{}, false
	}
	if number.decimals < 0 {
		number = Decimal{number.in(0), 0}
	}
	return number, true
}

// in returns the number in units of a decimal, which must not lose digits.
func (d Decimal) in(decimals int) *big.Int {
	units := new(big.Int)
	if d.units != nil {
		units.Mul(d.units, pow10(decimals-d.decimals))
	}
	return units
}

func pow10(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// Plus returns the sum.
func (d Decimal) Plus(other Decimal) Decimal {
	decimals := max(d.decimals, other.decimals)
	return Decimal{new(big.Int).Add(d.in(decimals), other.in(decimals)), decimals}
}

// Minus returns the difference.
func (d Decimal) Minus(other Decimal) Decimal {
	return d.Plus(Decimal{new(big.Int).Neg(other.in(other.decimals)), other.decimals})
}

// Times returns the product.
func (d Decimal) Times(other Decimal) Decimal {
	return Decimal{new(big.Int).Mul(d.in(d.decimals), other.in(other.decimals)), d.decimals + other.decimals}
}

// Cmp compares two numbers as cmp.Compare does. 120.50 equals 120.5.
func (d Decimal) Cmp(other Decimal) int {
	decimals := max(d.decimals, other.decimals)
	return d.in(decimals).Cmp(other.in(decimals))
}

// Sign returns -1, 0 or 1.
func (d Decimal) Sign() int { return d.in(d.decimals).Sign() }

// Rounded returns the nearest multiple of a step above 0, of two that are as near the greater one.
func (d Decimal) Rounded(step Decimal) Decimal {
	decimals := max(d.decimals, step.decimals)
	double, unit := new(big.Int).Lsh(d.in(decimals), 1), step.in(decimals)
	steps := new(big.Int).Add(double, unit)
	steps.Div(steps, new(big.Int).Lsh(unit, 1)) // floors
	return Decimal{steps.Mul(steps, step.in(step.decimals)), step.decimals}
}

// WithDecimals returns the number with at least so many decimals, and as few more as it needs.
func (d Decimal) WithDecimals(least int) Decimal {
	units, decimals := d.in(max(d.decimals, least)), max(d.decimals, least)
	for rest, ten := new(big.Int), big.NewInt(10); decimals > least; decimals-- {
		shorter, digit := new(big.Int).QuoRem(units, ten, rest)
		if digit.Sign() != 0 {
			break
		}
		units = shorter
	}
	return Decimal{units, decimals}
}

// Like returns the number with as many decimals as another one, and as few more as it needs.
func (d Decimal) Like(other Decimal) Decimal { return d.WithDecimals(other.decimals) }

// String returns the digits, without an exponent.
func (d Decimal) String() string {
	digits, sign := d.in(d.decimals).String(), ""
	if digits[0] == '-' {
		digits, sign = digits[1:], "-"
	}
	if d.decimals == 0 {
		return sign + digits
	}
	digits = strings.Repeat("0", max(0, d.decimals+1-len(digits))) + digits
	point := len(digits) - d.decimals
	return sign + digits[:point] + "." + digits[point:]
}

// Arithmetic is what changes the amounts of a kind of record: its fields with numbers that are never negative.
type Arithmetic[R any, P patchOf[R]] struct {
	amounts, fields func() []string // names
	parse           func([]Member) (P, error)
	changes         func(before, after R) P
	texts           func(of R, name string) []string
}

type patchOf[R any] interface {
	Fields() []string
	Apply(to *R)
}

// PropertyAmounts changes the price, the deposit and the numbers of rooms of listings.
var PropertyAmounts = &Arithmetic[Property, PropertyPatch]{
	amounts: func() (names []string) {
		for _, field := range requiredNumbers() {
			names = append(names, field.Name)
		}
		return names
	},
	fields: PropertyPatchFields, parse: ParsePropertyPatch, changes: PropertyChanges, texts: Property.Texts,
}

// PerkAmounts changes the stock of perks.
var PerkAmounts = &Arithmetic[PerkRecord, PerkPatch]{
	amounts: func() []string { return []string{"stock"} },
	fields:  PerkPatchFields, parse: ParsePerkPatch, changes: PerkChanges, texts: PerkRecord.Texts,
}

// Changes are what to do with fields of records: to set them, or to change an amount by what it is: +5%, -5%, +12.50,
// -12.50 or *1.05.
type Changes[R any, P patchOf[R]] struct {
	of    *Arithmetic[R, P]
	set   P
	amend []amendment
	step  Decimal // to which changed amounts are rounded; 0 is exact
}

// amendment changes an amount to itself times the factor and plus the term.
type amendment struct {
	field        string
	factor, term Decimal
}

// Help says which values of Changes are relative.
func (a *Arithmetic[R, P]) Help() string {
	names, takes := a.amounts(), "takes a change of what it is"
	if last := len(names) - 1; last > 0 {
		names = []string{strings.Join(names[:last], ", "), names[last]}
		takes = "take a change of what they are"
	}
	return strings.Join(names, " and ") + " also " + takes + ": +5%, -5%, +12.50, -12.50 or *1.05"
}

var anyAmendment = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([-+*])((?:0|[1-9][0-9]*)(?:\.[0-9]+)?)(%?)$`)
})

// IsRelative tells whether Parse reads the value of a field as a change of what the field is. Only amounts, which are
// never negative, have such values: -1.55 is a longitude.
func (a *Arithmetic[R, P]) IsRelative(m Member) bool {
	var text string
	return a.IsAmount(m.Name) && m.Value.Text(&text) == "" && strings.IndexAny(text, "+-*") == 0
}

// IsAmount tells whether a field is a number that is never negative.
func (a *Arithmetic[R, P]) IsAmount(field string) bool { return slices.Contains(a.amounts(), field) }

// Parse reads changes, and the step to which amounts are rounded, "" for none. The error is as that of
// ParsePropertyPatch.
func (a *Arithmetic[R, P]) Parse(members []Member, round string) (c Changes[R, P], err error) {
	c.of = a
	fields, plain := FieldErrors{}, []Member{}
	for _, m := range members {
		if !a.IsRelative(m) {
			plain = append(plain, m)
			continue
		}
		a, problem := parseAmendment(m)
		c.amend = append(c.amend, a)
		fields.check(m.Name, problem)
		fields.checkRepeated(m)
	}
	c.set, err = a.parse(plain)
	if invalid, is := errors.AsType[*Error](err); is {
		maps.Copy(fields, invalid.Fields)
	}
	if round != "" {
		price, err := ParsePrice(round)
		if c.step, _ = ParseDecimal(price.String()); err != nil || c.step.Sign() == 0 {
			fields.Add("round", "must be an amount above 0, such as 0.50")
		} else if len(c.amend) == 0 {
			fields.Add("round", "needs a change to round, such as %s=+5%%", a.amounts()[0])
		}
	}
	return c, fields.Err()
}

func parseAmendment(m Member) (a amendment, problem string) {
	var text string
	_ = m.Value.Text(&text) // IsRelative has read it
	var parts []string
	if len(text) <= maxPriceDigits {
		parts = anyAmendment().FindStringSubmatch(text)
	}
	if parts == nil || parts[1] == "*" && parts[3] == "%" {
		return a, "must be a value, or a change such as +5%, -12.50 or *1.05, of at most 24 characters"
	}
	one := Decimal{big.NewInt(1), 0}
	amount, _ := ParseDecimal(parts[2])
	if parts[1] == "-" {
		amount = Decimal{}.Minus(amount)
	}
	a = amendment{field: m.Name, factor: one, term: amount}
	switch {
	case parts[1] == "*":
		a.factor, a.term = amount, Decimal{}
	case parts[3] == "%":
		amount.decimals += 2
		a.factor, a.term = one.Plus(amount), Decimal{}
	}
	return a, ""
}

// Of returns the patch that makes the changes to a record, without the fields that are as they should be. An amount
// keeps its decimals, and gets more only where it needs them: 120.50 plus 5 % is 126.525. The error says which fields
// would break their rules, or lose digits.
func (c Changes[R, P]) Of(record R) (patch P, err error) {
	if c.of == nil {
		return patch, nil
	}
	fields, members := FieldErrors{}, []Member{}
	amounts := map[string]Decimal{}
	for _, a := range c.amend {
		name := a.field
		now, isNumber := c.of.NumberOf(record, name)
		if !isNumber {
			fields.Add(name, "is %.60q, not a number; set it to a value", strings.Join(c.of.texts(record, name), ", "))
			continue
		}
		amount, least := now.Times(a.factor).Plus(a.term), max(now.decimals, a.term.decimals)
		if c.step.Sign() > 0 && amount.Sign() > 0 { // what is negative must not become 0
			amount, least = amount.Rounded(c.step), max(least, c.step.decimals)
		}
		amount = amount.WithDecimals(least)
		amounts[name] = amount
		members = append(members, Member{Name: name, Value: TextValue(amount.String())})
	}
	amended, err := c.of.parse(members)
	if invalid, is := errors.AsType[*Error](err); is {
		for name, problems := range invalid.Fields {
			fields.Add(name, "would be %.60s, and %s", amounts[name], strings.Join(problems, ", "))
		}
	}
	after := record
	c.set.Apply(&after)
	amended.Apply(&after)
	for name, amount := range amounts {
		if kept, _ := c.of.NumberOf(after, name); len(fields[name]) == 0 && kept.Cmp(amount) != 0 {
			fields.Add(name, "would be %.60s, which has more digits than the field keeps; round it", amount)
		}
	}
	return c.of.changes(record, after), fields.Err()
}

// Fields returns the names of the fields that are changed, in the order of the record.
func (c Changes[R, P]) Fields() []string {
	if c.of == nil {
		return nil
	}
	names := c.set.Fields()
	for _, a := range c.amend {
		names = append(names, a.field)
	}
	isLeftOut := func(name string) bool { return !slices.Contains(names, name) }
	return slices.DeleteFunc(slices.Clone(c.of.fields()), isLeftOut)
}

// NumberOf returns the number of a field of a record; false if it has none.
func (a *Arithmetic[R, P]) NumberOf(record R, name string) (Decimal, bool) {
	return ParseDecimal(strings.Join(a.texts(record, name), ""))
}
