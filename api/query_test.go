package api_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"example.com/perks/api"
)

var samePrice = cmp.Comparer(func(a, b api.Price) bool { return a.String() == b.String() })

func TestQueriesOfPerks(t *testing.T) {
	near := &api.Circle{Lat: 52.52, Lng: 13.405}
	within := &api.Circle{Lat: 52.52, Lng: 13.405, RadiusKM: 5}
	for text, want := range map[string]api.PerkFilter{
		"":                     {},
		" \t\u00a0":            {},
		"coffee for  two":      {Query: "coffee for two"},
		`5" pizza 12:30 a:b:c`: {Query: `5" pizza 12:30 a:b:c`},
		"http://x.example/?q":  {Query: "http://x.example/?q"},
		"-50% +1 -coffee 1<2 <three q:x expired :x": {Query: "-50% +1 -coffee 1<2 <three q:x " +
			"expired :x"},
		`"city:rome" "<5" "+expired" "a  b"`: {Query: "city:rome <5 +expired a  b"},
		`say "\"hi\" \\ \n" \"`:              {Query: `say "hi" \ \n \"`},
		"coffee city:berlin near:52.52,13.405 <5km category:food -expired": {Query: "coffee", City: "berlin",
			Category: "food", Near: within},
		`tour city:"New York" +expired walk`: {Query: "tour walk", City: "New York",
			IncludeExpired: true},
		`city:"New Yo`:           {City: "New Yo"},
		`city:"New York"er city`: {Query: "city", City: "New Yorker"},
		`city:rock"n"roll`:       {City: `rock"n"roll`},
		"City:Rome CAT:food":     {City: "Rome", Category: "food"},
		"city:rome:x":            {City: "rome:x"},
		"expired:yes":            {IncludeExpired: true},
		"include_expired:true":   {IncludeExpired: true},
		"include-expired:YES":    {IncludeExpired: true},
		"expired:no":             {},
		"near:52.52,13.405":      {Near: near},
		"near:52.52 13.405":      {Near: near},
		"near:52.52, 13.405 5":   {Near: near, Query: "5"},
		"near:52.52 , 13.405":    {Near: near},
		"near: 52.52 13.405":     {Near: near},
		`near:"52.52, 13.405" 7`: {Near: near, Query: "7"},
		"near:-33.87 -151.2 a": {Near: &api.Circle{Lat: -33.87,
			Lng: -151.2}, Query: "a"},
		"<5 near:52.52,13.405":      {Near: within},
		"radius:5km n:52.52,13.405": {Near: within},
		"rad:5 near:52.52,13.405 a": {Near: within, Query: "a"},
		"near:Rome <5 a":            {Near: &api.Circle{Name: "Rome", RadiusKM: 5}, Query: "a"},
		"near:Rome 5":               {Near: &api.Circle{Name: "Rome"}, Query: "5"},
		`near:"Bad Homburg"`:        {Near: &api.Circle{Name: "Bad Homburg"}},
		"near:2for1 city:rome":      {Near: &api.Circle{Name: "2for1"}, City: "rome"},
		"<.5km near:52.52,13.405 coffee 12:30": {Near: &api.Circle{Lat: 52.52, Lng: 13.405,
			RadiusKM: 0.5}, Query: "coffee 12:30"},
	} {
		got, problems := api.ParseQuery(api.PerkFilterFields, text)
		if diff := cmp.Diff(want, got); diff != "" || len(problems) > 0 {
			t.Errorf("%q: %v\n%s", text, problems, diff)
		}
	}
}

func TestQueriesOfProperties(t *testing.T) {
	for text, want := range map[string]api.PropertyFilter{
		"garden city:rome price:100..250 bedrooms:2.. own:yes": {Query: "garden", City: "rome",
			MinPrice: new(price(t, "100")), MaxPrice: new(price(t, "250")), MinBedrooms: new(2), Own: true},
		"price:<250":                    {MaxPrice: new(price(t, "250"))},
		"price:>100":                    {MinPrice: new(price(t, "100"))},
		"price:>=99.50 price:<=100":     {MinPrice: new(price(t, "99.50")), MaxPrice: new(price(t, "100"))},
		"price:..250 bed:>2":            {MaxPrice: new(price(t, "250")), MinBedrooms: new(2)},
		"bedrooms:3":                    {MinBedrooms: new(3), MaxBedrooms: new(3)},
		"min_bedrooms:2 max-bedrooms:3": {MinBedrooms: new(2), MaxBedrooms: new(3)},
		"+own <5 near:1,2":              {Own: true, Query: "<5 near:1,2"},
	} {
		got, problems := api.ParseQuery(api.PropertyFilterFields, text)
		if diff := cmp.Diff(want, got, samePrice); diff != "" || len(problems) > 0 {
			t.Errorf("%q: %v\n%s", text, problems, diff)
		}
	}
}

func TestQueriesOfRedemptionsAndUsers(t *testing.T) {
	since := time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)
	for text, want := range map[string]api.RedemptionFilter{
		"status:pending user:alice since:2026-01-31": {Status: api.StatusPending, UserID: "alice", Since: since},
		"Pending perk:spa-day":                       {Status: api.StatusPending, PerkID: "spa-day"},
		"stat:VOIDED +own":                           {Status: api.StatusVoided, Own: true},
		"since:2026-01-31T01:00:00+01:00":            {Since: since},
	} {
		got, problems := api.ParseQuery(api.RedemptionFilterFields, text)
		if diff := cmp.Diff(want, got); diff != "" || len(problems) > 0 {
			t.Errorf("%q: %v\n%s", text, problems, diff)
		}
	}
	if got, problems := api.ParseQuery(api.UserFilterFields, " ali "); got.Prefix != "ali" || len(problems) > 0 {
		t.Errorf("%+v, %v", got, problems)
	}
}

// problemsOf writes each problem of a query as PART: TEXT, with a dash before what may only be incomplete.
func problemsOf[F any](fields []api.FilterField[F], text string) (lines []string) {
	_, problems := api.ParseQuery(fields, text)
	for _, p := range problems {
		line := text[p.From:p.To] + " | " + p.Text
		if p.Incomplete {
			line = "- " + line
		}
		lines = append(lines, line)
	}
	return lines
}

func TestProblemsOfQueries(t *testing.T) {
	ofPerks := func(text string) []string { return problemsOf(api.PerkFilterFields, text) }
	ofProperties := func(text string) []string { return problemsOf(api.PropertyFilterFields, text) }
	ofRedemptions := func(text string) []string { return problemsOf(api.RedemptionFilterFields, text) }
	for _, test := range []struct {
		of   func(string) []string
		text string
		want string // joined by newlines
	}{
		{ofPerks, "coffee citty:berlin", `citty: | no field "citty". Did you mean city:?`},
		{ofPerks, `Catgory:"a b"`, `Catgory: | no field "Catgory". Did you mean category:?`},
		{ofPerks, "ctiy:x", `ctiy: | no field "ctiy". Did you mean city:?`},
		{ofPerks, "c:rome", `c: | no field "c". Did you mean city: or category:?`},
		{ofPerks, "-city:rome", `-city: | no field "-city". Did you mean city:?`},
		{ofPerks, "***", "*** | words: needs a letter or a digit"},
		{ofPerks, "city: coffee", "- city: | city: needs a value"},
		{ofPerks, `city:" " cat:`, "- city:\" \" | city: needs a value\n- cat: | category: needs a value"},
		{ofPerks, "city: city:rome", "- city: | city: needs a value"},
		{ofPerks, "city:rome city:rome", "city:rome | city: is given twice"},
		{ofPerks, "near:", "- near: | near: needs a value"},
		{ofPerks, "near: <5", "- near: | near: needs a value"},
		{ofPerks, "near:52.5 <5", "- near:52.5 | near: must be latitude,longitude, such as 52.52,13.405"},
		{ofPerks, "near:52.5, ", "- near:52.5, | near: must be latitude,longitude, such as 52.52,13.405"},
		{ofPerks, "near:Rome,Italy <5", "near:Rome,Italy | near: must be latitude,longitude, such as 52.52,13.405"},
		{ofPerks, "near:!", "near:! | near: must be latitude,longitude, such as 52.52,13.405"},
		{ofPerks, "near:91 0 a", "near:91 0 | near: latitude must be between -90 and 90"},
		{ofPerks, "<5km", "<5km | radius: needs Near: a position to measure from"},
		{ofPerks, "near:1,2 <", "- < | radius: needs a value"},
		{ofPerks, "near:1,2 <5m", "<5m | radius: must be a number"},
		{ofPerks, "near:1,2 <501", "<501 | radius: must be above 0 and at most 500 kilometres"},
		{ofPerks, "expired:y", "- expired:y | expired: must be true or false"},
		{ofPerks, "expired:maybe", "expired:maybe | expired: must be true or false"},
		{ofPerks, "+expired -expired", "-expired | expired: is given twice"},
		{ofPerks, "a \xff", "\xff | words: must be valid UTF-8 text"},
		{ofProperties, "price:250..100", "price:250..100 | max_price must not be below min_price"},
		{ofProperties, "price:.. bedrooms:>",
			"- price:.. | price: needs a value\n- bedrooms:> | bedrooms: needs a value"},
		{ofProperties, "price:1..2 price:3..4 price:>5",
			"price:3..4 | price: is given twice\nprice:>5 | price: is given twice"},
		{ofProperties, "price:cheap", "price:cheap | price: must be digits and a point, such as 120.50"},
		{ofRedemptions, "status:pend", "- status:pend | status: must be pending, approved, rejected or voided"},
		{ofRedemptions, "status:open", "status:open | status: must be pending, approved, rejected or voided"},
		{ofRedemptions, "pending voided", "voided | status: is given twice"},
		{ofRedemptions, "alice", `alice | "alice" needs a field: perk:, user:, actor:, status:, since:, until:, own:`},
		{ofRedemptions, "use", `- use | "use" needs a field: perk:, user:, actor:, status:, since:, until:, own:`},
		{ofRedemptions, "app", `- app | "app" needs a field: perk:, user:, actor:, status:, since:, until:, own:`},
		{ofRedemptions, "since:2026-02-01 until:2026-01-01", "until:2026-01-01 | until must be later than since"},
	} {
		if got := strings.Join(test.of(test.text), "\n"); got != test.want {
			t.Errorf("%q:\n got %s\nwant %s", test.text, got, test.want)
		}
	}
}

func TestAPartWithAProblemIsLeftOut(t *testing.T) {
	got, problems := api.ParseQuery(api.PropertyFilterFields,
		"garden price:250..100 citty:rome city:Leeds bedrooms:two")
	want := api.PropertyFilter{Query: "garden", City: "Leeds", MinPrice: new(price(t, "250"))}
	if diff := cmp.Diff(want, got, samePrice); diff != "" || len(problems) != 3 {
		t.Errorf("%v\n%s", problems, diff)
	}
}

func TestPartsOfQueries(t *testing.T) {
	const text = `coffee  city:"New York" near:1 2 <5 citty:x price:1`
	got := api.QueryParts(api.PerkFilterFields, text)
	want := []api.QueryPart{
		{Kind: api.QueryWord, From: 0, To: 6, Fields: []string{"q"}},
		{Kind: api.QueryField, From: 8, To: 23, Fields: []string{"city"}},
		{Kind: api.QueryField, From: 24, To: 32, Fields: []string{"near"}},
		{Kind: api.QueryField, From: 33, To: 35, Fields: []string{"radius"}},
		{Kind: api.QueryMistake, From: 36, To: 43},
		{Kind: api.QueryWord, From: 44, To: 51, Fields: []string{"q"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := api.QueryParts(api.PropertyFilterFields, "price:1..x"); len(got) != 1 || got[0].Kind != api.QueryMistake {
		t.Errorf("%+v", got)
	}
	if got := api.QueryParts(api.PropertyFilterFields, "price:1..2"); !slices.Equal(got[0].Fields,
		[]string{"min_price", "max_price"}) {
		t.Errorf("%+v", got)
	}
}

func TestFormattedQueries(t *testing.T) {
	perks := func(f api.PerkFilter) string { return api.FormatQuery(api.PerkFilterFields, f) }
	flats := func(f api.PropertyFilter) string { return api.FormatQuery(api.PropertyFilterFields, f) }
	for want, got := range map[string]string{
		"":                       perks(api.PerkFilter{}),
		"free coffee 12:30 -50%": perks(api.PerkFilter{Query: "free coffee 12:30 -50%"}),

		`"city:rome" "c:x" "<5" a "" "\"b\\" "x:\""`: perks(
			api.PerkFilter{Query: `city:rome c:x <5 a  "b\ x:"`}),
		`free coffee city:Zürich category:"food & drink" near:47.3769,-8.5 <2.5km +expired`: perks(everyFilter(t)),
		"price:100..250 bedrooms:2.. +own": flats(api.PropertyFilter{
			MinPrice: new(price(t, "100")), MaxPrice: new(price(t, "250")), MinBedrooms: new(2), Own: true}),
		"price:..250 bedrooms:2": flats(api.PropertyFilter{
			MaxPrice: new(price(t, "250")), MinBedrooms: new(2), MaxBedrooms: new(2)}),
		"perk:spa user:ann status:voided since:2026-03-01T00:00:00Z until:2026-03-02T09:00:00.000005Z " +
			"+own": api.FormatQuery(api.RedemptionFilterFields, ofRedemptions),
		`near:"Bad Homburg" <2km`: perks(api.PerkFilter{Near: &api.Circle{Name: "Bad Homburg", RadiusKM: 2}}),
		"ali":                     api.FormatQuery(api.UserFilterFields, api.UserFilter{Prefix: "ali"}),
	} {
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestCompletedQueries(t *testing.T) {
	perks := func(text string) string { return completionOf(api.PerkFilterFields, text) }
	redemptions := func(text string) string { return completionOf(api.RedemptionFilterFields, text) }
	for _, test := range []struct {
		of         func(string) string
		text, want string // the cursor is |
	}{
		{perks, "|", "| city: category: near: radius: expired:"},
		{perks, "coffee C|ity:rome", "C| city: category:"},
		{perks, "+|", "+| +expired"},
		{perks, "a -exp|", "-exp| -expired"},
		{perks, "expired:|", "| of include_expired yes no"},
		{perks, "expired:Y|", "Y| of include_expired yes"},
		{perks, "cat:fo|od", "fo| of category"},
		{perks, `city:"New Y|`, `"New Y|New Y of city`},
		{perks, `city:"New York" |`, "| city: category: near: radius: expired:"},
		{perks, "12:|", "|"},
		{perks, `"ci|`, `"ci|ci`},
		{perks, "xyz|", "xyz|"},
		{redemptions, "p|", "p| perk: pending"},
		{redemptions, "pending status:|", "| of status pending approved rejected voided"},
		{redemptions, "status:Re|", "Re| of status rejected"},
		{redemptions, "user:a|", "a| of user"},
		{func(text string) string { return completionOf(api.PropertyFilterFields, text) }, "price:1|",
			"1| of min_price"},
	} {
		if got := test.of(test.text); got != test.want {
			t.Errorf("%q: got %q, want %q", test.text, got, test.want)
		}
	}
}

// completionOf writes the completion of a query at the bar in it: what it replaces, a bar, the prefix if it differs,
// the field, the choices.
func completionOf[F any](fields []api.FilterField[F], text string) string {
	cursor := strings.Index(text, "|")
	text = strings.Replace(text, "|", "", 1)
	c := api.CompleteQuery(fields, text, cursor)
	line := text[c.From:cursor] + "|"
	if c.Prefix != text[c.From:cursor] {
		line += c.Prefix
	}
	if c.Field != nil {
		line += " of " + c.Field.Name
	}
	return strings.Join(append([]string{line}, c.Choices...), " ")
}

// requireSound parses a text, and what it means again; every part and problem is a part of the text.
func requireSound[F any](t *testing.T, fields []api.FilterField[F], text string) {
	t.Helper()
	filter, problems := api.ParseQuery(fields, text)
	requireFormatted(t, fields, filter)
	end := 0
	for _, part := range api.QueryParts(fields, text) {
		if part.From < end || part.To <= part.From || part.To > len(text) {
			t.Fatalf("%q has the part %+v", text, part)
		}
		end = part.To
	}
	for _, p := range problems {
		if p.From < 0 || p.To <= p.From || p.To > len(text) || p.Text == "" {
			t.Errorf("%q has the problem %+v", text, p)
		}
	}
	for cursor := 0; cursor <= len(text); cursor += 1 + len(text)/20 { // of a long text not all: each is read anew
		if c := api.CompleteQuery(fields, text, cursor); c.From < 0 || c.From > cursor {
			t.Errorf("%q at %d is completed from %d", text, cursor, c.From)
		}
	}
}

// requireFormatted writes a filter as a query and reads it.
func requireFormatted[F any](t *testing.T, fields []api.FilterField[F], filter F) {
	t.Helper()
	text := api.FormatQuery(fields, filter)
	got, problems := api.ParseQuery(fields, text)
	if diff := cmp.Diff(filter, got, samePrice); diff != "" || len(problems) > 0 {
		t.Errorf("%q: %v\n%s", text, problems, diff)
	}
}

func FuzzParseQuery(f *testing.F) {
	for _, seed := range []string{
		`coffee city:"New York" near:52.52, 13.405 <5km category:food +expired 12:30`,
		`garden price:100..250 bedrooms:2.. own:yes price:<5`,
		`pending user:alice since:2026-01-31 until:2026-02-01T10:00:00+02:00 `, `"a\"b\\" "" c:x :x near: 1 2 "`,
		"\xff\u00a0\x00", `b\\ "x"c:"`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		requireSound(t, api.PerkFilterFields, text)
		requireSound(t, api.PropertyFilterFields, text)
		requireSound(t, api.RedemptionFilterFields, text)
		requireSound(t, api.UserFilterFields, text)
	})
}

func FuzzFormatQuery(f *testing.F) {
	f.Add("coffee  city:rome", `New "York`, -33.87, 151.2, 5.5, int64(250), int64(1769817600), true)
	f.Add(`"" <5 +expired \`, "a..b", 0.0, math.Copysign(0, -1), 0.0, int64(0), int64(0), false)
	f.Fuzz(func(t *testing.T, words, text string, lat, lng, radius float64, number, second int64, on bool) {
		near := fmt.Sprintf("%f,%f", lat, lng)
		if on {
			near = text
		}
		values := map[string]string{
			"q": words, "city": text, "category": words, "perk": text, "user": words, "prefix": words,
			"near": near, "radius": fmt.Sprintf("%f", radius),
			"include_expired": fmt.Sprint(on), "own": fmt.Sprint(on),
			"status":    string(api.RedemptionStatuses()[uint64(second)%4]),
			"min_price": fmt.Sprint(number), "max_price": fmt.Sprintf("%d.50", number),
			"min_bedrooms": fmt.Sprint(number), "max_bedrooms": fmt.Sprint(number),
			"since": time.Unix(second, number).UTC().Format(time.RFC3339Nano),
			"until": time.Unix(second+1, number).UTC().Format(time.RFC3339Nano),
		}
		requireFormatted(t, api.PerkFilterFields, filterOf(api.PerkFilterFields, values))
		requireFormatted(t, api.PropertyFilterFields, filterOf(api.PropertyFilterFields, values))
		requireFormatted(t, api.RedemptionFilterFields, filterOf(api.RedemptionFilterFields, values))
		requireFormatted(t, api.UserFilterFields, filterOf(api.UserFilterFields, values))
	})
}

// filterOf sets every field whose value is valid.
func filterOf[F any](fields []api.FilterField[F], values map[string]string) (filter F) {
	for _, field := range fields {
		if changed := filter; utf8.ValidString(values[field.Name]) && field.Set(&changed, values[field.Name]) == "" {
			filter = changed
		}
	}
	return filter
}
