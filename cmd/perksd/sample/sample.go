// Package sample makes up believable perks, users and rental listings: any number of them, in constant memory, and the
// same ones whenever it is asked for the same.
//
// It knows what records look like and what people would write in them, and nothing of databases or of the command line.
package sample

import (
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
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
	lat = c.lat + d.NormFloat64()*degrees
	lng = c.lng + d.NormFloat64()*degrees/math.Cos(c.lat*math.Pi/180)
	return math.Round(lat*1e5) / 1e5, math.Round(lng*1e5) / 1e5
}

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
	dice := d.dice(perkStream, i)
	trade, place := pick(dice, trades), pick(dice, cities)
	merchant := pick(dice, merchantNames) + " " + pick(dice, trade.merchants)
	what, discount := pick(dice, trade.offers), pick(dice, discounts)
	id := fmt.Sprintf("demo-%06d", i)
	created := d.day().Add(-time.Duration(dice.between(1, 365*24*60)) * time.Minute)
	perk := store.PerkRecord{
		Perk: api.Perk{
			ID:           id,
			Title:        strings.ReplaceAll(pick(dice, titles), "{what}", what),
			Description:  fmt.Sprintf("%s %s at %s in %s. %s", discount, what, merchant, place.name, pick(dice, remarks)),
			Category:     maybe(dice, 5, trade.category),
			MerchantName: maybe(dice, 5, merchant),
			ImageURL:     maybe(dice, 30, "https://images.example/perks/"+id+".jpg"),
			DiscountText: maybe(dice, 20, discount),
			Terms:        maybe(dice, 40, pick(dice, terms)),
			City:         place.name,
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

// city is a place by its name and the middle of it, in degrees.
type city struct {
	name     string
	lat, lng float64
}

var cities = []city{
	{"Berlin", 52.5200, 13.4050},
	{"Hamburg", 53.5511, 9.9937},
	{"Munich", 48.1351, 11.5820},
	{"Vienna", 48.2082, 16.3738},
	{"Zürich", 47.3769, 8.5417},
	{"Amsterdam", 52.3676, 4.9041},
	{"Brussels", 50.8503, 4.3517},
	{"Paris", 48.8566, 2.3522},
	{"Lyon", 45.7640, 4.8357},
	{"London", 51.5072, -0.1276},
	{"Manchester", 53.4808, -2.2426},
	{"Edinburgh", 55.9533, -3.1883},
	{"Dublin", 53.3498, -6.2603},
	{"Madrid", 40.4168, -3.7038},
	{"Barcelona", 41.3874, 2.1686},
	{"Lisbon", 38.7223, -9.1393},
	{"Rome", 41.9028, 12.4964},
	{"Milan", 45.4642, 9.1900},
	{"Copenhagen", 55.6761, 12.5683},
	{"Stockholm", 59.3293, 18.0686},
	{"Oslo", 59.9139, 10.7522},
	{"Helsinki", 60.1699, 24.9384},
	{"Warsaw", 52.2297, 21.0122},
	{"Prague", 50.0755, 14.4378},
	{"Budapest", 47.4979, 19.0402},
	{"Athens", 37.9838, 23.7275},
	{"Istanbul", 41.0082, 28.9784},
	{"New York", 40.7128, -74.0060},
	{"Chicago", 41.8781, -87.6298},
	{"San Francisco", 37.7749, -122.4194},
	{"Toronto", 43.6532, -79.3832},
	{"Mexico City", 19.4326, -99.1332},
	{"São Paulo", -23.5505, -46.6333},
	{"Buenos Aires", -34.6037, -58.3816},
	{"Cape Town", -33.9249, 18.4241},
	{"Nairobi", -1.2921, 36.8219},
	{"Dubai", 25.2048, 55.2708},
	{"Mumbai", 19.0760, 72.8777},
	{"Singapore", 1.3521, 103.8198},
	{"Tokyo", 35.6762, 139.6503},
	{"Seoul", 37.5665, 126.9780},
	{"Sydney", -33.8688, 151.2093},
	{"Melbourne", -37.8136, 144.9631},
	{"Auckland", -36.8509, 174.7645},
	{"Suva", -18.1248, 178.4501},
}

var streets = []string{
	"Market Street", "Station Road", "Harbour Lane", "Mill Row", "Church Street", "Garden Avenue", "Bridge Street", "Park Road", "Canal Side",
	"Orchard Way", "Castle Hill", "Museum Square", "Linden Walk", "Tower Street", "Old Town Road", "River Terrace", "Library Street", "Hill View",
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
	dice := d.dice(propertyStream, id)
	place, home := pick(dice, cities), pick(dice, homes)
	bedrooms := dice.between(0, 5)
	perWeek := 120 + 90*bedrooms + dice.between(0, 200)
	p := api.Property{
		ID:          id,
		Title:       fmt.Sprintf("%s %s %s", pick(dice, homeQualities), home, pick(dice, homePlaces)),
		Description: fmt.Sprintf("A %s in %s. %s", home, place.name, pick(dice, homeRemarks)),
		Address:     fmt.Sprintf("%d %s", dice.between(1, 180), pick(dice, streets)),
		City:        place.name,
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

// trade is a line of business: its category, what its shops are called and what they offer.
type trade struct {
	category  string
	merchants []string
	offers    []string
}

var trades = []trade{
	{"Food & Drink", []string{"Roasters", "Kitchen", "Bakery", "Bistro", "Tea House", "Pizzeria", "Noodle Bar"},
		[]string{"filter coffee", "breakfast for two", "lunch of the day", "sourdough pizza", "afternoon tea", "a bowl of ramen", "fresh pastries", "a tasting menu"}},
	{"Wellness", []string{"Spa", "Baths", "Massage Studio", "Yoga Loft", "Float Centre"},
		[]string{"a deep massage", "a day pass to the sauna", "a yoga class", "an hour of floating", "a facial treatment"}},
	{"Fitness", []string{"Gym", "Boulder Hall", "Cycling Club", "Pool", "Boxing Room"},
		[]string{"a month of training", "a climbing session", "a spinning class", "ten swims", "a first lesson in boxing"}},
	{"Culture", []string{"Theatre", "Museum", "Gallery", "Concert Hall", "Opera"},
		[]string{"two tickets for the evening", "a guided tour", "the summer exhibition", "a matinee", "a season pass"}},
	{"Cinema", []string{"Cinema", "Picture House", "Film Palace"},
		[]string{"a ticket for any film", "a late showing", "popcorn and a drink", "a film for the family"}},
	{"Travel", []string{"Hotel", "Guest House", "Travel Agency", "Ferries", "Car Hire"},
		[]string{"a night with breakfast", "a weekend by the sea", "a day's car hire", "a harbour cruise", "a city walk"}},
	{"Fashion", []string{"Tailors", "Shoes", "Boutique", "Vintage Store", "Knitwear"},
		[]string{"a winter coat", "running shoes", "a linen shirt", "a repair of your jacket", "the new collection"}},
	{"Books", []string{"Bookshop", "Paper & Pens", "Comics"},
		[]string{"a hardback of your choice", "a reading with the author", "a fountain pen", "three paperbacks"}},
	{"Home", []string{"Furniture", "Ceramics", "Garden Centre", "Lamps"},
		[]string{"an oak table", "a set of bowls", "plants for the balcony", "a reading lamp", "a pottery workshop"}},
	{"Electronics", []string{"Electronics", "Camera Shop", "Phone Repair"},
		[]string{"a new phone battery", "noise-cancelling headphones", "a camera course", "a screen repair"}},
	{"Family", []string{"Zoo", "Toy Shop", "Adventure Park", "Aquarium"},
		[]string{"a day at the zoo", "a birthday party", "a wooden train", "a family ticket", "a children's workshop"}},
	{"Beauty", []string{"Hairdressers", "Barber", "Nail Bar", "Perfumery"},
		[]string{"a haircut", "a shave with hot towels", "a manicure", "a scent made for you"}},
}

var merchantNames = []string{
	"Golden", "Harbour", "Corner", "Little", "Old Town", "North", "River", "Lantern", "Copper", "Green Door", "Sunny Side", "Third Wave", "Blue Heron", "Maple",
	"Juniper", "Stone Bridge", "Paper Moon", "Red Fox", "Silver Birch", "Night Owl", "Velvet", "Saffron", "Cedar", "Urban", "Wild Rose", "Lighthouse", "Amber", "Ivy",
}

// titles get a capital once the offer is put in.
var titles = []string{
	"{what}, for less", "{what} on us", "treat yourself to {what}", "{what} for members", "{what}: this season's offer", "{what} on weekdays", "{what} with a friend",
}

var discounts = []string{"-10%", "-15%", "-20%", "-25%", "-30%", "-50%", "2 for 1", "3 for 2", "Free", "€5 off", "€10 off"}

var remarks = []string{
	"Show the code at the till.", "Book a day ahead, please.", "Walk in whenever we are open.", "A favourite of the neighbourhood.", "Ask for the quiet table.",
	"Children are welcome.", "Wheelchair access from the yard.", "We speak four languages.", "Every day but Monday.", "While it lasts.",
}

var terms = []string{
	"One for each person.", "Not together with other offers.", "Valid on weekdays only.", "Not valid on public holidays.", "Booking required.", "From a bill of €20.",
	"Show your membership when you arrive.",
}

var homes = []string{"flat", "loft", "house", "studio", "cottage", "maisonette", "penthouse", "garden flat"}

var homeQualities = []string{"Bright", "Quiet", "Spacious", "Modern", "Charming", "Sunny", "Renovated", "Airy", "Snug"}

var homePlaces = []string{"by the park", "near the station", "in the old town", "with a balcony", "over the roofs", "by the river", "with a garden", "close to the university"}

var homeRemarks = []string{
	"The kitchen is new, and the windows look over the yard.", "Five minutes to the tram.", "Pets are welcome.", "There is room for two bicycles in the cellar.",
	"The heating was renewed two years ago.", "Furnished, with everything that a household needs.", "A quiet house with kind neighbours.",
}
