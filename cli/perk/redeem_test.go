package perk

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"example.com/perks/api"
	"example.com/perks/cli/command"
	"example.com/perks/cli/session"
)

// TestRetryCommandHasEveryFlag loses the reply of a redemption and checks the advised command.
func TestRetryCommandHasEveryFlag(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter,
		r *http.Request) {
		panic(http.ErrAbortHandler)
	}))
	defer server.Close()
	env := map[string]string{session.EnvAPIURL: server.URL, session.EnvToken: "token",
		session.EnvConfigDir: t.TempDir()}
	streams, _, _ := command.BufferedStreams("")
	s := session.New(streams, func(name string) string { return env[name] }, "test")
	s.Bind(pflag.NewFlagSet("root", pflag.ContinueOnError))
	s.WaitBudget = 1
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"spa", "-u", "bob", "-m", "a=1", "-m", "b=two words", "--dry-run=false"},
			`perksctl perk redeem spa --user bob --metadata a=1 --metadata 'b=two words' --dry-run=false --idempotency-key [0-9a-f-]{36}`},
		{[]string{"spa", "--user=bob", "--idempotency-key", "mine", "--metadata", "{\"a\": \"b,c\"}"},
			`perksctl perk redeem spa --user bob --idempotency-key mine --metadata '{"a": "b,c"}'`},
	} {
		cmd := NewRedeem(s)
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetArgs(test.args)
		var advised *command.Advised
		err := cmd.ExecuteContext(t.Context())
		if !errors.As(err, &advised) || !regexp.MustCompile("\n  "+test.want+"$").MatchString(advised.Advice) {
			t.Errorf("%v: %v, advice %+v", test.args, err, advised)
		}
	}
}

func TestParseMetadata(t *testing.T) {
	for name, test := range map[string]struct {
		entries []string
		want    string // "": refused
	}{
		"pairs":                   {[]string{"a=1", "b=x=y", "c="}, `{"a":"1","b":"x=y","c":""}`},
		"an object unchanged":     {[]string{`{"n": 2.50}`}, `{"n":2.50}`},
		"a member twice":          {[]string{`{"a":{"b":1,"b":2}}`}, ""},
		"too long":                {[]string{"a=" + strings.Repeat("x", api.MaxMetadata)}, ""},
		"marks of HTML":           {[]string{"a=<&>"}, `{"a":"<&>"}`},
		"not a pair":              {[]string{"oops"}, ""},
		"no key":                  {[]string{"=x"}, ""},
		"a key twice":             {[]string{"a=1", "a=2"}, ""},
		"an object and a pair":    {[]string{`{}`, "a=1"}, ""},
		"a broken object":         {[]string{`{"a":`}, ""},
		"text after the object":   {[]string{`{} {}`}, ""},
		"not an object":           {[]string{`["a"]`}, ""},
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
