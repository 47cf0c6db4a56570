package sample

import (
	"fmt"
	"iter"
	"strings"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
)

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
