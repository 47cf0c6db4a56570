package specserver

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// object is a JSON object before it is written.
type object map[string]any

// setText sets a text that may have no value.
func (f Freedoms) setText(to object, name, value string) {
	switch {
	case value != "":
		to[name] = value
	case f.Blanks == BlanksNull:
		to[name] = nil
	case f.Blanks == BlanksText:
		to[name] = ""
	}
}

// setNumber sets a number given by its decimal digits.
func (f Freedoms) setNumber(to object, name, digits string) {
	switch {
	case digits != "":
		to[name] = f.number(digits)
	case f.Blanks != BlanksAbsent:
		to[name] = nil
	}
}

func (f Freedoms) number(digits string) any {
	switch f.Numbers {
	case NumbersText:
		return digits
	case NumbersExponent:
		value, _ := strconv.ParseFloat(digits, 64)
		return json.RawMessage(strconv.FormatFloat(value, 'e', -1, 64))
	case NumbersFloat:
		if !strings.Contains(digits, ".") {
			digits += ".0"
		}
	}
	return json.RawMessage(digits)
}

func (f Freedoms) date(t time.Time) string {
	switch f.Dates {
	case DatesMillis:
		return t.UTC().Format("2006-01-02T15:04:05.000Z07:00")
	case DatesNanos:
		return t.UTC().Format(time.RFC3339Nano)
	case DatesOffset:
		return t.In(time.FixedZone("", 2*60*60)).Format(time.RFC3339)
	}
	return t.UTC().Format(time.RFC3339)
}

func (f Freedoms) perk(p perk) object {
	to := object{"id": p.id, "title": p.title, "description": "About " + p.title, "city": p.city,
		"created_at": f.date(p.created), "updated_at": f.date(p.created)}
	values := map[string]string{
		"category": p.category, "merchant_name": "Shop & Co", "image_url": "https://img.example/p.jpg",
		"discount_text": "-50%", "terms": "One each",
		"valid_from": f.date(p.created), "valid_to": f.date(p.created.AddDate(10, 0, 0)),
	}
	for name, value := range values {
		if p.isBare {
			value = ""
		}
		f.setText(to, name, value)
	}
	return f.withExtras(to)
}

func (f Freedoms) redemption(r Redemption) object {
	to := object{"id": r.ID, "perk_id": r.PerkID, "user_id": r.UserID, "redeemed_at": f.date(r.At), "status": r.Status}
	switch {
	case r.Metadata != nil:
		to["metadata"] = r.Metadata
	case f.Blanks == BlanksNull:
		to["metadata"] = nil
	case f.Blanks == BlanksText:
		to["metadata"] = object{}
	}
	return f.withExtras(to)
}

func (f Freedoms) property(id string, p *property) object {
	to := object{"propertyId": id}
	if f.PropertyIDs == PropertyIDsNumber {
		to["propertyId"] = json.RawMessage(id)
	}
	for _, name := range textFields {
		f.setText(to, name, p.fields[name])
	}
	for _, name := range numberFields {
		f.setNumber(to, name, p.fields[name])
	}
	switch {
	case f.Images == ImagesText:
		to["images"] = strings.Join(p.images, ",")
	case p.images != nil:
		to["images"] = p.images
	case f.Images == ImagesNull:
		to["images"] = nil
	default:
		to["images"] = []string{}
	}
	return f.withExtras(to)
}

func (f Freedoms) withExtras(to object) object {
	if f.ExtraFields {
		to["_links"] = object{"self": object{"href": "/somewhere"}}
		to["tags"], to["score"], to["object"], to["deleted_at"] = []string{"new"}, 4.5, "record", nil
	}
	return to
}

// record is a single record as a whole body.
func (f Freedoms) record(to object) any {
	if f.Wrapped {
		return object{"data": to}
	}
	return to
}

func encode(value any) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err) // metadata and numbers are valid when they come here
	}
	return out.Bytes()
}
