package api

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Perk is an offer that a partner's users can redeem.
type Perk struct {
	ID           string     `json:"id"`
	Title        string     `json:"title"`
	Description  string     `json:"description"`
	Category     *string    `json:"category"`
	MerchantName *string    `json:"merchant_name"`
	ImageURL     *string    `json:"image_url"`
	DiscountText *string    `json:"discount_text"`
	Terms        *string    `json:"terms"`
	ValidFrom    *time.Time `json:"valid_from"`
	ValidTo      *time.Time `json:"valid_to"`
	City         string     `json:"city"`
	CreatedAt    time.Time  `json:"created_at"`
	UpdatedAt    time.Time  `json:"updated_at"`
}

// MarshalJSON writes the times as wireTime does.
func (p Perk) MarshalJSON() ([]byte, error) { return EncodeJSON(p) }

// wire repeats City to keep the order of the members.
func (p Perk) wire() any {
	type fields Perk
	return struct {
		fields
		ValidFrom *wireTime `json:"valid_from"`
		ValidTo   *wireTime `json:"valid_to"`
		City      string    `json:"city"`
		CreatedAt wireTime  `json:"created_at"`
		UpdatedAt wireTime  `json:"updated_at"`
	}{fields(p), (*wireTime)(p.ValidFrom), (*wireTime)(p.ValidTo), p.City, wireTime(p.CreatedAt), wireTime(p.UpdatedAt)}
}

// Category is a group of perks. A perk's Category field holds the name, not the id.
type Category struct {
	ID   string `json:"id"`
	Name string `json:"category_name"`
}

// Validate checks the rules of a category's fields.
func (c *Category) Validate() error {
	fields := FieldErrors{}
	fields.check("id", PerkIDRule(c.ID))
	fields.check("category_name", textRule(c.Name, 1, maxShortText))
	return fields.Err()
}

// The bounds of a page.
const (
	DefaultPerPage = 25
	MaxPerPage     = 100
	MaxPage        = 1 << 62 // more than any list has
)

// HeaderDistances is the header with the distances of the perks on a page, in kilometres. They are not in the body
// because a perk's position is not.
const HeaderDistances = "X-Distances"

// HeaderCentre is the header with the middle of the positions of the perks on a page, such as 52.52,13.405. The first
// page of MaxPerPage perks of a city has it, so that clients know where the city is.
const HeaderCentre = "X-Centre"

// The headers of a list of redemptions. HeaderSearched names the keys of metadata that are searched, separated by
// commas; it is absent if none is. HeaderIndexed is there while a list by metadata may lack redemptions, because their
// metadata is still being indexed: how much is, in percent.
const (
	HeaderSearched = "X-Searched-Metadata"
	HeaderIndexed  = "X-Metadata-Indexed"
)

// Page is one page of a list: the body of every paginated response.
type Page[T any] struct {
	Data []T      `json:"data"` // never nil on the wire
	Meta PageMeta `json:"meta"`

	DistancesKM []float64 `json:"-"` // of perks from the position that was asked for, from HeaderDistances
	Centre      *Point    `json:"-"` // from HeaderCentre; nil if that is not known
	Near        string    `json:"-"` // what the service calls the place that was asked for by its name; "" if none was
	LeftOut     []string  `json:"-"` // the ids of items that came, but are of another kind than was asked for
	Searched    []string  `json:"-"` // the keys of metadata that are searched, from HeaderSearched
	Incomplete  string    `json:"-"` // why redemptions may be missing, from HeaderIndexed; "" if none is
	// the address of the page after this one, from the Link header; "" if none is known
	Next string `json:"-"`
}

// PageMeta is a page's position in its list. TotalPages is 0 when the list is empty.
type PageMeta struct {
	Page       int64 `json:"page"` // from 1
	PerPage    int   `json:"per_page"`
	Total      int64 `json:"total"`
	TotalPages int64 `json:"total_pages"`
	// instead of Total and TotalPages, which are then null: how many were counted
	MoreThan int64 `json:"more_than,omitempty"`
}

// MarshalJSON writes null for a total that is not known.
func (m PageMeta) MarshalJSON() ([]byte, error) {
	type fields PageMeta
	if m.MoreThan == 0 {
		return json.Marshal(fields(m))
	}
	return json.Marshal(struct {
		fields
		Total      *int64 `json:"total"`
		TotalPages *int64 `json:"total_pages"`
	}{fields: fields(m)})
}

// UnmarshalJSON also reads numbers that are texts, such as "130", as some services write them.
func (m *PageMeta) UnmarshalJSON(text []byte) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return err
	}
	var perPage int64
	for name, into := range map[string]*int64{
		"page": &m.Page, "per_page": &perPage, "total": &m.Total,
		"total_pages": &m.TotalPages, "more_than": &m.MoreThan,
	} {
		value := Value{json: members[name]}
		if len(value.json) == 0 || value.IsNull() {
			continue
		}
		if problem := value.Int(into); problem != "" {
			return fmt.Errorf("meta.%s %s", name, problem)
		}
	}
	m.PerPage = int(perPage)
	return nil
}

// NewPageMeta calculates the number of pages.
func NewPageMeta(page int64, perPage int, total int64) PageMeta {
	pages := total / int64(perPage)
	if total%int64(perPage) > 0 {
		pages++
	}
	return PageMeta{Page: page, PerPage: perPage, Total: total, TotalPages: pages}
}

// SortKey is one field of an order, ascending unless Desc.
type SortKey struct {
	Field string
	Desc  bool
}

// MaxSortKeys is the most fields that an order can name.
const MaxSortKeys = 4

// The sort fields of perks that are not fields of a perk. Distance needs a position. Relevance needs words: perks whose
// titles contain all of them come first.
const (
	SortDistance  = "distance"
	SortRelevance = "relevance"
)

// PerkSortFields returns the fields that perks can be sorted by: all of a perk, the distance, and the relevance.
func PerkSortFields() []string {
	return []string{
		"id", "title", "description", "category", "merchant_name", "image_url", "discount_text", "terms", "valid_from",
		"valid_to",
		"city", "created_at", "updated_at", SortDistance, SortRelevance,
	}
}

// RedemptionSortFields returns the fields that a user's redemptions can be sorted by: all but metadata, which is an
// object, and the fields of the redeemed perks. created_at and updated_at are the redemption's: when it was made, and
// when it was made or decided.
func RedemptionSortFields() []string {
	ofPerks := slices.DeleteFunc(PerkSortFields(), func(field string) bool {
		return slices.Contains([]string{"id", SortDistance, SortRelevance}, field)
	})
	return append([]string{"id", "perk_id", "user_id", "redeemed_at", "status"}, ofPerks...)
}

// RedemptionRecordSortFields returns the fields that all redemptions can be sorted by.
func RedemptionRecordSortFields() []string { return []string{"redeemed_at"} }

// PropertySortFields returns the fields that listings can be sorted by, one at a time.
func PropertySortFields() []string { return []string{"propertyId", "price_pw", "bedrooms"} }

// ParseSort reads comma-separated field names such as "title,-created_at", where "-" means descending. A leading "+"
// and a trailing comma are accepted. The empty text returns no keys.
func ParseSort(text string, allowed []string) ([]SortKey, error) {
	if text == "" {
		return nil, nil
	}
	names := strings.Split(text, ",")
	if last := len(names) - 1; last > 0 && strings.Trim(names[last], " ") == "" {
		names = names[:last]
	}
	if len(names) > MaxSortKeys {
		return nil, fmt.Errorf("must name at most %d fields", MaxSortKeys)
	}
	var keys []SortKey
	for _, name := range names {
		field, desc := strings.CutPrefix(strings.Trim(name, " "), "-")
		if !desc {
			field = strings.TrimPrefix(field, "+")
		}
		if !slices.Contains(allowed, field) {
			return nil, fmt.Errorf("cannot sort by %q; the fields are %s", field, strings.Join(allowed, ", "))
		}
		if slices.ContainsFunc(keys, func(k SortKey) bool { return k.Field == field }) {
			return nil, fmt.Errorf("names %q twice", field)
		}
		keys = append(keys, SortKey{Field: field, Desc: desc})
	}
	return keys, nil
}

// FormatSort is the inverse of ParseSort.
func FormatSort(keys []SortKey) string {
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = key.Field
		if key.Desc {
			names[i] = "-" + key.Field
		}
	}
	return strings.Join(names, ",")
}

// Point is a position in degrees.
type Point struct{ Lat, Lng float64 }

// String writes a point to a metre, as ParsePoint reads it.
func (p Point) String() string {
	const metre = 1e5 // parts of a degree
	return decimal(math.Round(p.Lat*metre)/metre) + "," + decimal(math.Round(p.Lng*metre)/metre)
}

// ParsePoint reads a point such as 52.52,13.405; nil if the text is none.
func ParsePoint(text string) *Point {
	var f PerkFilter
	if problem := setPoint(&f, text); problem != "" || f.Near == nil || f.Near.Name != "" {
		return nil
	}
	return &Point{f.Near.Lat, f.Near.Lng}
}

// Middle returns the middle of points on the globe; nil without points, and if they have none, being all around it.
func Middle(points []Point) *Point {
	var x, y, z float64
	for _, p := range points {
		lat, lng := p.Lat*math.Pi/180, p.Lng*math.Pi/180
		x, y, z = x+math.Cos(lat)*math.Cos(lng), y+math.Cos(lat)*math.Sin(lng), z+math.Sin(lat)
	}
	if math.Hypot(math.Hypot(x, y), z) < 1e-9 {
		return nil
	}
	return &Point{math.Atan2(z, math.Hypot(x, y)) * 180 / math.Pi, math.Atan2(y, x) * 180 / math.Pi}
}
