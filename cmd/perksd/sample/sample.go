// Package sample generates realistic perks, users and rental listings: any number of them, in constant memory, and the
// same ones for the same seed and day. It knows nothing of databases or the command line.
package sample

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"example.com/perks/api"
	"example.com/perks/store"
)

// Data generates sample records. Another Seed makes other records. Dates are around Day, so that some perks have
// expired by then and some have not started.
type Data struct {
	Seed uint64
	Day  time.Time
}

// Users yields n users: alice, bob, then u-000001 and so on.
func (d Data) Users(n int64) iter.Seq2[store.User, error] {
	named := []store.User{{ID: "alice"}, {ID: "bob"}}
	return sequence(n, named, func(i int64) store.User { return store.User{ID: fmt.Sprintf("u-%06d", i)} })
}

// sequence yields n records: first the named ones, then generated ones, numbered from 1.
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

// random is the source of one record. Each has its own, so that it doesn't depend on the number of records.
type random struct{ *rand.Rand }

// Streams give different kinds of records different random numbers.
const (
	perkStream uint64 = iota << 56
	propertyStream
	redemptionStream
)

func (d Data) random(stream uint64, i int64) random {
	// Sample data are made to be the same again, and count from zero.
	return random{rand.New(rand.NewPCG(d.Seed, stream|uint64(i)))} // #nosec G115 G404
}

// day is the start of Day.
func (d Data) day() time.Time { return d.Day.UTC().Truncate(24 * time.Hour) }

// chance is true with this probability.
func (r random) chance(percent int) bool { return r.IntN(100) < percent }

// between returns a number from low to high, inclusive.
func (r random) between(low, high int) int { return low + r.IntN(high-low+1) }

func pick[T any](r random, from []T) T { return from[r.IntN(len(from))] }

// maybe returns the value, or nil with this probability.
func maybe[T any](r random, nilPercent int, value T) *T {
	if r.chance(nilPercent) {
		return nil
	}
	return &value
}

// branch is a source whose use does not change what else is drawn for the record.
func (r random) branch() random { return random{rand.New(rand.NewPCG(r.Uint64(), 0))} } // #nosec G404

// paragraphs has between one and all of the sentences, each once, four in a paragraph.
func (r random) paragraphs(sentences []string) string {
	var text strings.Builder
	for n, i := range r.Perm(len(sentences))[:r.between(1, len(sentences))] {
		switch {
		case n == 0:
		case n%4 == 0:
			text.WriteString("\n\n")
		default:
			text.WriteString(" ")
		}
		text.WriteString(sentences[i])
	}
	return text.String()
}

// near returns a point a few kilometres from the centre of the city, mostly less than five, to a metre.
func (r random) near(c city) (lat, lng float64) {
	const degrees = 0.025 // of latitude, about 2.8 km
	lat = c.Lat + r.NormFloat64()*degrees
	lng = c.Lng + r.NormFloat64()*degrees/math.Cos(c.Lat*math.Pi/180)
	return math.Round(lat*1e5) / 1e5, math.Round(lng*1e5) / 1e5
}

//go:embed words.json
var wordsFile []byte

// city has its centre in degrees.
type city struct {
	Name     string
	Lat, Lng float64
}

// words are the parts of records. Titles are capitalised once the offer is filled in.
type words struct {
	Cities []city
	Trades []struct {
		Category          string
		Merchants, Offers []string
	}
	Streets, MerchantNames, Titles, Discounts, Remarks, Terms []string
	Homes, HomeQualities, HomePlaces, HomeRemarks             []string

	// Records that are always there
	NamedPerks    []store.PerkRecord `json:"named_perks"`
	FirstProperty api.Property       `json:"first_property"`
}

// vocabulary is the content of words.json, which a test checks.
var vocabulary = sync.OnceValue(func() (w words) {
	if err := json.Unmarshal(wordsFile, &w); err != nil {
		panic(err)
	}
	return w
})

// Perks yields n perks: coffee-2for1, which anyone can redeem, spa-day, which needs approval, last-ticket, with a stock
// of one, and then demo-000001 and so on, in many cities and categories. Most are valid; some have expired, have not
// started, or lack a position, a category or stock.
func (d Data) Perks(n int64) iter.Seq2[store.PerkRecord, error] {
	return sequence(n, d.namedPerks(), d.perk)
}

// namedPerks runs from a month before Day to a year after it.
func (d Data) namedPerks() []store.PerkRecord {
	day := d.day()
	from, to := day.AddDate(0, -1, 0), day.AddDate(1, 0, 0)
	perks := slices.Clone(vocabulary().NamedPerks)
	for i := range perks {
		perks[i].ValidFrom, perks[i].ValidTo, perks[i].CreatedAt, perks[i].UpdatedAt = &from, &to, from, from
	}
	return perks
}

func (d Data) perk(i int64) store.PerkRecord {
	words := vocabulary()
	random := d.random(perkStream, i)
	trade, city := pick(random, words.Trades), pick(random, words.Cities)
	merchant := pick(random, words.MerchantNames) + " " + pick(random, trade.Merchants)
	what, discount := pick(random, trade.Offers), pick(random, words.Discounts)
	id := fmt.Sprintf("demo-%06d", i)
	created := d.day().Add(-time.Duration(random.between(1, 365*24*60)) * time.Minute)
	perk := store.PerkRecord{
		Perk: api.Perk{
			ID:    id,
			Title: strings.ReplaceAll(pick(random, words.Titles), "{what}", what),
			Description: fmt.Sprintf("%s%s at %s in %s. %s", strings.ToUpper(what[:1]), what[1:], merchant, city.Name,
				pick(random, words.Remarks)),
			Category:     maybe(random, 5, trade.Category),
			MerchantName: maybe(random, 5, merchant),
			ImageURL:     maybe(random, 30, "https://images.example/perks/"+id+".jpg"),
			DiscountText: maybe(random, 20, discount),
			Terms:        maybe(random, 40, pick(random, words.Terms)),
			City:         city.Name,
			CreatedAt:    created,
			UpdatedAt:    created.Add(time.Duration(random.between(0, 60*24)) * time.Second),
		},
		Approval: store.ApprovalAuto,
	}
	perk.Title = strings.ToUpper(perk.Title[:1]) + perk.Title[1:]
	perk.ValidFrom, perk.ValidTo = d.dates(random)
	if lat, lng := random.near(city); random.chance(90) {
		perk.Lat, perk.Lng = &lat, &lng
	}
	if random.chance(25) {
		stock := int64(random.between(1, 500))
		perk.Stock = &stock
	}
	if random.chance(15) {
		perk.Approval = store.ApprovalManual
	}
	return perk
}

// dates makes one perk in ten expired, and one in ten not started.
func (d Data) dates(random random) (from, to *time.Time) {
	at := func(low, high int) *time.Time {
		t := d.day().AddDate(0, 0, random.between(low, high))
		return &t
	}
	switch n := random.IntN(100); {
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

// Properties yields n listings of the owner: property 1, which is the same for every seed, and then 2 and so on.
func (d Data) Properties(n int64, owner string) iter.Seq2[store.PropertyRecord, error] {
	first := store.PropertyRecord{Property: vocabulary().FirstProperty, Owner: owner}
	return sequence(n, []store.PropertyRecord{first}, func(i int64) store.PropertyRecord {
		return store.PropertyRecord{Property: d.property(i + 1), Owner: owner}
	})
}

func (d Data) property(id int64) api.Property {
	words := vocabulary()
	random := d.random(propertyStream, id)
	city, home := pick(random, words.Cities), pick(random, words.Homes)
	bedrooms := random.between(0, 5)
	perWeek := 120 + 90*bedrooms + random.between(0, 200)
	p := api.Property{
		ID:          id,
		Title:       fmt.Sprintf("%s %s %s", pick(random, words.HomeQualities), home, pick(random, words.HomePlaces)),
		Description: fmt.Sprintf("A %s in %s. %s", home, city.Name, random.branch().paragraphs(words.HomeRemarks)),
		Address:     fmt.Sprintf("%d %s", random.between(1, 180), pick(random, words.Streets)),
		City:        city.Name,
		Postcode:    strconv.Itoa(random.between(10000, 99999)),
		Images:      []string{},
		PricePW:     price(fmt.Sprintf("%d.%s", perWeek, pick(random, []string{"00", "50", "95"}))),
		Bedrooms:    bedrooms,
		Bathrooms:   1 + bedrooms/3,
		Deposit:     float64(perWeek * random.between(0, 6)),
	}
	for n := range random.between(0, 4) {
		p.Images = append(p.Images, fmt.Sprintf("https://images.example/properties/%d-%d.jpg", id, n+1))
	}
	if lat, lng := random.near(city); random.chance(90) {
		p.Lat, p.Lng = &lat, &lng
	}
	return p
}

// price parses a constant of this package; a test covers all of them.
func price(digits string) api.Price {
	p, err := api.ParsePrice(digits)
	if err != nil {
		panic(err)
	}
	return p
}

// Redemption is a redemption to make, and what becomes of it.
type Redemption struct {
	Attempt store.RedeemAttempt
	Status  api.RedemptionStatus // in the end
	Reason  string               // of a rejection or a void
}

// Redemptions returns n redemptions that a client made up to now, of the first perks and users: most are approved, some
// are pending, rejected or voided. Some perks and users have far more than others, and nobody redeems a perk twice, so
// there are fewer where perks or users are few. It leaves alice, bob and limited stock alone.
func (d Data) Redemptions(n, perks, users int64, client string, now time.Time) (made []Redemption) {
	var approved, manual []string
	const days = 60
	longAgo := d.day().AddDate(0, 0, -days)
	apart := min(time.Hour, days*24*time.Hour/time.Duration(max(1, n)))
	for perk := range d.Perks(perks) {
		runs := (perk.ValidFrom == nil || perk.ValidFrom.Before(longAgo)) &&
			(perk.ValidTo == nil || perk.ValidTo.After(now))
		switch {
		case !runs, perk.Stock != nil, perk.ID == "coffee-2for1", perk.ID == "spa-day":
		case perk.Approval == store.ApprovalManual:
			manual = append(manual, perk.ID)
		default:
			approved = append(approved, perk.ID)
		}
	}
	redeemed := map[[2]string]bool{} // by perk and user
	for i := range n {
		r := Redemption{Status: api.StatusApproved}
		of := approved
		switch i % 10 {
		case 0:
			of, r.Status = manual, api.StatusPending
		case 3:
			of, r.Status, r.Reason = manual, api.StatusRejected, "No table was free that day."
		case 6:
			r.Status, r.Reason = api.StatusVoided, "The customer cancelled."
		}
		perk, user := d.random(redemptionStream, i).pair(of, users-2, redeemed)
		if perk == "" {
			continue
		}
		r.Attempt = store.RedeemAttempt{
			ID:     uuid.NewSHA1(uuid.NameSpaceOID, fmt.Appendf(nil, "sample %d %d", d.Seed, i)).String(),
			PerkID: perk, UserID: user, ClientID: client,
			Metadata: fmt.Appendf(nil, `{"ticket":%d}`, 4000+i),
			At:       now.Add(-time.Duration(i) * apart).Truncate(time.Second),
		}
		made = append(made, r)
	}
	return made
}

// pair picks a perk and one of the generated users that has not redeemed it, which it notes; "" if there is none.
func (r random) pair(perks []string, users int64, redeemed map[[2]string]bool) (perk, user string) {
	firstPerk, firstUser := r.popular(int64(len(perks))), r.popular(users)
	for k := range max(0, users) {
		user = fmt.Sprintf("u-%06d", (firstUser+k)%users+1)
		for i := range perks {
			perk = perks[(firstPerk+int64(i))%int64(len(perks))]
			if of := [2]string{perk, user}; !redeemed[of] {
				redeemed[of] = true
				return perk, user
			}
		}
	}
	return "", ""
}

// popular returns a number below n: half of them are in its first eighth.
func (r random) popular(n int64) int64 { return int64(float64(n) * math.Pow(r.Float64(), 3)) }
