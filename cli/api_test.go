package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func TestParseRequest(t *testing.T) {
	file := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(file, []byte("1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		args   string
		fields string // -F typed, -f text
		input  string
		want   string // method, path, query, body; "": refused
	}{
		"a path":               {"health", "", "", "GET health  "},
		"a method in any case": {"delete x/1", "", "", "DELETE x/1  "},
		"fields of a query": {"GET x", "-F a=1 -f a=2 -F b== -F c=null -F d[]=true -f e=null -F f=1.50", "",
			"GET x a=1&a=2&b=%3D&c=&d%5B%5D=true&e=null&f=1.50 "},
		"fields of a body": {"POST x", "-F s=a -F n:=1.50 -f o:={\"a\":[]} -F e=", "",
			`POST x  {"e":"","n":1.50,"o":{"a":[]},"s":"a"}`},
		"types": {"POST x", "-F a=1 -F b=-1.50 -F c=true -F d=null -F e=007 -F f=True -F g=1_0", "",
			`POST x  {"a":1,"b":-1.50,"c":true,"d":null,"e":"007","f":"True","g":"1_0"}`},
		"texts": {"POST x", "-f a=1 -f b=true -f c=null -f d=@x", "",
			`POST x  {"a":"1","b":"true","c":"null","d":"@x"}`},
		"the text of a file": {"POST x", "-F a=@" + file, "", `POST x  {"a":"1\n"}`},
		"standard input":     {"POST x", "-F a=@-", "", `POST x  {"a":"from stdin"}`},
		"members inside":     {"POST x", "-F a[b]=1 -f a[c][d]=2", "", `POST x  {"a":{"b":1,"c":{"d":"2"}}}`},
		"an array": {"POST x", "-F a[]=1 -f a[]=2 -F b[] -F c[d][]=null", "",
			`POST x  {"a":[1,"2"],"b":[],"c":{"d":[null]}}`},
		"an array of objects": {"POST x", "-F a[][b]=1 -F a[][c]=2 -F a[][b]=3 -F a[][d][]=4 -F a[][d][]=5", "",
			`POST x  {"a":[{"b":1,"c":2},{"b":3,"d":[4,5]}]}`},
		"a body":                    {"PUT x", "", "-", "PUT x  from stdin"},
		"a body and a query":        {"POST x", "-F a=1", "-", "POST x a=1 from stdin"},
		"no path":                   {"", "", "", ""},
		"an extra argument":         {"GET a b", "", "", ""},
		"an unknown method":         {"FETCH x", "", "", ""},
		"a body for a read":         {"GET x", "", "-", ""},
		"a field without =":         {"POST x", "-F a", "", ""},
		"a field without a key":     {"GET x", "-F =a", "", ""},
		"a field that is not JSON":  {"POST x", "-F a:=b", "", ""},
		"a duplicate field":         {"POST x", "-F a=1 -F a:=1", "", ""},
		"a member twice":            {"POST x", "-F a[b]=1 -F a[b]=1", "", ""},
		"an object and a value":     {"POST x", "-F a=1 -F a[b]=1", "", ""},
		"an object and an array":    {"POST x", "-F a[b]=1 -F a[]=1", "", ""},
		"an unclosed key":           {"POST x", "-F a[b=1", "", ""},
		"an array of arrays":        {"POST x", "-F a[][]=1 -F a[][]=2", "", `POST x  {"a":[[1,2]]}`},
		"a missing file":            {"POST x", "", "/does/not/exist", ""},
		"a missing file of a field": {"POST x", "-F a=@/does/not/exist", "", ""},
		"standard input twice":      {"POST x", "-F a=@- -F b=@-", "", ""},
	} {
		fields := &apiFields{stdin: strings.NewReader("from stdin")}
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		bindFields(flags, fields)
		if err := flags.Parse(strings.Fields(test.fields)); err != nil {
			t.Fatal(err)
		}
		r, err := parseRequest(strings.Fields(test.args), fields, test.input)
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
	for _, line := range []string{"If-Match", "If-Match:", "If-Match: ", ": x", "a b: c", "X: a\rb",
		"authorization: Bearer x", "Host: x"} {
		if _, err := parseHeaders([]string{line}); err == nil {
			t.Errorf("%q is accepted", line)
		}
	}
	if _, err := parseHeaders([]string{"X: 1", "x: 2"}); err == nil {
		t.Error("a duplicate header is accepted")
	}
}
