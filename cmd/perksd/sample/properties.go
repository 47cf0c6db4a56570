package sample

import (
	"fmt"
	"iter"
	"strconv"

	"example.com/perks/api"
	"example.com/perks/store"
)

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
