package api

import "encoding/json"

// Optional is a member of a JSON object of which absent, null and a value are three different things. The zero Optional
// is absent; with the tag option omitzero it is not written.
type Optional[T any] struct {
	Set   bool // the member is present
	Null  bool // it is present and null; Value is then the zero value
	Value T
}

// Some is a present value.
func Some[T any](value T) Optional[T] { return Optional[T]{Set: true, Value: value} }

// Null is a present null.
func Null[T any]() Optional[T] { return Optional[T]{Set: true, Null: true} }

// IsZero tells whether the member is absent.
func (o Optional[T]) IsZero() bool { return !o.Set }

// MarshalJSON writes null or the value.
func (o Optional[T]) MarshalJSON() ([]byte, error) {
	if o.Null || !o.Set {
		return []byte("null"), nil
	}
	return json.Marshal(o.Value)
}

// UnmarshalJSON reads null or a value; it is not called for an absent member.
func (o *Optional[T]) UnmarshalJSON(raw []byte) error {
	*o = Optional[T]{Set: true}
	if string(raw) == "null" {
		o.Null = true
		return nil
	}
	return json.Unmarshal(raw, &o.Value)
}
