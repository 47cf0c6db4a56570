package perk

import (
	"testing"
)

func TestParseMetadata(t *testing.T) {
	for name, test := range map[string]struct {
		entries []string
		want    string // "" is refused
	}{
		"pairs":                   {[]string{"a=1", "b=x=y", "c="}, `{"a":"1","b":"x=y","c":""}`},
		"an object as it stands":  {[]string{`{"n": 2.50}`}, `{"n": 2.50}`},
		"no pair":                 {[]string{"oops"}, ""},
		"no key":                  {[]string{"=x"}, ""},
		"a key twice":             {[]string{"a=1", "a=2"}, ""},
		"an object and a pair":    {[]string{`{}`, "a=1"}, ""},
		"a broken object":         {[]string{`{"a":`}, ""},
		"something behind it":     {[]string{`{} {}`}, ""},
		"text that is no object":  {[]string{`["a"]`}, ""},
		"an object after a pair":  {[]string{"a=1", `{"b":2}`}, ""},
		"a pair whose value is {": {[]string{"a={"}, `{"a":"{"}`},
	} {
		got, err := parseMetadata(test.entries)
		if string(got) != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%s: %s, %v; want %s", name, got, err, test.want)
		}
	}
	if got, err := parseMetadata(nil); got != nil || err != nil {
		t.Errorf("nothing: %s, %v", got, err)
	}
}
