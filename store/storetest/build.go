package storetest

import (
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
)

// now is the instant at which the tests take place.
var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func ptr[T any](value T) *T { return &value }

// perk is a valid record with no more than it needs, changed by what comes with it.
func perk(id string, with ...func(*store.PerkRecord)) store.PerkRecord {
	p := store.PerkRecord{
		Perk: api.Perk{
			ID: id, Title: "Perk " + id, Description: "About it.", City: "Leeds", CreatedAt: now, UpdatedAt: now,
		},
		Approval: store.ApprovalAuto,
	}
	for _, change := range with {
		change(&p)
	}
	return p
}

type perkChange = func(*store.PerkRecord)

func title(s string) perkChange       { return func(p *store.PerkRecord) { p.Title = s } }
func description(s string) perkChange { return func(p *store.PerkRecord) { p.Description = s } }
func category(s string) perkChange    { return func(p *store.PerkRecord) { p.Category = &s } }
func merchant(s string) perkChange    { return func(p *store.PerkRecord) { p.MerchantName = &s } }
func city(s string) perkChange        { return func(p *store.PerkRecord) { p.City = s } }
func from(t time.Time) perkChange     { return func(p *store.PerkRecord) { p.ValidFrom = &t } }
func to(t time.Time) perkChange       { return func(p *store.PerkRecord) { p.ValidTo = &t } }
func created(t time.Time) perkChange  { return func(p *store.PerkRecord) { p.CreatedAt = t } }
func stock(n int64) perkChange        { return func(p *store.PerkRecord) { p.Stock = &n } }
func manual(p *store.PerkRecord)      { p.Approval = store.ApprovalManual }

func position(lat, lng float64) perkChange {
	return func(p *store.PerkRecord) { p.Lat, p.Lng = &lat, &lng }
}

// fullPerk has a value in every field.
func fullPerk(id string) store.PerkRecord {
	p := perk(id, title("Free Coffee"), description("One cup, any size."), category("Food & Drink"), merchant("Café Röst"),
		city("York"), from(now.Add(-time.Hour)), to(now.Add(time.Hour)), stock(7), position(53.96, -1.08), manual)
	p.ImageURL, p.DiscountText, p.Terms = ptr("https://example.com/cup.png"), ptr("100%"), ptr("Once a day.")
	p.CreatedAt, p.UpdatedAt = now.Add(-48*time.Hour), now.Add(-24*time.Hour)
	return p
}

// property is a valid record of a client, changed by what comes with it.
func property(id int64, owner string, with ...func(*store.PropertyRecord)) store.PropertyRecord {
	price, err := api.ParsePrice("120.50")
	if err != nil {
		panic(err)
	}
	p := store.PropertyRecord{
		Property: api.Property{
			ID: id, Title: fmt.Sprint("Flat ", id), Description: "Bright.", Address: "1 High St", City: "Leeds",
			Postcode: "LS1 1AA", Images: []string{"https://example.com/a.png", "https://example.com/b.png?x=1,2"},
			PricePW: price, Bedrooms: 2, Bathrooms: 1, Lat: ptr(53.8), Lng: ptr(-1.55), Deposit: 99.99,
		},
		Owner: owner,
	}
	for _, change := range with {
		change(&p)
	}
	return p
}

func client(id string) store.Client {
	return store.Client{
		ID: id, Name: "The " + id, Secret: store.SecretHash{1, 2, 3}, Scopes: api.AllScopes(), CreatedAt: now,
	}
}

func signingKey(id string, at time.Time) store.SigningKey {
	return store.SigningKey{ID: id, Secret: []byte("secret of " + id), CreatedAt: at}
}

// attempt is a request of client "shop" to redeem without a key; its id follows from perk and user.
func attempt(perkID, userID string) store.RedeemAttempt {
	return store.RedeemAttempt{
		ID: perkID + "-" + userID, PerkID: perkID, UserID: userID, ClientID: "shop", Metadata: json.RawMessage(`{}`), At: now,
	}
}

// creating is the attempt with leave to make its user.
func creating(a store.RedeemAttempt) store.RedeemAttempt {
	a.CreateUser = true
	return a
}

// keyed is the attempt under an idempotency key, and under another id, as a client's repeated request has one.
func keyed(a store.RedeemAttempt, id, key string, fingerprint byte) store.RedeemAttempt {
	a.ID = id
	a.Key = &store.IdempotencyKey{Key: key, Fingerprint: [32]byte{fingerprint}}
	return a
}

// rows is the records as an importer takes them.
func rows[T any](records ...T) iter.Seq2[T, error] { return rowsThen(nil, records...) }

// rowsThen ends with an error after the records, unless it is nil.
func rowsThen[T any](err error, records ...T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, record := range records {
			if !yield(record, nil) {
				return
			}
		}
		if err != nil {
			var none T
			yield(none, err)
		}
	}
}
