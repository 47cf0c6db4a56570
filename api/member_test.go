package api_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"example.com/perks/api"
)

func TestParseObjectKeepsOrderAndMarksDuplicates(t *testing.T) {
	members, err := api.ParseObject([]byte(` {"b": "1", "a": {"x": [1, 2]}, "b": "2", "\u0062": "3", "": null} `))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range members {
		name := m.Name
		if m.Repeated {
			name += " again"
		}
		if m.Value.IsNull() {
			name += " null"
		}
		got = append(got, name)
	}
	if want := "b again|a| null"; strings.Join(got, "|") != want {
		t.Errorf("got %q, want %q", strings.Join(got, "|"), want)
	}
	var first string
	if problem := members[0].Value.Text(&first); problem != "" || first != "1" {
		t.Errorf("want the first value of a duplicate member, got %q, %q", first, problem)
	}
}

func TestParseObjectRefusesAnythingElse(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"nothing":  {"", "one object"},
		"spaces":   {"  ", "one object"},
		"an array": {"[]", "one object"},
		"a string": {`"a"`, "one object"},
		"null":     {"null", "one object"},
		"not JSON": {"title=A", "one object"},
		"half a surrogate pair": {`{"a":"\ud83d\ude00","b":["x\udc00"]}`,
			`\udc00 is half of a surrogate pair`},
		"half a surrogate pair in a name": {`{"\ud800":1}`, `\ud800 is half of a surrogate pair`},
		"truncated":                       {`{"a":1`, "ends too early"},
		"truncated in a value":            {`{"a":"x`, "ends too early"},
		"truncated after a name":          {`{"a"`, "not valid"},
		"no value":                        {`{"a":}`, "not valid"},
		"an extra comma":                  {`{"a":1,}`, "not valid"},
		"a name without quotes":           {`{a:1}`, "not valid"},
		"a number as a name":              {`{1:1}`, "not valid"},
		"a leading zero":                  {`{"a":01}`, "not valid"},
		"NaN":                             {`{"a":NaN}`, "not valid"},
		"a second object":                 {`{"a":1}{"b":2}`, "nothing after it"},
		"text after the object":           {`{"a":1} x`, "nothing after it"},
		"an extra brace":                  {`{"a":1}}`, "nothing after it"},
		"the wrong bracket":               {`{"a":1]`, "not valid"},
		"invalid UTF-8":                   {"{\"a\":\"\xff\"}", "UTF-8"},
		"an encoded surrogate":            {"{\"a\":\"\xed\xa0\x80\"}", "UTF-8"},
		"a line break in a text":          {"{\"a\":\"\n\"}", "not valid"},
		"endless nesting":                 {`{"a":` + strings.Repeat("[", 1_000_000), "not valid"},
		"nesting too deep": {`{"a":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + "}",
			"not valid"},
	} {
		t.Run(name, func(t *testing.T) {
			members, err := api.ParseObject([]byte(c.text))
			if api.CodeOf(err) != api.CodeInvalidJSON || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v and %v, want %s with %q", members, err, api.CodeInvalidJSON, c.want)
			}
		})
	}
}

func TestFormMembersAreSortedByName(t *testing.T) {
	members := api.FormMembers(url.Values{"title": {"A", "B"}, "city": {""}, "a": nil})
	if len(members) != 2 || members[0].Name != "city" || members[1].Name != "title" {
		t.Fatalf("got %+v", members)
	}
	if members[0].Repeated || !members[1].Repeated {
		t.Error("want only title marked as a duplicate")
	}
	var text string
	if problem := members[1].Value.Text(&text); problem != "" || text != "A" {
		t.Errorf("title is %q, %q, want the first value", text, problem)
	}
	if members[0].Value.IsNull() {
		t.Error("an empty form value is null")
	}
}

func TestEmptyCellIsNull(t *testing.T) {
	members := api.CellMembers([]string{"title", "city", "title"}, []string{"A", "", "B", "beyond the header"})
	if len(members) != 2 || members[0].Name != "title" || !members[0].Repeated || members[0].Value.IsNull() {
		t.Errorf("got %+v, want a duplicate title and city", members)
	}
	if city := members[1]; city.Name != "city" || !city.Value.IsNull() {
		t.Errorf("got %+v, want a null city", city)
	}
}

func TestMembersOfTwoListsAreDuplicates(t *testing.T) {
	once, err := api.ParseObject([]byte(`{"a":1,"b":2,"b":3}`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range api.JoinMembers(once, []api.Member{{Name: "c"}, {Name: "a"}}) {
		got = append(got, fmt.Sprintf("%s %t", m.Name, m.Repeated))
	}
	if want := []string{"a true", "b true", "c false"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
