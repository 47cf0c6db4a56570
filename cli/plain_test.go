package cli_test

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"example.com/perks/cli/session"
)

// librariesWords is how Go and its libraries speak of their own functions, types and states.
var librariesWords = regexp.MustCompile(strings.Join([]string{
	`strconv\.`, `(^| )(yaml|json|template|x509|tls|csv|flag|exec|fs):`, `executing "`, `read \.`, `dial tcp`,
	`net/http`, `net/url`, `fork/exec`, `%!`,
	`\bopen [^ ]+:`, `\bread [^ ]+:`, `\bwrite [^ ]+:`, `\bstat [^ ]+:`, `\bmkdir [^ ]+:`, `\bparse "`,
	`parsing (time|regexp)`, `parse error`,
	`invalid character`, `unexpected EOF`, `end of JSON`, `looking for beginning`, `cannot unmarshal`, `Go value`,
	`Go struct`, `interface \{\}`,
	`did not find expected`, `could not find expected`, `cannot start any token`, `end of stream`, `not found in type`,
	`Invalid argument "`, `shorthand`, `Flag needs`,
	`malformed`, `no such (host|file)`, `missing protocol`, `unsupported protocol`, `exit status`, `file not found`,
	`is a directory`, `not a directory`, `illegal base64`,
	`context (deadline|canceled)`, `\bEOF\b`,
}, "|"))

// answers starts a server that sends these bytes to every request, and returns its address.
func answers(t *testing.T, reply string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer connection.Close()
				_, _ = connection.Read(make([]byte, 4096))
				_, _ = io.WriteString(connection, reply)
			}()
		}
	}()
	return "http://" + listener.Addr().String() + "/v2"
}

// TestNoErrorHasTheWordsOfALibrary makes every kind of error that comes from a library. Each message must be ours, and
// say what is wanted.
func TestNoErrorHasTheWordsOfALibrary(t *testing.T) {
	x, _ := loggedIn(t)
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, path, text)
		return path
	}
	script := func(name, text string) string {
		path := file(name, text)
		if err := os.Chmod(path, 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	config := func(name, text string) string { return filepath.Dir(file(name+"/config.yaml", text)) }
	response := func(kind, body string) string {
		return answers(t, "HTTP/1.1 200 OK\r\nContent-Type: "+kind+"\r\nConnection: close\r\n\r\n"+body)
	}
	type failure struct {
		want string // in the message
		env  string // NAME=VALUE
		args []string
	}
	list := func(flags ...string) []string { return append([]string{"perk", "list"}, flags...) }
	at := func(want, address string) failure {
		return failure{want, session.EnvAPIURL + "=" + address, list("--timeout", "20s")}
	}
	setting := func(want, name, text string) failure {
		return failure{want, session.EnvConfigDir + "=" + config(name, text), []string{"config", "list"}}
	}
	edit := func(want, name, editor string) failure {
		return failure{want, "EDITOR=" + editor, []string{"property", "edit", "42", "--yes"}}
	}
	draft := func(want, name, text string) failure {
		from := file(name, text)
		return edit(want, name, "sh -c 'cp "+from+" \"$0\"'")
	}
	missing := filepath.Join(dir, "missing")
	for name, test := range map[string]failure{
		"jq: end":            {"it ends too early", "", list("--jq", ".[")},
		"jq: quote":          {"a quote is not closed", "", list("--jq", `"a`)},
		"jq: function":       {"there is no function foo/0", "", list("--jq", "foo")},
		"jq: types":          {"failed: cannot add", "", list("--jq", ".[].title + 1")},
		"jq: error":          {`it ended with the error x.`, "", list("--jq", `error("x")`)},
		"jq: regular":        {`"[" is not a regular expression`, "", list("--jq", `.[].id | test("[")`)},
		"jq: base64":         {"it is not Base64", "", list("--jq", ".[].id | @base64d")},
		"jq: fromjson":       {"it is not JSON", "", list("--jq", ".[].id | fromjson")},
		"template: open":     {"not valid: a {{ is not closed by }}", "", list("--template", "{{.x")},
		"template: end":      {"not valid: an {{end}} is missing", "", list("--template", "{{range .}}x")},
		"template: line":     {"not valid: in line 2, unexpected {{end}}", "", list("--template", "\n{{end}}")},
		"template: function": {"there is no function timego; perhaps timeago", "", list("--template", "{{timego 1}}")},
		"template: list": {"failed: in {{.title}}, a list has no field title.\nA list is an array: begin with " +
			"{{range .}}", "", list("--template", "{{.title}}")},
		"template: field": {"the record has no field nope", "", list("--template", "{{range .}}{{.nope}}{{end}}")},
		"template: value": {"the value there has no field x", "",
			list("--template", "{{range .}}{{.title.x}}{{end}}")},
		"template: index":   {"the list has no item 900", "", list("--template", "{{index . 900}}")},
		"template: compare": {"incompatible types", "", list("--template", `{{eq 1 "a"}}`)},
		"flag: number":      {`--page "x": it must be a whole number`, "", list("--page", "x")},
		"flag: range":       {"too large or too small", "", list("--page", "99999999999999999999")},
		"flag: duration":    {`--timeout "5": it must be a number with a unit`, "", list("--timeout", "5")},
		"flag: switch":      {`--sandbox "x": it must be true or false`, "", list("--sandbox=x")},
		"flag: list":        {"a quote in it is not closed", "", list("--fields", `a,"b`)},
		"flag: letter":      {"perksctl perk list has no flag -z", "", list("-z")},
		"flag: no value":    {"--output needs a value", "", list("--output")},
		"flag: short":       {"-o needs a value", "", list("-o")},
		"flag: dashes":      {`"---x" is not a flag`, "", list("---x")},
		"flag: unknown":     {"perksctl perk list has no flag --cty. Did you mean --city?", "", list("--cty", "x")},
		"flag: time":        {"must be an RFC 3339 time", "", []string{"redemption", "list", "--since", "x"}},
		"flag: place":       {"must be latitude,longitude", "", list("--near", "a,b")},
		"flag: price": {"must be digits and a point", "",
			[]string{"property", "update", "42", "--price-pw", "x"}},
		"flag: metadata": {"it ends too early", "", []string{"perk", "redeem", "coffee", "--user", "alice",
			"--metadata", "{"}},
		"flag: id":     {"must not be . or ..", "", []string{"property", "get", "."}},
		"path: escape": {`"%zz" is not valid there; write a percent sign as %25`, "", []string{"api", "%zz"}},
		"path: scheme": {`":" is not a path`, "", []string{"api", ":"}},
		"path: host":   {`"http://[::1" is not a path`, "", []string{"api", "http://[::1"}},
		"field: JSON":  {"is not JSON", "", []string{"api", "POST", "perks", "-F", "a:={"}},
		"field: file": {missing + " does not exist", "",
			[]string{"api", "POST", "perks", "-F", "a=@" + missing}},
		"file: missing": {missing + " does not exist", "", []string{"perk", "redeem", "--file", missing}},
		"file: folder":  {dir + " is a folder", "", []string{"perk", "redeem", "--file", dir}},
		"file: below a file": {"a part of this path is a file", "",
			[]string{"perk", "redeem", "--file", file("plain", "") + "/x"}},
		"file: JSON": {`column 20 has an unexpected "}"`, "",
			[]string{"perk", "redeem", "--dry-run", "--file", file("bad.jsonl", `{"perk":"a","user":}`)}},
		"file: CSV": {"a quote that is never closed", "",
			[]string{"perk", "redeem", "--dry-run", "--file", file("bad.csv", "perk,user\n\"a,b")}},
		"file: object": {`"t" is not expected there`, "",
			[]string{"property", "update", "42", "--from-file", file("bad.json", "{title: 1}")}},
		"results: no folder": {"does not exist", "", []string{"perk", "redeem", "--file",
			file("good.csv", "perk,user\ncoffee,alice\n"), "--results", missing + "/x/y"}},
		"results: a folder": {"is not a regular file", "",
			[]string{"perk", "redeem", "--file", file("good.csv", "perk,user\ncoffee,alice\n"), "--results", dir}},
		"failed: no folder": {missing + " does not exist", "",
			[]string{"perk", "redeem", "--file", file("good.csv", "perk,user\ncoffee,alice\n"), "--failed", missing +
				"/x"}},
		"CA: missing":         {missing + ", which --ca-cert names, does not exist", "", list("--ca-cert", missing)},
		"config: brackets":    setting("line 1: a [ is not closed", "brackets", "current: [a\nb: 1"),
		"config: tab":         setting("indent with blanks", "tab", "\tcurrent: x"),
		"config: quote":       setting("a quote is not closed", "quote", "current: \"x"),
		"config: indentation": setting("does not fit those above it", "indent", "tui:\n  theme: dark\n mouse: true"),
		"config: colon":       setting("a value has a colon in it", "colon", "current: b: c"),
		"config: anchor":      setting("*x refers to nothing", "anchor", "current: *x"),
		"config: unknown":     setting(`line 1: "nope" is not known`, "unknown", "nope: 1"),
		"config: twice":       setting(`"current" is already in line 1`, "twice", "current: a\ncurrent: b"),
		"config: type":        setting(`line 1: "3" is not valid here`, "type", "profiles: 3"),
		"config: a folder": {"config.yaml is a folder", session.EnvConfigDir + "=" +
			filepath.Dir(filepath.Dir(file("folder/config.yaml/x", ""))), []string{"config", "list"}},
		"config: no folder": {"a part of this path is a file", session.EnvConfigDir + "=" + file("plain", ""),
			[]string{"config", "set", "tui.theme", "light"}},
		"editor: missing":    edit("no-such-editor is not installed", "", "no-such-editor"),
		"editor: fails":      edit("it ended with exit code 3", "", script("fails", "#!/bin/sh\nexit 3\n")),
		"editor: no program": edit("is no program for this computer", "", script("text", "\x00\x01")),
		"draft: brackets":    draft("not valid YAML: line 1: a value is not complete", "1.yaml", "title: ["),
		"draft: tab":         draft("indent with blanks", "2.yaml", "\ttitle: x"),
		"draft: number":      draft("must be a whole number", "3.yaml", "bedrooms: many"),
		"network: refused":   at("connection refused by", "http://127.0.0.1:1/v2"),
		"network: no name":   at("the name perks.invalid is not known", "https://perks.invalid/v2"),
		"network: port":      at("a port is from 1 to 65535", "http://127.0.0.1:99999/v2"),
		"network: no TLS": at("does not speak TLS", strings.Replace(answers(t, "hello\r\n\r\n"), "http:", "https:",
			1)),
		"network: closed":  at("closed the connection without a response", answers(t, "")),
		"network: no HTTP": at("what came back is not HTTP. Is the port right?", answers(t, "hello\r\n\r\n")),
		"network: status":  at("what came back is not HTTP", answers(t, "HTTP/1.1 xx OK\r\n\r\n")),
		"network: header":  at("what came back is not HTTP", answers(t, "HTTP/1.1 200 OK\r\nfoo\r\n\r\n")),
		"network: length": at("what came back is not HTTP",
			answers(t, "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n")),
		"network: chunk": at("what came back is not HTTP",
			answers(t, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")),
		"network: cut off": at("the response was cut off",
			answers(t, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")),
		"network: redirects": at("redirects more than 5 times",
			answers(t, "HTTP/1.1 302 Found\r\nLocation: /v2/x\r\nContent-Length: 0\r\n\r\n")),
		"network: location": at("redirects to what is no address",
			answers(t, "HTTP/1.1 302 Found\r\nLocation: http://[::\r\nContent-Length: 0\r\n\r\n")),
		"response: HTML":  at(`not with what was asked for: it is a web page`, response("text/html", "<html>")),
		"response: page":  at(`is the web page "Log in"`, response("text/html", "<html><title>Log in</title>")),
		"response: empty": at("it is an empty body", response("application/json", "")),
		"response: list":  at("it is a list", response("application/json", "[]")),
		"response: type": at("another kind of value for data.title: number",
			response("application/json", `{"data":[{"title":3}]}`)),
		"response: time": at(`"now" is not a time such as`,
			response("application/json", `{"data":[{"id":"x","valid_to":"now"}]}`)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // some wait before they try again
			environment := map[string]string{}
			for name, value := range x.env {
				environment[name] = value
			}
			if name, value, given := strings.Cut(test.env, "="); given {
				environment[name] = value
				if name == session.EnvAPIURL {
					environment[session.EnvToken] = "t"
				}
			}
			r := (&terminal{t: t, env: environment}).run(test.args...)
			if r.code == 0 || !strings.Contains(r.err, test.want) {
				t.Errorf("perksctl %q: exit code %d, %q, want %q", test.args, r.code, r.err, test.want)
			}
			if found := librariesWords.FindString(r.err); found != "" {
				t.Errorf("perksctl %q says %q in %q", test.args, found, r.err)
			}
		})
	}
}
