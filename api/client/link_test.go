package client

import (
	"net/http"
	"strings"
	"testing"
)

func TestNextLink(t *testing.T) {
	for name, test := range map[string]struct {
		headers []string
		target  string
		links   bool
	}{
		"none":                            {nil, "", false},
		"one":                             {[]string{`<https://a/?p=2>; rel="next"`}, "https://a/?p=2", true},
		"without quotes, in another case": {[]string{`<x>; REL=Next`}, "x", true},
		"among others":                    {[]string{`<a>; rel="first", <b>; rel="next", <c>; rel="last"`}, "b", true},
		"in a second header":              {[]string{`<a>; rel="first"`, `<b>; rel="next"`}, "b", true},
		"with several relations":          {[]string{`<b>; rel="prefetch next"`}, "b", true},
		"with a comma in the address":     {[]string{`<b?x=1,2>; rel="next"`}, "b?x=1,2", true},
		"with a comma in a title":         {[]string{`<a>; title="x, <no>; rel=next"; rel="first"`}, "", true},
		"with a quote in a title":         {[]string{`<a>; title="\"x, <no>; rel=next"; rel="first"`}, "", true},
		"another name":                    {[]string{`<a>; rel="nextish"; title="next"`}, "", false},
		"broken":                          {[]string{`a; rel=next`, `<a; rel=next`, `>x<`}, "", false},
	} {
		header := http.Header{"Link": test.headers}
		if target, links := nextLink(header); target != test.target || links != test.links {
			t.Errorf("%s: %q, %t; want %q, %t", name, target, links, test.target, test.links)
		}
	}
}

func FuzzNextLink(f *testing.F) {
	f.Add(`<a>; rel="first", <b>; rel="next"`)
	f.Add(`<a>; title="\\"; rel=next`)
	f.Fuzz(func(t *testing.T, value string) {
		target, links := nextLink(http.Header{"Link": {value}})
		if target != "" && (!links || !strings.Contains(value, "<"+target+">")) {
			t.Errorf("%q has no link to %q", value, target)
		}
	})
}
