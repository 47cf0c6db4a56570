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

// MarshalJSON writes the times as wireTime does.
func (p Perk) MarshalJSON() ([]byte, error) { return EncodeJSON(p) }

func (p Perk) wire() any {
	return struct {
		ID           string    `json:"id"`
		Title        string    `json:"title"`
		Description  string    `json:"description"`
		Category     *string   `json:"category"`
		MerchantName *string   `json:"merchant_name"`
		ImageURL     *string   `json:"image_url"`
		DiscountText *string   `json:"discount_text"`
		Terms        *string   `json:"terms"`
		ValidFrom    *wireTime `json:"valid_from"`
		ValidTo      *wireTime `json:"valid_to"`
		City         string    `json:"city"`
		CreatedAt    wireTime  `json:"created_at"`
		UpdatedAt    wireTime  `json:"updated_at"`
	}{
		p.ID, p.Title, p.Description, p.Category, p.MerchantName, p.ImageURL, p.DiscountText, p.Terms,
		(*wireTime)(p.ValidFrom), (*wireTime)(p.ValidTo), p.City, wireTime(p.CreatedAt), wireTime(p.UpdatedAt),
	}
}

// MarshalJSON writes the time as wireTime does.
func (r Redemption) MarshalJSON() ([]byte, error) { return EncodeJSON(r) }

func (r Redemption) wire() any {
	return struct {
		ID         string           `json:"id"`
		PerkID     string           `json:"perk_id"`
		UserID     string           `json:"user_id"`
		RedeemedAt wireTime         `json:"redeemed_at"`
		Status     RedemptionStatus `json:"status"`
		Metadata   json.RawMessage  `json:"metadata"`
	}{r.ID, r.PerkID, r.UserID, wireTime(r.RedeemedAt), r.Status, r.Metadata}
}

// MarshalJSON writes the time as wireTime does.
func (t Token) MarshalJSON() ([]byte, error) { return EncodeJSON(t) }

func (t Token) wire() any {
	return struct {
		AccessToken string   `json:"access_token"`
		ExpiresAt   wireTime `json:"expires_at"`
		TokenType   string   `json:"token_type,omitempty"`
		ExpiresIn   int      `json:"expires_in,omitempty"`
		Scope       string   `json:"scope,omitempty"`
	}{t.AccessToken, wireTime(t.ExpiresAt), t.TokenType, t.ExpiresIn, t.Scope}
}

// EncodeJSON is json.Marshal, but leaves < > & as they are: what is written here is never part of a page.
func EncodeJSON(value any) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(asWire(value))
	return bytes.TrimSuffix(buffer.Bytes(), []byte("\n")), err
}
