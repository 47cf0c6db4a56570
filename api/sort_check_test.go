package api_test

import (
	"testing"
	"time"

	"example.com/perks/api"
)

func TestRecordsThatAreNotSorted(t *testing.T) {
	titles := func(titles ...string) (perks []api.Perk) {
		for _, title := range titles {
			perks = append(perks, api.Perk{ID: "p", Title: title})
		}
		return perks
	}
	at := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	times := []api.Perk{{CreatedAt: at}, {CreatedAt: at.Add(time.Second)}}
	price := func(text string) api.Property {
		price, _ := api.ParsePrice(text)
		return api.Property{PricePW: price, Bedrooms: len(text)}
	}
	for i, test := range []struct{ got, want bool }{
		{api.Unsorted("title", titles("Ale", "beer", "Cola")), false},
		{api.Unsorted("title,id", titles("Ale", "Cola", "beer")), false}, // in the order of bytes
		{api.Unsorted("title", titles("ale", "cola", "beer")), true},
		{api.Unsorted("-title", titles("ale", "beer")), true},
		{api.Unsorted("-title", titles("beer", "ale")), false},
		{api.Unsorted("title", titles("No 9", "No 10")), false}, // numbers may count
		{api.Unsorted("title", titles("No 10", "No 9")), false},
		{api.Unsorted("title", titles("No 20", "No 10")), true},
		{api.Unsorted("title", titles("öl", "ale")) || api.Unsorted("title", titles("a b", "a-b", "ab", "a")), false},
		{api.Unsorted("created_at", times), false},
		{api.Unsorted("-created_at,title", times), true},
		{api.Unsorted("valid_to", times) || api.Unsorted("distance", times) || api.Unsorted("", times), false},
		{api.Unsorted("price_pw", []api.Property{price("99"), price("120.5"), price("120.50")}), false},
		{api.Unsorted("price_pw", []api.Property{price("250"), price("120")}), true},
		{api.Unsorted("bedrooms", []api.Property{price("250"), price("12")}), true},
	} {
		if test.got != test.want {
			t.Errorf("%d: got %t", i, test.got)
		}
	}
}
