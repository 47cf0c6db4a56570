package api

import (
	"fmt"
	"regexp"
	"sync"
)

// Property is a rental listing.
type Property struct {
	ID          int64    `json:"propertyId"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Address     string   `json:"address"`
	City        string   `json:"city"`
	Postcode    string   `json:"postcode"`
	Images      []string `json:"images"`   // absolute http(s) URLs, never nil on the wire
	PricePW     Price    `json:"price_pw"` // per week
	Bedrooms    int      `json:"bedrooms"`
	Bathrooms   int      `json:"bathrooms"`
	Lat         *float64 `json:"lat"` // degrees
	Lng         *float64 `json:"lng"` // degrees
	Deposit     float64  `json:"deposit"`
}

// Message is the body of an answer that only confirms.
type Message struct {
	Message string `json:"message"`
}

// The confirmations of the property endpoints.
const (
	MessagePropertyUpdated = "Property successfully updated"
	MessagePropertyDeleted = "Property successfully deleted"
)

// Validate checks every rule that a whole property obeys, its id among them.
func (p *Property) Validate() error {
	fields := FieldErrors{}
	if p.ID <= 0 {
		fields.Add("propertyId", "must be a whole number above 0")
	}
	p.checkFields(fields)
	return fields.Err()
}

func (p *Property) checkFields(fields FieldErrors) {
	fields.check("title", textRule(p.Title, 1, maxTitle))
	fields.check("description", textRule(p.Description, 0, maxLongText))
	fields.check("address", textRule(p.Address, 0, maxAddress))
	fields.check("city", textRule(p.City, 0, maxShortText))
	fields.check("postcode", textRule(p.Postcode, 0, maxShortText))
	if len(p.Images) > MaxImages {
		fields.Add("images", "must be at most %d addresses", MaxImages)
	}
	for i, address := range p.Images {
		if problem := imageRule(address); problem != "" {
			fields.Add("images", "number %d %s", i+1, problem)
			break
		}
	}
	fields.check("bedrooms", roomsRule(int64(p.Bedrooms)))
	fields.check("bathrooms", roomsRule(int64(p.Bathrooms)))
	if p.Lat != nil {
		fields.check("lat", LatRule(*p.Lat))
	}
	if p.Lng != nil {
		fields.check("lng", LngRule(*p.Lng))
	}
	fields.check("deposit", finiteRule(p.Deposit))
}

var joinedURLs = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i),\s*https?://`) })

// imageRule tells several addresses in one entry from an address with a comma of its own: another one begins after it.
func imageRule(address string) string {
	if joinedURLs().MatchString(address) {
		return "must be one URL; send each in an entry of its own"
	}
	return URLRule(address)
}

func roomsRule(n int64) string {
	switch {
	case n < 0:
		return "must not be negative"
	case n > maxRooms:
		return fmt.Sprintf("must be at most %d", maxRooms)
	}
	return ""
}

func finiteRule(value float64) string {
	if value-value != 0 { // infinities and NaN
		return "must be a finite number"
	}
	return ""
}
