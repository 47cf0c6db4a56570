package property

import (
	"encoding/json"
	"errors"
	"strings"

	"example.com/perks/api"
	"example.com/perks/tui/widget"
)

// field is how people meet one field of a property.
type field struct {
	name  string // on the wire
	label string
	word  string // within a sentence
	hint  string
	lines bool // it has several lines
	trim  bool // blanks around it do not count
	none  string
}

// fields are those that can be changed, in the order of the form.
func fields() []field {
	const empty, none = "(empty)", "(none)"
	return []field{
		{name: "title", label: "Title", word: "title", hint: "what guests read first", none: empty},
		{name: "description", label: "Description", word: "description", lines: true, none: empty},
		{name: "address", label: "Address", word: "address", hint: "street and number", none: empty},
		{name: "city", label: "City", word: "city", none: empty},
		{name: "postcode", label: "Postcode", word: "postcode", none: empty},
		{name: "images", label: "Images, one per line", word: "images", hint: "addresses such as https://example.com/1.jpg", lines: true, trim: true, none: none},
		{name: "price_pw", label: "Price per week", word: "price per week", hint: "such as 120.50", trim: true, none: none},
		{name: "bedrooms", label: "Bedrooms", word: "bedrooms", hint: "such as 2", trim: true, none: none},
		{name: "bathrooms", label: "Bathrooms", word: "bathrooms", hint: "such as 1", trim: true, none: none},
		{name: "lat", label: "Latitude", word: "latitude", hint: "degrees, such as 53.8; empty for none", trim: true, none: none},
		{name: "lng", label: "Longitude", word: "longitude", hint: "degrees, such as -1.55; empty for none", trim: true, none: none},
		{name: "deposit", label: "Deposit", word: "deposit", hint: "such as 500", trim: true, none: none},
	}
}

func fieldNamed(name string) field {
	for _, f := range fields() {
		if f.name == name {
			return f
		}
	}
	return field{name: name, label: name, word: name}
}

// kind is the kind of the field in a form.
func (f field) kind() widget.Kind {
	if f.lines {
		return widget.Text
	}
	return widget.Line
}

// caption is the label where the field is not being filled in.
func (f field) caption() string {
	if f.name == "images" {
		return "Images"
	}
	return f.label
}

// textOf writes a field of a property as a person edits it. Nothing is lost on the way: digits stay as they are, numbers are
// as short as they can be, no position is the empty text, and each image has a line.
func textOf(p api.Property, name string) string {
	switch name {
	case "title":
		return p.Title
	case "description":
		return p.Description
	case "address":
		return p.Address
	case "city":
		return p.City
	case "postcode":
		return p.Postcode
	case "images":
		return strings.Join(p.Images, "\n")
	case "price_pw":
		return p.PricePW.String()
	case "bedrooms":
		return number(p.Bedrooms)
	case "bathrooms":
		return number(p.Bathrooms)
	case "lat":
		return position(p.Lat)
	case "lng":
		return position(p.Lng)
	case "deposit":
		return number(p.Deposit)
	}
	return ""
}

// number writes a number as JSON does: with the fewest digits that mean the same.
func number[T int | float64](n T) string {
	text, _ := json.Marshal(n) // an infinite number has no text, and cannot have come
	return string(text)
}

func position(degrees *float64) string {
	if degrees == nil {
		return ""
	}
	return number(*degrees)
}

// member is what a text of textOf's kind is to the contract.
func member(f field, text string) api.Member {
	if f.name == "images" {
		images := []string{}
		for line := range strings.SplitSeq(text, "\n") {
			if line = strings.TrimSpace(line); line != "" {
				images = append(images, line)
			}
		}
		array, _ := json.Marshal(images) // strings always marshal
		return api.Member{Name: f.name, Value: api.TextValue(string(array))}
	}
	if f.trim {
		text = strings.TrimSpace(text)
	}
	return api.Member{Name: f.name, Value: api.TextValue(text)}
}

// problemWith says what the contract has against a text, "" for nothing.
func problemWith(f field, text string) string {
	_, err := api.ParsePropertyPatch([]api.Member{member(f, text)})
	var invalid *api.Error
	if errors.As(err, &invalid) {
		return strings.Join(invalid.Fields[f.name], ", ")
	}
	return ""
}

// words lists fields for a sentence.
func words(names []string) string {
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = fieldNamed(name).word
	}
	return strings.Join(list, ", ")
}
