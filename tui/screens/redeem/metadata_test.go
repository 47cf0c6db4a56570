package redeem

import (
	"strings"
	"testing"

	"example.com/perks/api"
	"example.com/perks/tui/theme"
)

func TestMetadataIsReadFromRows(t *testing.T) {
	for name, test := range map[string]struct {
		rows []string
		want string
	}{
		"nothing":            {[]string{""}, ""},
		"blank rows":         {[]string{" ", ""}, ""},
		"one":                {[]string{"ticket=4711", ""}, `{"ticket":"4711"}`},
		"sorted by key":      {[]string{"b=2", "a=1"}, `{"a":"1","b":"2"}`},
		"blank rows between": {[]string{"", "a=1", "", "b=2"}, `{"a":"1","b":"2"}`},
		"a value with an =":  {[]string{"sum=1+1=2"}, `{"sum":"1+1=2"}`},
		"an empty value":     {[]string{"a="}, `{"a":""}`},
		"HTML characters":    {[]string{"a=<&>"}, `{"a":"<&>"}`},
		"quotes":             {[]string{`a="b"`}, `{"a":"\"b\""}`},
		"an object":          {[]string{` {"guests": 2, "at": ["x"]} `, ""}, `{"guests":2,"at":["x"]}`},
		"an empty object":    {[]string{"{}"}, `{}`},
		"an invalid object":  {[]string{`{"guests": `}, ""},
	} {
		if got := string(metadata(test.rows)); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestRowProblem(t *testing.T) {
	long := func(n int) string { return strings.Repeat("x", n) }
	for name, test := range map[string]struct {
		rows []string
		want string // of the last row
	}{
		"blank":                      {[]string{" "}, ""},
		"valid":                      {[]string{"a=1"}, ""},
		"the same value":             {[]string{"a=1", "b=1"}, ""},
		"no =":                       {[]string{"a"}, "must be key=value"},
		"no key":                     {[]string{"=1"}, "must have a key"},
		"a blank key":                {[]string{" =1"}, "must have a key"},
		"a duplicate key":            {[]string{"a=1", "", "a=2"}, `has the key "a" a second time`},
		"an object":                  {[]string{`{"a":1}`}, ""},
		"an object in a second row":  {[]string{"a=1", `{"b":1}`}, "belongs in the first one"},
		"a row below an object":      {[]string{`{"a":1}`, "b=1"}, "must be empty"},
		"a blank below an object":    {[]string{`{"a":1}`, ""}, ""},
		"an invalid object":          {[]string{`{"a":`}, "cannot be read: The JSON is not valid"},
		"two objects":                {[]string{`{} {}`}, "cannot be read"},
		"of maximum length":          {[]string{"a=" + long(api.MaxMetadata-8)}, ""},
		"too long":                   {[]string{"a=" + long(api.MaxMetadata-7)}, "longer than 16384 bytes"},
		"too long together":          {[]string{"a=" + long(10_000), "b=" + long(10_000)}, "longer than 16384 bytes"},
		"after one that is too long": {[]string{"a=" + long(20_000), "b=1"}, ""},
		"an object too long":         {[]string{`{"a":"` + long(api.MaxMetadata) + `"}`}, "at most 16384 bytes"},
	} {
		got := rowProblem(test.rows, len(test.rows)-1)
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestOneBlankRowIsKept(t *testing.T) {
	f := newFields(theme.New(theme.None, 0), "", nil)
	rows := func(want int) {
		t.Helper()
		f.keepOneBlankRow()
		if got := len(f.rows()); got != want {
			t.Errorf("%d rows, want %d: %q", got, want, f.rows())
		}
	}
	rows(1)
	f.FocusOnName(firstRow)
	f.Set(firstRow, "a=1")
	rows(2)
	f.Set("metadata2", "b=2")
	rows(3)
	f.Set("metadata2", "")
	rows(2)
	f.Set(firstRow, "")
	rows(1)
	f.Set(firstRow, "a=1")
	rows(2)
	f.FocusOnName("metadata2")
	f.Set(firstRow, "")
	rows(2) // it has the focus
	if f.request().Metadata != nil {
		t.Errorf("the rows make %s", f.request().Metadata)
	}
}
