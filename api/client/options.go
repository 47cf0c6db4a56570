package client

import (
	"net/url"
	"strconv"
)

// ListOptions says which page of a list, in which order. Zero values leave the choice to the server.
type ListOptions struct {
	Page    int64  // from 1
	PerPage int    // 1 to api.MaxPerPage
	Sort    string // comma-separated fields, a leading "-" for descending
}

// PerkListOptions says which perks. Zero values filter nothing.
type PerkListOptions struct {
	ListOptions
	Query          string // words, each the beginning of one in title, merchant or description
	Category       string // name or id
	City           string
	Near           *Point
	RadiusKM       float64 // with Near; zero is the server's default
	IncludeExpired bool
}

// Point is a position in degrees.
type Point struct{ Lat, Lng float64 }

func (o ListOptions) values() url.Values {
	query := url.Values{}
	if o.Page != 0 {
		query.Set("page", strconv.FormatInt(o.Page, 10))
	}
	if o.PerPage != 0 {
		query.Set("per_page", strconv.Itoa(o.PerPage))
	}
	setText(query, "sort", o.Sort)
	return query
}

func (o PerkListOptions) values() url.Values {
	query := o.ListOptions.values()
	setText(query, "q", o.Query)
	setText(query, "category", o.Category)
	setText(query, "city", o.City)
	if o.Near != nil {
		query.Set("lat", decimal(o.Near.Lat))
		query.Set("lng", decimal(o.Near.Lng))
	}
	if o.RadiusKM != 0 {
		query.Set("radius", decimal(o.RadiusKM))
	}
	if o.IncludeExpired {
		query.Set("include_expired", "true")
	}
	return query
}

func setText(query url.Values, name, text string) {
	if text != "" {
		query.Set(name, text)
	}
}

func decimal(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
