// Package specserver is the service as its specification describes it, for tests of clients, without code of perksd.
package specserver

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"time"
)

// Options say how a server behaves. The zero value takes the plainest reading of the specification and fails nowhere.
type Options struct {
	Freedoms
	Faults []Fault
	Seed   uint64           // of the faults that come by chance
	Now    func() time.Time // nil is time.Now; Freedoms.ClockOff is added

	MostPerPage int  // of lists, whatever is asked for; 0 is 100
	OldestFirst bool // in the list of what a user has redeemed
	TokenUses   int  // how many requests a token is valid for; 0 is unlimited
}

// Freedoms are what the specification leaves open. Every combination of them is legal.
type Freedoms struct {
	Keys         Keys        // what an Idempotency-Key does
	EchoesKeys   bool        // responses repeat the Idempotency-Key of the request
	ETags        ETags       // of properties
	Codes        Codes       // in the bodies of errors, beside response
	ErrorType    ErrorType   // the media type of errors
	NewStatus    NewStatus   // of a redemption that was just made
	RedeemedCode StatusCode  // of the response to a redeem: 201, or 200
	RefusalCode  StatusCode  // of a redeem that is refused: 409, 400 or 422
	LoginCode    StatusCode  // of wrong credentials: 401, 400, 404 or 422
	Numbers      Numbers     // of perks and properties
	Blanks       Blanks      // how fields without a value are written
	ExtraFields  bool        // records have fields that the specification does not name
	IDs          IDs         // of perks and users
	PropertyIDs  PropertyIDs // of properties
	Images       Images      // of properties
	Wrapped      bool        // a single record is {"data":{...}}
	NoLinks      bool        // lists have no Link
	NoTotal      bool        // lists have no X-Total-Count
	Meta         Meta        // of lists
	Dates        Dates       // everywhere in bodies
	ExpiresIn    ExpiresIn   // of tokens
	Secrets      Secrets     // how Basic authentication is read
	OncePerUser  bool        // a user can redeem a perk once
	MixedLists   bool        // the list of a user has perks and redemptions, whatever the type asked for
	IgnoresPage  bool        // every page is the first one
	IgnoresSort  bool        // the order is the server's own
	IgnoresWords bool        // filters change nothing
	Elsewhere    Elsewhere   // the answer at addresses that the specification does not have
	ClockOff     ClockOffset // of Date and of every time in bodies
}

// Keys says what an Idempotency-Key does.
type Keys string

// The treatments of keys.
const (
	KeysIgnored  Keys = ""         // a request under the same key is a new one
	KeysHonoured Keys = "honoured" // a request under the same key gets the first response again
)

// ETags says whether properties have versions.
type ETags string

// The kinds of ETags. If-Match is obeyed if there are any.
const (
	ETagsNone         ETags = ""
	ETagsStrong       ETags = "strong"
	ETagsWeak         ETags = "weak"          // compared strongly, so that If-Match never matches
	ETagsWeakMatching ETags = "weak matching" // compared weakly
)

// Codes says whether errors have a code.
type Codes string

// The kinds of codes.
const (
	CodesNone    Codes = ""
	CodesWords   Codes = "words"   // such as ERR_NOT_FOUND
	CodesNumbers Codes = "numbers" // the status again
)

// ErrorType is the media type of errors.
type ErrorType string

// The media types.
const (
	ErrorsJSON    ErrorType = ""
	ErrorsProblem ErrorType = "application/problem+json"
	ErrorsCharset ErrorType = "application/json; charset=UTF-8"
)

// NewStatus is the status of a new redemption.
type NewStatus string

// The statuses: those of the specification, the empty text, and a word of somebody's own.
const (
	StatusApproved NewStatus = ""
	StatusPending  NewStatus = "pending"
	StatusRejected NewStatus = "rejected"
	StatusEmpty    NewStatus = "empty"
	StatusUnknown  NewStatus = "fulfilled"
)

// word is the status as it is written.
func (n NewStatus) word() string {
	switch n {
	case StatusApproved:
		return "approved"
	case StatusEmpty:
		return ""
	}
	return string(n)
}

// StatusCode is the status of an HTTP response; 0 is the first that the field's comment names.
type StatusCode int

// Numbers says how numbers are written.
type Numbers string

// The forms of numbers.
const (
	NumbersPlain    Numbers = ""
	NumbersText     Numbers = "text"     // "2"
	NumbersExponent Numbers = "exponent" // 2e+00
	NumbersFloat    Numbers = "float"    // 2.0
)

// Blanks says how a field without a value is written.
type Blanks string

// The forms of fields without a value.
const (
	BlanksNull   Blanks = ""
	BlanksAbsent Blanks = "absent"
	BlanksText   Blanks = "text" // "" for texts and dates, null for numbers
)

// IDs says which ids perks and users have.
type IDs string

// The kinds of ids, with what a client may forget to escape.
const (
	IDsPlain   IDs = ""
	IDsSlash   IDs = "slash"
	IDsPercent IDs = "percent"
	IDsUnicode IDs = "unicode"
)

// PropertyIDs says which ids properties have, and how bodies write them.
type PropertyIDs string

// The forms of a property's id.
const (
	PropertyIDsNumber PropertyIDs = ""
	PropertyIDsText   PropertyIDs = "text"  // "1"
	PropertyIDsWords  PropertyIDs = "words" // "7f3c/1"
)

// Images says how the images of a property are written.
type Images string

// The forms of images.
const (
	ImagesArray Images = ""
	ImagesText  Images = "text" // one comma-separated text
	ImagesNull  Images = "null" // an array, but null if there are none
)

// Meta says how lists write their meta.
type Meta string

// The forms of meta.
const (
	MetaNumbers Meta = ""
	MetaText    Meta = "text"
	MetaNone    Meta = "none"
)

// Dates says how times are written.
type Dates string

// The forms of times, all of RFC 3339.
const (
	DatesSeconds Dates = ""
	DatesMillis  Dates = "milliseconds"
	DatesNanos   Dates = "nanoseconds"
	DatesOffset  Dates = "offset" // of another time zone
)

// ExpiresIn says how a token's lifetime is written.
type ExpiresIn string

// The forms of a lifetime.
const (
	ExpiresNumber ExpiresIn = ""
	ExpiresText   ExpiresIn = "text"
	ExpiresFloat  ExpiresIn = "float"
	ExpiresAbsent ExpiresIn = "absent"
)

// Secrets says how the user and the password of Basic authentication are read.
type Secrets string

// The ways of reading credentials.
const (
	SecretsAsSent  Secrets = ""
	SecretsDecoded Secrets = "decoded" // URL-decoded, as OAuth 2 has it
)

// Elsewhere is the answer at an address that the specification does not have.
type Elsewhere string

// The answers.
const (
	ElsewhereError    Elsewhere = ""
	ElsewherePage     Elsewhere = "page"      // 404 with a proxy's HTML page
	ElsewhereLanding  Elsewhere = "landing"   // 200 with a proxy's HTML page
	ElsewhereNoMethod Elsewhere = "no method" // 405
)

// ClockOffset is how far the server's clock is ahead.
type ClockOffset time.Duration

func (c ClockOffset) String() string { return time.Duration(c).String() }

// Mixture returns the freedoms that a seed chooses, the same ones each time.
func Mixture(seed uint64) Freedoms {
	r := rand.New(rand.NewPCG(seed, 1)) // #nosec G404 -- must be repeatable
	isRare := func() bool { return r.IntN(6) == 0 }
	isEven := func() bool { return one(r, false, true) }
	return Freedoms{
		Keys:         one(r, KeysIgnored, KeysHonoured),
		EchoesKeys:   isEven(),
		ETags:        one(r, ETagsNone, ETagsStrong, ETagsWeak, ETagsWeakMatching),
		Codes:        one(r, CodesNone, CodesWords, CodesNumbers),
		ErrorType:    one(r, ErrorsJSON, ErrorsProblem, ErrorsCharset),
		NewStatus:    one(r, StatusApproved, StatusApproved, StatusPending, StatusRejected, StatusEmpty, StatusUnknown),
		RedeemedCode: one[StatusCode](r, 201, 200),
		RefusalCode:  one[StatusCode](r, 409, 400, 422),
		LoginCode:    one[StatusCode](r, 401, 400, 404, 422),
		Numbers:      one(r, NumbersPlain, NumbersText, NumbersExponent, NumbersFloat),
		Blanks:       one(r, BlanksNull, BlanksAbsent, BlanksText),
		ExtraFields:  isEven(),
		IDs:          one(r, IDsPlain, IDsSlash, IDsPercent, IDsUnicode),
		PropertyIDs:  one(r, PropertyIDsNumber, PropertyIDsText, PropertyIDsWords),
		Images:       one(r, ImagesArray, ImagesText, ImagesNull),
		Wrapped:      isRare(),
		NoLinks:      isEven(),
		NoTotal:      isEven(),
		Meta:         one(r, MetaNumbers, MetaText, MetaNone),
		Dates:        one(r, DatesSeconds, DatesMillis, DatesNanos, DatesOffset),
		ExpiresIn:    one(r, ExpiresNumber, ExpiresText, ExpiresFloat, ExpiresAbsent),
		Secrets:      one(r, SecretsAsSent, SecretsDecoded),
		OncePerUser:  isEven(),
		MixedLists:   isRare(),
		IgnoresPage:  isRare(),
		IgnoresSort:  isEven(),
		IgnoresWords: isEven(),
		Elsewhere:    one(r, ElsewhereError, ElsewherePage, ElsewhereLanding, ElsewhereNoMethod),
		ClockOff:     ClockOffset(one(r, 0, -7*time.Minute, 7*time.Minute)),
	}
}

func one[T any](r *rand.Rand, choices ...T) T { return choices[r.IntN(len(choices))] }

// String names the freedoms that are taken, in Go's words, so that a failing mixture can be written down.
func (f Freedoms) String() string {
	var taken []string
	value := reflect.ValueOf(f)
	for i := range value.NumField() {
		switch field := value.Field(i); {
		case field.IsZero():
		case field.Kind() == reflect.Bool:
			taken = append(taken, value.Type().Field(i).Name)
		default:
			taken = append(taken, fmt.Sprintf("%s=%v", value.Type().Field(i).Name, field.Interface()))
		}
	}
	return "{" + strings.Join(taken, ", ") + "}"
}

// Honest leaves out a server that repeats idempotency keys but ignores them: clients take a repeated key as proof.
func (f Freedoms) Honest() Freedoms {
	f.EchoesKeys = f.EchoesKeys && f.Keys == KeysHonoured
	return f
}
