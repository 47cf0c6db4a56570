package cli

import (
	"strings"
	"testing"
)

func TestParseRequest(t *testing.T) {
	for name, test := range map[string]struct {
		args   string
		fields []string
		input  string
		want   string // method, path, query, body; "": refused
	}{
		"a path":                   {"health", nil, "", "GET health  "},
		"a method in any case":     {"delete x/1", nil, "", "DELETE x/1  "},
		"fields of a query":        {"GET x", []string{"a=1", "a=2", "b=="}, "", "GET x a=1&a=2&b=%3D "},
		"fields of a body":         {"POST x", []string{"s=1", "n:=1.50", "o:={\"a\":[]}", "e="}, "", `POST x  {"e":"","n":1.50,"o":{"a":[]},"s":"1"}`},
		"a body":                   {"PUT x", nil, "-", "PUT x  from stdin"},
		"no path":                  {"", nil, "", ""},
		"an extra argument":        {"GET a b", nil, "", ""},
		"an unknown method":        {"FETCH x", nil, "", ""},
		"a body for a read":        {"GET x", nil, "-", ""},
		"a body and fields":        {"POST x", []string{"a=1"}, "-", ""},
		"a field without =":        {"POST x", []string{"a"}, "", ""},
		"a field that is not JSON": {"POST x", []string{"a:=b"}, "", ""},
		"a duplicate field":        {"POST x", []string{"a=1", "a:=1"}, "", ""},
		"a missing file":           {"POST x", nil, "/does/not/exist", ""},
	} {
		r, err := parseRequest(strings.Fields(test.args), test.fields, test.input, strings.NewReader("from stdin"))
		got := strings.Join([]string{r.Method, r.Path, r.Query.Encode(), string(r.Body)}, " ")
		if (err == nil) != (test.want != "") || err == nil && got != test.want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, test.want)
		}
	}
}

func TestParseHeaders(t *testing.T) {
	got, err := parseHeaders([]string{`if-match: "abc"`, "Idempotency-Key:k:1"})
	if err != nil || len(got) != 2 || got["If-Match"] != `"abc"` || got["Idempotency-Key"] != "k:1" {
		t.Errorf("%v, %v", got, err)
	}
	for _, line := range []string{"If-Match", "If-Match:", "If-Match: ", ": x", "a b: c", "X: a\rb", "authorization: Bearer x", "Host: x"} {
		if _, err := parseHeaders([]string{line}); err == nil {
			t.Errorf("%q is accepted", line)
		}
	}
	if _, err := parseHeaders([]string{"X: 1", "x: 2"}); err == nil {
		t.Error("a duplicate header is accepted")
	}
}
