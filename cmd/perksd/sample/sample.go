// Package sample makes up believable perks, users and rental listings: any number of them, in constant memory, and the
// same ones whenever it is asked for the same.
//
// It knows what records look like and what people would write in them, and nothing of databases or of the command line.
package sample

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
)

// Data is one world of sample records. Seed chooses among worlds. Day is the day that the world's dates lie around, so
// that some perks are over by then and some are yet to start.
type Data struct {
	Seed uint64
	Day  time.Time
}

// Users yields n users: alice, bob, then u-000001 and so on.
func (d Data) Users(n int64) iter.Seq2[store.User, error] {
	named := []store.User{{ID: "alice"}, {ID: "bob"}}
	return sequence(n, named, func(i int64) store.User { return store.User{ID: fmt.Sprintf("u-%06d", i)} })
}

// sequence yields n records, first those that are named and then those that are generated, from 1.
func sequence[R any](n int64, named []R, generate func(i int64) R) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		for i := range n {
			var record R
			if i < int64(len(named)) {
				record = named[i]
			} else {
				record = generate(i - int64(len(named)) + 1)
			}
			if !yield(record, nil) {
				return
			}
		}
	}
}

// dice decides one record. Every record has dice of its own, so that it does not depend on how many others are made.
type dice struct{ *rand.Rand }

// Streams keep the dice of different kinds of record apart.
const (
	perkStream uint64 = iota << 56
	propertyStream
)

func (d Data) dice(stream uint64, i int64) dice {
	return dice{rand.New(rand.NewPCG(d.Seed, stream|uint64(i)))} // #nosec G115 G404 -- sample data are made to be the same again, and count from zero
}

// day is the start of the world's day.
func (d Data) day() time.Time { return d.Day.UTC().Truncate(24 * time.Hour) }

// chance is true in so many of a hundred cases.
func (d dice) chance(percent int) bool { return d.IntN(100) < percent }

// between is a whole number from low to high, both among them.
func (d dice) between(low, high int) int { return low + d.IntN(high-low+1) }

func pick[T any](d dice, from []T) T { return from[d.IntN(len(from))] }

// maybe is the value, or nil in so many of a hundred cases.
func maybe[T any](d dice, nilPercent int, value T) *T {
	if d.chance(nilPercent) {
		return nil
	}
	return &value
}

// near is a point a few kilometres from the middle of the city, most often less than five, to a metre.
func (d dice) near(c city) (lat, lng float64) {
	const degrees = 0.025 // of latitude, about 2.8 km
	lat = c.Lat + d.NormFloat64()*degrees
	lng = c.Lng + d.NormFloat64()*degrees/math.Cos(c.Lat*math.Pi/180)
	return math.Round(lat*1e5) / 1e5, math.Round(lng*1e5) / 1e5
}

//go:embed words.json
var wordsFile []byte

// city is a place by its name and the middle of it, in degrees.
type city struct {
	Name     string
	Lat, Lng float64
}

// words is what records are made of. Titles get a capital once the offer is put in.
type words struct {
	Cities []city
	Trades []struct {
		Category          string
		Merchants, Offers []string
	}
	Streets, MerchantNames, Titles, Discounts, Remarks, Terms []string
	Homes, HomeQualities, HomePlaces, HomeRemarks             []string
}

// vocabulary is the words of words.json; the tests read them.
var vocabulary = sync.OnceValue(func() (w words) {
	if err := json.Unmarshal(wordsFile, &w); err != nil {
		panic(err)
	}
	return w
})

// Perks yields n perks: coffee-2for1, which anyone can redeem, spa-day, which an operator approves, last-ticket, of which
// there is one, and then demo-000001 and so on: in many cities and categories, most of them valid, some over, some yet to
// start, some without a position or a category, some with little stock.
func (d Data) Perks(n int64) iter.Seq2[store.PerkRecord, error] {
	return sequence(n, d.namedPerks(), d.perk)
}

func (d Data) namedPerks() []store.PerkRecord {
	day := d.day()
	from, to, one := day.AddDate(0, -1, 0), day.AddDate(1, 0, 0), int64(1)
	perk := func(id, title, description, category, merchant, discount string, lat, lng float64) store.PerkRecord {
		return store.PerkRecord{
			Perk: api.Perk{
				ID: id, Title: title, Description: description, City: "Berlin",
				Category: &category, MerchantName: &merchant, DiscountText: &discount,
				ValidFrom: &from, ValidTo: &to, CreatedAt: from, UpdatedAt: from,
			},
			Lat: &lat, Lng: &lng, Approval: store.ApprovalAuto,
		}
	}
	coffee := perk("coffee-2for1", "Two coffees for one", "Bring a friend: the second coffee is on us, any size, any day.",
		"Food & Drink", "Corner Roast", "2 for 1", 52.5200, 13.4050)
	spa := perk("spa-day", "A day at the spa", "Pools, three saunas and a robe for the day. We confirm each booking by hand.",
		"Wellness", "Quiet Waters", "-40%", 52.5290, 13.4010)
	spa.Approval = store.ApprovalManual
	ticket := perk("last-ticket", "The last ticket for tonight", "One seat in the front row. Whoever is first has it.",
		"Culture", "Lantern Theatre", "Free", 52.5240, 13.3880)
	ticket.Stock = &one
	return []store.PerkRecord{coffee, spa, ticket}
}

func (d Data) perk(i int64) store.PerkRecord {
	words := vocabulary()
	dice := d.dice(perkStream, i)
	trade, place := pick(dice, words.Trades), pick(dice, words.Cities)
	merchant := pick(dice, words.MerchantNames) + " " + pick(dice, trade.Merchants)
	what, discount := pick(dice, trade.Offers), pick(dice, words.Discounts)
	id := fmt.Sprintf("demo-%06d", i)
	created := d.day().Add(-time.Duration(dice.between(1, 365*24*60)) * time.Minute)
	perk := store.PerkRecord{
		Perk: api.Perk{
			ID:           id,
			Title:        strings.ReplaceAll(pick(dice, words.Titles), "{what}", what),
			Description:  fmt.Sprintf("%s %s at %s in %s. %s", discount, what, merchant, place.Name, pick(dice, words.Remarks)),
			Category:     maybe(dice, 5, trade.Category),
			MerchantName: maybe(dice, 5, merchant),
			ImageURL:     maybe(dice, 30, "https://images.example/perks/"+id+".jpg"),
			DiscountText: maybe(dice, 20, discount),
			Terms:        maybe(dice, 40, pick(dice, words.Terms)),
			City:         place.Name,
			CreatedAt:    created,
			UpdatedAt:    created.Add(time.Duration(dice.between(0, 60*24)) * time.Second),
		},
		Approval: store.ApprovalAuto,
	}
	perk.Title = strings.ToUpper(perk.Title[:1]) + perk.Title[1:]
	perk.ValidFrom, perk.ValidTo = d.dates(dice)
	if lat, lng := dice.near(place); dice.chance(90) {
		perk.Lat, perk.Lng = &lat, &lng
	}
	if dice.chance(25) {
		stock := int64(dice.between(1, 500))
		perk.Stock = &stock
	}
	if dice.chance(15) {
		perk.Approval = store.ApprovalManual
	}
	return perk
}

// dates has one perk in ten over and one in ten not begun.
func (d Data) dates(dice dice) (from, to *time.Time) {
	at := func(low, high int) *time.Time {
		t := d.day().AddDate(0, 0, dice.between(low, high))
		return &t
	}
	switch n := dice.IntN(100); {
	case n < 10:
		return at(-300, -60), at(-50, -1)
	case n < 20:
		return at(2, 60), at(90, 400)
	case n < 40:
		return nil, nil
	case n < 50:
		return at(-200, -1), nil
	}
	return at(-200, -1), at(10, 400)
}

// Properties yields n listings that belong to the client: property 1, which is the same in every world, and then 2 and
// so on.
func (d Data) Properties(n int64, owner string) iter.Seq2[store.PropertyRecord, error] {
	lat, lng := 52.5145, 13.4180
	first := store.PropertyRecord{
		Property: api.Property{
			ID: 1, Title: "Sunny loft by the canal", Description: "Two rooms under the roof, with a view over the water. Five minutes to the tram.",
			Address: "12 Canal Side", City: "Berlin", Postcode: "10179",
			Images:   []string{"https://images.example/properties/1-1.jpg", "https://images.example/properties/1-2.jpg"},
			PricePW:  price("395.00"),
			Bedrooms: 1, Bathrooms: 1, Lat: &lat, Lng: &lng, Deposit: 1580,
		},
		Owner: owner,
	}
	return sequence(n, []store.PropertyRecord{first}, func(i int64) store.PropertyRecord {
		return store.PropertyRecord{Property: d.property(i + 1), Owner: owner}
	})
}

func (d Data) property(id int64) api.Property {
	words := vocabulary()
	dice := d.dice(propertyStream, id)
	place, home := pick(dice, words.Cities), pick(dice, words.Homes)
	bedrooms := dice.between(0, 5)
	perWeek := 120 + 90*bedrooms + dice.between(0, 200)
	p := api.Property{
		ID:          id,
		Title:       fmt.Sprintf("%s %s %s", pick(dice, words.HomeQualities), home, pick(dice, words.HomePlaces)),
		Description: fmt.Sprintf("A %s in %s. %s", home, place.Name, pick(dice, words.HomeRemarks)),
		Address:     fmt.Sprintf("%d %s", dice.between(1, 180), pick(dice, words.Streets)),
		City:        place.Name,
		Postcode:    strconv.Itoa(dice.between(10000, 99999)),
		Images:      []string{},
		PricePW:     price(fmt.Sprintf("%d.%s", perWeek, pick(dice, []string{"00", "50", "95"}))),
		Bedrooms:    bedrooms,
		Bathrooms:   1 + bedrooms/3,
		Deposit:     float64(perWeek * dice.between(0, 6)),
	}
	for n := range dice.between(0, 4) {
		p.Images = append(p.Images, fmt.Sprintf("https://images.example/properties/%d-%d.jpg", id, n+1))
	}
	if lat, lng := dice.near(place); dice.chance(90) {
		p.Lat, p.Lng = &lat, &lng
	}
	return p
}

// price takes digits that are written in this package; the tests read every form of them.
func price(digits string) api.Price {
	p, err := api.ParsePrice(digits)
	if err != nil {
		panic(err)
	}
	return p
}
