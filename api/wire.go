package api

import (
	"bytes"
	"encoding/json"
	"time"
)

// timeLayout is RFC 3339 with three digits of the second, always: not every language reads a fraction whose length varies.
const timeLayout = "2006-01-02T15:04:05.000Z07:00"

// wireTime is a time as it is written, cut off to milliseconds.
type wireTime time.Time

// MarshalJSON writes the time in UTC.
func (t wireTime) MarshalJSON() ([]byte, error) {
	return time.Time(t).UTC().AppendFormat(append(make([]byte, 0, len(timeLayout)), '"'), timeLayout+`"`), nil
}

// asWire returns what a value's JSON is made of. encoding/json copies and checks what each MarshalJSON returns, which for a
// list of large records doubled the memory of a request; EncodeJSON encodes this instead. It switches on the type
// and not on a method, because a type that embeds a Perk would have the method too.
func asWire(value any) any {
	switch value := value.(type) {
	case Perk:
		return value.wire()
	case Redemption:
		return value.wire()
	case Token:
		return value.wire()
	case interface{ wirePage() Page[any] }:
		return value.wirePage()
	}
	return value
}

func (p Page[T]) wirePage() Page[any] {
	page := Page[any]{Data: make([]any, len(p.Data)), Meta: p.Meta}
	for i, record := range p.Data {
		page.Data[i] = asWire(record)
	}
	return page
}

// EncodeJSON is json.Marshal, but leaves < > & as they are: what is written here is never part of a page.
func EncodeJSON(value any) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(asWire(value))
	return bytes.TrimSuffix(buffer.Bytes(), []byte("\n")), err
}
