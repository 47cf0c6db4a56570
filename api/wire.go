package api

import (
	"bytes"
	"encoding/json"
	"time"
)

// timeLayout is RFC 3339 with exactly three digits of the second, because not every language parses a variable number.
const timeLayout = "2006-01-02T15:04:05.000Z07:00"

// wireTime is a time as it is written, truncated to milliseconds.
type wireTime time.Time

// MarshalJSON writes the time in UTC, and null for one that is not known.
func (t wireTime) MarshalJSON() ([]byte, error) {
	if time.Time(t).IsZero() {
		return []byte("null"), nil
	}
	return time.Time(t).UTC().AppendFormat(append(make([]byte, 0, len(timeLayout)), '"'), timeLayout+`"`), nil
}

// asWire returns the value that is encoded instead of the given one. encoding/json copies and checks what each
// MarshalJSON returns, which doubled the memory for a list of large records. It switches on the type instead of looking
// for a method, because a type that embeds a Perk would have the method too.
func asWire(value any) any {
	switch value := value.(type) {
	case Perk:
		return value.wire()
	case *time.Time:
		return (*wireTime)(value)
	case Property:
		if value.Odd != nil {
			return value.wire()
		}
	case Redemption:
		return value.wire()
	case RedemptionRecord:
		return value.wire()
	case PropertyVersion:
		return value.wire()
	case Token:
		return value.wire()
	case Event:
		return value.wire()
	case Webhook:
		return value.wire()
	case WebhookDelivery:
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

// EncodeJSON is json.Marshal, but does not escape < > &: the result is never part of a web page.
func EncodeJSON(value any) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(asWire(value))
	return bytes.TrimSuffix(buffer.Bytes(), []byte("\n")), err
}

// JoinObjects encodes two values as one JSON object. Without it, MarshalJSON of the embedded type would drop the outer
// fields.
func JoinObjects(inner, outer any) ([]byte, error) {
	first, err := EncodeJSON(inner)
	if err != nil {
		return nil, err
	}
	second, err := EncodeJSON(outer)
	if err != nil {
		return nil, err
	}
	return append(append(first[:len(first)-1], ','), second[1:]...), nil
}
