package record

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/perks/api"
	"example.com/perks/api/operation"
)

// changed returns what a text changes, and what is wrong with it.
func changed(r reading, before api.Property) (api.PropertyPatch, api.FieldErrors) {
	e := operation.Properties.NewEdit("42", operation.PropertyVersion{Record: before})
	e.SetAll(r.values, r.wrong)
	e.Submit()
	return e.Patch, e.Problems()
}

func priceOf(t testing.TB, digits string) api.Price {
	t.Helper()
	p, err := api.ParsePrice(digits)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// readBack writes the property and reads it again, without and with notes.
func readBack(t testing.TB, p api.Property) {
	t.Helper()
	plain, want, n := listings.write("Property 42 at http://x", p), map[string]api.Value{}, notes{}
	for _, field := range api.PropertyFields() {
		want[field.Name], n[field.Name] = operation.Properties.Value(field, p), []string{"is wrong", `description: "`}
	}
	for _, text := range []string{plain, listings.annotate(plain, n)} {
		read := listings.readYAML(text)
		if read.syntax != nil || len(read.wrong) > 0 {
			t.Fatalf("%v %v\n%s", read.syntax, read.wrong, text)
		}
		if diff := cmp.Diff(want, read.values, cmp.AllowUnexported(api.Value{})); diff != "" {
			t.Fatalf("%s\n%s", diff, text)
		}
	}
	if back := withoutNotes(listings.annotate(plain, n)); back != plain {
		t.Fatalf("text without its notes differs:\n%s", back)
	}
}

var texts = []string{
	"", " ", "\n", "\n\n", "Flat", " leading", "trailing ", "\ttab", "a\tb", "yes", "No", "on", "null", "~", "Null",
	"1e3", "0x10", "12:30", "1_000", ".inf",
	"2020-01-01", "true", "a: b", "a:", ": a", "a #b", "#b", "- a", "-", "? a", "! a", "!tag", "&a b", "*a", "{a}",
	"[a", "%a", "@a", "`a`", "'", `"`, `a\b`, "---",
	"...", "<<", "=", "|", ">", "it's: \"it\"", "a\nb", "a\nb\n", "a\nb\n\n", "\na\nb", "  a\nb", "\ta\nb",
	"a\n  b\n c", "a \n \nb", "#! a\n#! b\n", "---\na\n...\n",
	"a\r\nb", "a\rb", "\r", "\x00", "a\x1b[31mb", "\u0085", "\u2028\n", "\ufeffa", "a\ufeff\nb", "\u202eabc\nd",
	"\u00a0", "\u00a0a\n\u00a0b",
	"\U0001f600 Flat", "\U0001f468\u200d\U0001f469\u200d\U0001f467 home\nand garden", "\ufffe", "\U0010ffff", "\ue000",
	strings.Repeat("long ", 40), strings.Repeat("long", 40), strings.Repeat("x", 2000) + ": y",
	" " + strings.Repeat("long ", 40), "price_pw: 1\ntitle: x",
}

func TestTextsRoundTrip(t *testing.T) {
	for _, text := range texts {
		readBack(t, api.Property{Title: text, Description: text, Images: []string{text, text},
			PricePW: priceOf(t, "0.10")})
	}
}

func TestYAMLIsReadable(t *testing.T) {
	lat := 53.75
	p := api.Property{
		ID: 42, Title: "Flat: \U0001f600", Description: "Bright.\n\nAt the canal.\n", City: "Leeds", Postcode: "no",
		Images:  []string{"https://a.example/1.jpg"},
		PricePW: priceOf(t, "250.00"), Bedrooms: 2, Lat: &lat, Deposit: 1e21,
	}
	want := `# Property 42 at http://x?y
#
# Change the fields below, save the file and close the editor. Only what you change is sent, and a
# field that you remove stays as it is. To cancel, close without saving, or empty the file.

title: "Flat: 😀"
description: |
  Bright.

  At the canal.
address: ""
city: Leeds
postcode: "no"
images:
  - https://a.example/1.jpg
price_pw: "250.00"
bedrooms: 2
bathrooms: 0
lat: 53.75
lng: null
deposit: 1e+21
`
	if diff := cmp.Diff(want, listings.write("Property 42 at http://x\x1b?y", p)); diff != "" {
		t.Error(diff)
	}
}

func TestYAMLHasEveryField(t *testing.T) {
	read := listings.readYAML(listings.write("", api.Property{Title: "a", PricePW: priceOf(t, "1")}))
	if diff := cmp.Diff(slices.Sorted(slices.Values(api.PropertyPatchFields())),
		slices.Sorted(maps.Keys(read.values))); diff != "" {
		t.Error(diff)
	}
	patch, wrong := changed(read, api.Property{Lng: new(1.0), Deposit: 1})
	if len(wrong) > 0 || !patch.Deposit.Set || !patch.Lng.Set || patch.Lng.Value != nil ||
		patch.PricePW.Value.String() != "1" {
		t.Errorf("%+v %v", patch, wrong)
	}
}

func TestReadYAMLChanges(t *testing.T) {
	lat := 1.5
	before := api.Property{Title: "Flat", Images: []string{"https://a.example/1.jpg", "https://a.example/2.jpg"},
		PricePW: priceOf(t, "250.00"), Bedrooms: 2, Lat: &lat}
	for text, want := range map[string]string{
		"title: Flat": "", "title: 'Flat'": "", "title: Flat # a comment": "", "title: >-\n  Flat\n": "",
		"title: flat":   "title",
		"price_pw: 250": "", "price_pw: 250.0": "", "price_pw: '250'": "", "price_pw: 2500": "price_pw",
		"price_pw: 25":  "price_pw",
		"bedrooms: 2.0": "", "bedrooms: 3": "bedrooms", "lat: 1.50": "", "lat: 15e-1": "", "lat: ~": "lat",
		"lat:": "lat", "lng:": "", "lng: null": "",
		"images: [https://a.example/1.jpg, https://a.example/2.jpg]": "",
		"images: https://a.example/1.jpg, https://a.example/2.jpg":   "",

		"images: [https://a.example/2.jpg]": "images", "images:": "images", "images: []": "images",
		"description:":    "",
		"description: ''": "",
		"":                "", "# nothing": "", "title: &a Flat\ncity: *a": "city",
	} {
		read := listings.readYAML(text)
		patch, wrong := changed(read, before)
		changed := strings.Join(patch.Fields(), " ")
		if read.syntax != nil || len(wrong) > 0 || changed != want || patch.IsEmpty() != (want == "") {
			t.Errorf("%s\nchanges %q, want %q (%v %v)", text, changed, want, read.syntax, wrong)
		}
	}
}

func TestAmbiguousValuesAreText(t *testing.T) {
	for _, word := range []string{"yes", "12:30", "007", "1e3", "2020-01-01", "0x10", "true", "1_0"} {
		read := listings.readYAML("title: " + word)
		if patch, wrong := changed(read, api.Property{}); patch.Title.Value != word {
			t.Errorf("%s became %q (%v)", word, patch.Title.Value, wrong)
		}
	}
}

func TestReadYAMLErrors(t *testing.T) {
	before := api.Property{Title: "Flat", Images: []string{"no address"}, PricePW: priceOf(t, "1")}
	for text, want := range map[string]string{
		"title:":                          "title must not be blank",
		"title: null":                     "title must not be null",
		"title: {a: b}":                   "title must be a single value",
		"title: a\ntitle: b":              "title is given more than once",
		"price_pw: 1e3":                   "price_pw must be digits and a point, such as 120.50",
		"price_pw:":                       "price_pw must be digits and a point, such as 120.50",
		"bedrooms: many":                  "bedrooms must be a whole number",
		"bedrooms: 0x10":                  "bedrooms must be a whole number",
		"bedrooms:":                       "bedrooms must not be null",
		"deposit: .inf":                   "deposit must be a number",
		"lat: 91\nlng: x":                 "lat must be between -90 and 90; lng must be a number",
		"images: {a: b}":                  "images must be a list of addresses",
		"images: [[a]]":                   "images must be a list of addresses",
		"images:\n  -\n":                  "images number 1 must not be blank",
		"images: x":                       "images number 1 must be an absolute http or https URL",
		"images: [no address]\ntitle: ok": "",
		"propertyId: 7":                   "propertyId cannot be changed",
		"colour: null": "colour is not a field of a property; the fields are " +
			strings.Join(api.PropertyPatchFields(), ", "),
		"title: a\x00":                     "syntax",
		"title: \"a\\0\"":                  "title must not contain a NUL character",
		"title: [":                         "syntax",
		"just words":                       "syntax",
		"- title":                          "syntax",
		"title: a\n---\ntitle: b":          "syntax",
		"title: \xff":                      "syntax",
		"title: *nobody":                   "syntax",
		"title: a: b":                      "syntax",
		"description: |\n  a\n b\ncity: c": "syntax",
	} {
		read := listings.readYAML(text)
		_, wrong := changed(read, before)
		got := wrong.String()
		if read.syntax != nil {
			got = "syntax"
		}
		if got != want {
			t.Errorf("%q: %s (%v), want %s", text, got, read.syntax, want)
		}
	}
}

func TestAnnotate(t *testing.T) {
	text := "# mine\ntitle: a\ndescription: |\n  b\n  #! not a note\n  c\n{x}: y\nprice_pw: 1\n"
	text = strings.Replace(text, "{x}: y\n", "", 1)
	n := notes{"": {"Look!"}, "price_pw": {"is wrong", "is too\nlong\x1b"}, "colour": {"is unknown"}, "title": {"is a"}}
	want := "#! Look!\n#! is unknown\n# mine\n#! is a\ntitle: a\ndescription: |\n  b\n  #! not a note\n  c\n" +
		"#! is wrong\n#! is too long\nprice_pw: 1\n"
	once := listings.annotate(text, n)
	if diff := cmp.Diff(want, once); diff != "" {
		t.Error(diff)
	}
	if twice := listings.annotate(once, n); twice != once {
		t.Errorf("annotated twice:\n%s", twice)
	}
	if diff := cmp.Diff(text, listings.annotate(once, notes{})); diff != "" {
		t.Error(diff)
	}
	flow := "{title: 'a\n\n  b', city:\n c}"
	both := notes{"title": {"x"}, "city": {"y"}}
	want = "{title: \"a\\nb\", city: c}"
	if noted := listings.readYAML(listings.annotate(flow, both)); noted.syntax != nil ||
		!cmp.Equal(noted.values, listings.readYAML(want).values, cmp.AllowUnexported(api.Value{})) {
		t.Errorf("%v\n%s", noted, listings.annotate(flow, both))
	}
	broken := listings.annotate("title: [\n", both)
	if broken != "#! y\n#! x\ntitle: [\n" {
		t.Errorf("invalid YAML: %q", broken)
	}
}

func TestSyntaxErrorHasTheLineOfTheFile(t *testing.T) {
	read := listings.readYAML("title: a\ncity: b: c\n")
	if got := read.sentence(1); read.line != 2 || !strings.HasPrefix(got, "line 3: ") {
		t.Errorf("line %d: %s", read.line, got)
	}
}

func FuzzYAMLRoundTrip(f *testing.F) {
	for _, text := range texts {
		f.Add(text, "https://a.example/1.jpg", "10.50", 2, 1.5)
	}
	f.Fuzz(func(t *testing.T, text, image, digits string, rooms int, lat float64) {
		if lat-lat != 0 {
			lat = 0
		}
		price, _ := api.ParsePrice(digits)
		text, image = strings.ToValidUTF8(text, "?"), strings.ToValidUTF8(image, "?")
		p := api.Property{Title: text, Description: text + "\n" + image, City: image, Images: []string{image, text},
			PricePW: price, Bedrooms: rooms, Lat: &lat, Deposit: lat}
		readBack(t, p)
		if patch, wrong := changed(listings.readYAML(listings.write("", p)), p); !patch.IsEmpty() || len(wrong) > 0 {
			t.Errorf("the round trip changed fields: %+v %v", patch, wrong)
		}
	})
}

// FuzzReadYAML reads arbitrary text: nothing may panic, and notes must not change the values.
func FuzzReadYAML(f *testing.F) {
	for _, text := range texts {
		f.Add("title: " + text)
		f.Add(text)
	}
	f.Add("{title: a, city: &a [b, *a]}")
	f.Add("? title\n: a\n? city\n")
	f.Add("a: &a [*a]")
	f.Fuzz(func(t *testing.T, text string) {
		read := listings.readYAML(withoutNotes(text))
		n := notes{}
		for field := range read.lines {
			n[field] = []string{"a note"}
		}
		noted := listings.readYAML(listings.annotate(text, n))
		if read.syntax == nil && (noted.syntax != nil || !cmp.Equal(read.values, noted.values,
			cmp.AllowUnexported(api.Value{}))) {
			t.Errorf("notes change the values:\n%s\n%s", text, listings.annotate(text, n))
		}
		changed(read, api.Property{})
	})
}
