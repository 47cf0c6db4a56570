package specserver

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// Record is what a server has really done, in order. Tests read it as the judge of what a client says.
type Record struct {
	Requests    []Request
	Redemptions []Redemption
	Changes     []Change
	Tokens      []Token
}

// Request is a request that came.
type Request struct {
	Number       int    // from 1
	Method, Path string // the path is escaped
	Query        url.Values
	Header       http.Header
	Body         string
	Fault        *Fault // that struck it
	Status       int    // of the response; 0 if none was sent
}

// Redemption is a redemption that was made.
type Redemption struct {
	ID, PerkID, UserID string
	Metadata           json.RawMessage // as it came; nil if none did
	At                 time.Time       // by the server's clock
	Status             string
	Request            int // the number of the request that made it; 0 if none did
}

// Change is an update or a deletion that was made.
type Change struct {
	PropertyID string
	Deleted    bool
	Fields     map[string]string // after an update, what it has set; "" is a field without a value
	At         time.Time
	Request    int
}

// Token is a token that was issued.
type Token struct {
	Value   string
	Until   time.Time
	Request int
	Uses    int
}

// Record returns a copy of what was done until now.
func (s *Server) Record() Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Record{
		Requests: slices.Clone(s.record.Requests), Redemptions: slices.Clone(s.record.Redemptions),
		Changes: slices.Clone(s.record.Changes), Tokens: slices.Clone(s.record.Tokens),
	}
}

// Redeemed returns the redemptions of a perk by a user.
func (r Record) Redeemed(perkID, userID string) (made []Redemption) {
	for _, redemption := range r.Redemptions {
		if redemption.PerkID == perkID && redemption.UserID == userID {
			made = append(made, redemption)
		}
	}
	return made
}

// Asked counts the requests that a Fault.Request of this text matches.
func (r Record) Asked(pattern string) (count int) {
	for _, request := range r.Requests {
		if matches(pattern, request) {
			count++
		}
	}
	return count
}

// What a server has at first.
const (
	Perks      = 130 // more than one page can hold
	Users      = 40
	Properties = 6 // the last one belongs to another client

	ClientID     = "partner 7"
	ClientSecret = "s/cr+t%41=" // #nosec G101 -- of a test server; every character counts
)

var idForms = map[IDs]string{
	IDsPlain: "%s-%03d", IDsSlash: "%s/%03d", IDsPercent: "%s%%2F%03d", IDsUnicode: "%s-%03d-é☕",
}

// PerkID returns the id of the n-th perk, from 1.
func (f Freedoms) PerkID(n int) string { return fmt.Sprintf(idForms[f.IDs], "perk", n) }

// UserID returns the id of the n-th user, from 1.
func (f Freedoms) UserID(n int) string { return fmt.Sprintf(idForms[f.IDs], "user", n) }

// PropertyID returns the id of the n-th property, from 1.
func (f Freedoms) PropertyID(n int) string {
	if f.PropertyIDs == PropertyIDsWords {
		return fmt.Sprintf("7f3c/%d", n)
	}
	return strconv.Itoa(n)
}

// Title returns the title of the n-th perk.
func Title(n int) string { return fmt.Sprintf("Offer %03d, half price", n) }

var categories = []string{"Food", "Arts & Crafts", "Sport"}

type perk struct {
	id, title, city, category string
	created                   time.Time
	isBare                    bool // without what the specification lets be null
}

// property has the decimal digits of its numbers, "" for those without a value.
type property struct {
	fields  map[string]string
	images  []string
	version int
	isOurs  bool
}

var (
	textFields   = []string{"title", "description", "address", "city", "postcode"}
	numberFields = []string{"price_pw", "bedrooms", "bathrooms", "lat", "lng", "deposit"}
)

func (s *Server) fill() {
	for n := range Perks {
		s.perks = append(s.perks, perk{
			id: s.PerkID(n + 1), title: Title(n + 1), city: []string{"York", "Leeds"}[n%2], category: categories[n%3],
			created: s.now().Add(-time.Duration(n) * time.Hour), isBare: n%3 == 1,
		})
	}
	for n := range Users {
		s.users[s.UserID(n+1)] = true
	}
	for n := 1; n <= Properties; n++ {
		p := &property{
			version: 1, isOurs: n < Properties,
			images: []string{"https://img.example/a.jpg", "https://img.example/b.jpg"},
			fields: map[string]string{
				"title": fmt.Sprintf("Flat %d", n), "description": "Two rooms", "address": "1 High Street",
				"city": "York", "postcode": "YO1", "price_pw": "250.50", "bedrooms": "2", "bathrooms": "1",
				"lat": "53.96", "lng": "-1.08", "deposit": "500",
			},
		}
		if n%2 == 0 {
			maps.Copy(p.fields, map[string]string{"description": "", "lat": "", "lng": "", "deposit": "0"})
			p.images = nil
		}
		s.properties[s.PropertyID(n)] = p
	}
}

// Property returns a field of a property as it is now, and whether the property exists.
func (s *Server) Property(id, field string) (value string, exists bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, exists := s.properties[id]
	if !exists {
		return "", false
	}
	return p.fields[field], true
}
