package client

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"example.com/perks/api"
)

// placeLife is how long a place stays where it was found, so that all pages of a list are measured from one point.
const placeLife = time.Minute

// place is where a name leads: a city, or a perk.
type place struct {
	api.Point
	name  string // as the service spells it
	found time.Time
}

// noPlace says that a name leads nowhere.
type noPlace struct{ err *api.Error }

func (n *noPlace) Error() string { return n.err.Error() }
func (n *noPlace) Unwrap() error { return n.err }

// IsNoPlace tells whether an error says that no perk has a position where the filter of a list names a place.
func IsNoPlace(err error) bool { return errors.As(err, new(*noPlace)) }

// near returns the pages of perks that a filter selects. If the filter names a place, that is looked up first.
func (c *Client) near(
	ctx context.Context, filter api.PerkFilter, options ListOptions, pages func(api.PerkFilter) Pages[api.Perk],
) Pages[api.Perk] {
	if filter.Near == nil || filter.Near.Name == "" || options.Next != "" {
		return pages(filter)
	}
	return func(yield func(api.Page[api.Perk], error) bool) {
		at, err := c.place(ctx, filter.Near.Name)
		if err != nil {
			yield(api.Page[api.Perk]{}, err)
			return
		}
		filter.Near = &api.Circle{Lat: at.Lat, Lng: at.Lng, RadiusKM: filter.Near.RadiusKM}
		for page, err := range pages(filter) {
			if page.Near = at.name; !yield(page, err) {
				return
			}
		}
	}
}

// place returns where a city is, or else a perk with that id.
func (c *Client) place(ctx context.Context, name string) (place, error) {
	if known, ok := c.seen.places.Load(name); ok && c.Now().Sub(known.(place).found) < placeLife {
		return known.(place), nil
	}
	at, isCity, err := c.city(ctx, name)
	if err == nil && !isCity && api.PerkIDRule(name) == "" {
		at, err = c.placeOfPerk(ctx, name)
	}
	switch {
	case err != nil:
		return place{}, err
	case at.name == "":
		return place{}, &noPlace{api.Errorf(api.CodeNotFound, "No perk in %s has a position. Use numbers: 52.52,13.405.",
			name)}
	}
	at.found = c.Now()
	c.seen.places.Store(name, at)
	return at, nil
}

// city returns the middle of the perks of a city on the first page; without a name if none has a position. isCity says
// that the city has perks.
func (c *Client) city(ctx context.Context, name string) (at place, isCity bool, err error) {
	// A service may show positions that our own only adds up.
	type located struct {
		api.Perk
		Lat *float64 `json:"lat"`
		Lng *float64 `json:"lng"`
	}
	call, err := c.listCall(c.perksPath(""), api.PerkFilter{City: name, IncludeExpired: true}.Values(),
		ListOptions{Page: 1, PerPage: api.MaxPerPage})
	page, err := onePage(walk[located](ctx, c, call, err))
	if err != nil {
		return place{}, false, err
	}
	var points []api.Point
	city := ""
	for _, perk := range page.Data {
		if page.Centre == nil && !strings.EqualFold(strings.TrimSpace(perk.City), name) {
			continue // the service ignores the filter
		}
		if city = cmp.Or(city, perk.City); perk.Lat != nil && perk.Lng != nil {
			points = append(points, api.Point{Lat: *perk.Lat, Lng: *perk.Lng})
		}
	}
	if middle := cmp.Or(page.Centre, api.Middle(points)); middle != nil {
		at = place{Point: *middle, name: city}
	}
	return at, city != "", nil
}

// placeOfPerk returns where a perk is, or if the service does not show that, its city.
func (c *Client) placeOfPerk(ctx context.Context, id string) (at place, err error) {
	perk, _, err := c.PerkSeen(ctx, id)
	switch {
	case IsNotFound(err):
		return place{}, nil
	case err != nil:
		return place{}, err
	case perk.Lat != nil && perk.Lng != nil:
		return place{Point: api.Point{Lat: *perk.Lat, Lng: *perk.Lng}, name: perk.ID}, nil
	}
	at, _, err = c.city(ctx, perk.City)
	return at, err
}
