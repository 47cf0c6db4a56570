package cli_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"example.com/perks/api/display"
	"example.com/perks/cli"
	"example.com/perks/cli/command"
	"example.com/perks/cli/session"
)

// hostileText is a long text with terminal escapes, bidi characters, line breaks, invalid UTF-8 and a formula.
var hostileText = "=cmd()\x1b[31m\x1b]0;title\a\x1b]52;c;ZXZpbA==\a\x1b[6n\x1b[2J\u009b31m\u0090q\u202egnp.exe\u202c" +
	"\u2066\u200f\u061c\r\nforged: line\r\x00\b\x7f\t" +
	"\xff\x9b33m\xc3(\u2028\u2029" + strings.Repeat("very long ", 500)

// hostileJSON returns hostileText as a JSON string. It keeps invalid UTF-8, and escapes what JSON requires.
func hostileJSON() string {
	var out strings.Builder
	out.WriteByte('"')
	for i := 0; i < len(hostileText); i++ {
		switch b := hostileText[i]; {
		case b == '"' || b == '\\':
			out.WriteByte('\\')
			out.WriteByte(b)
		case b < 0x20:
			fmt.Fprintf(&out, `\u%04x`, b)
		default:
			out.WriteByte(b)
		}
	}
	out.WriteByte('"')
	return out.String()
}

// hostile starts a server that replies with hostileText in every text field, and with the status to all requests.
func hostile(t *testing.T, status int) (*terminal, string) {
	t.Helper()
	v := hostileJSON()
	with := func(text string) string { return strings.ReplaceAll(text, "V", v) }
	perk := with(`{"id":V,"title":V,"description":V,"category":V,"merchant_name":V,"image_url":V,"discount_text":V,
		"terms":V,"city":V,"valid_from":null,"valid_to":"2035-01-01T00:00:00+09:00",
		"created_at":"2025-01-01T00:00:00Z","updated_at":"2025-01-01T00:00:00Z",V:V}`)
	redemption := with(`{"id":V,"perk_id":V,"user_id":V,"redeemed_at":"2025-01-01T00:00:00Z","status":V,
		"metadata":{V:V}}`)
	property := with(`{"propertyId":42,"title":V,"description":V,"address":V,"city":V,"postcode":V,"images":[V,V],
		"price_pw":"1.00"}`)
	refusal := with(`{"code":V,"message":V,"response":V,"errors":{V:[V,V]}}`)
	page := func(item string) string {
		return `{"data":[` + item + `,` + item + `],"meta":{"page":1,"per_page":2,"total":2,"total_pages":1}}`
	}
	bodies := map[string]string{
		"/v2/partners/perks": page(perk), "/v2/partners/perks/x": perk,
		"/v2/partners/perks/categories": with(`[{"id":V,"category_name":V}]`),
		"/v2/partners/perks/x/redeem":   redemption, "/v2/get-property/42": property,
		"/v2/health": with(`{"status":V,V:V}`),
		"/v2/text":   hostileText, "/v2/list": with(`[V,{V:V}]`),
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		header := inHeader(hostileText)
		for _, name := range []string{"X-Request-Id", "Location", "ETag", "Link", "Server", "X-Other", "Set-Cookie"} {
			w.Header()[name] = []string{header}
		}
		w.Header().Set("Content-Type", "application/json")
		body := bodies[r.URL.Path]
		switch {
		case r.URL.Path == "/v2/auth/token":
			_, _ = io.WriteString(w, `{"access_token":"opaque-token","expires_at":"2099-01-01T00:00:00Z"}`)
			return
		case status != 200:
			w.WriteHeader(status)
			if body = refusal; status == 400 {
				w.Header()["Content-Type"] = []string{"text/plain"}
				body = strings.ReplaceAll(hostileText, "\n", "")[:150]
			}
		case strings.HasSuffix(r.URL.Path, "/perks") && strings.Contains(r.URL.Path, "/users/"):
			if body = page(perk); r.URL.Query().Get("type") == "redeemed" {
				body = page(redemption)
			}
		case body == "":
			body = with(`{"message":V}`)
		}
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	return newTerminal(t, map[string]string{
		session.EnvAPIURL: server.URL + "/v2", session.EnvClientID: "c", session.EnvClientSecret: "opaque-secret",
	}), server.URL
}

// inHeader keeps what net/http allows in a header: no C0, but C1, bidi characters and invalid UTF-8.
func inHeader(text string) string {
	var out []byte
	for _, b := range []byte(text[:400]) {
		if b >= 0x20 && b != 0x7f {
			out = append(out, b)
		}
	}
	return string(out)
}

var hostileCommands = []string{
	"perk list", "perk list --all", "perk list --limit 1", "perk get x", "perk get x x", "perk categories",
	"perk redeem x --user u",
	"perk redeem x --user u --dry-run", "user perks u", "user perks u --type redeemed", "property get 42",
	"property get 42 42", "property history 42", "property restore 42",
	"property update 42 --title T", "property delete 42 --yes", "auth status", "api health", "api text", "api list",
	"api partners/perks --paginate",
	"api POST x --field a=b", "perk list --fields title,city,id", "perk list --jq .[].title",
	"perk list --template {{range.}}{{.title}}{{end}}",
	"api list --jq .[0]", "api text --debug", "perk get x --debug", "perk redeem x --user u --debug",
}

// TestHostileServerCannotControlTerminal runs every command in every format against a hostile server, with and without
// a terminal.
func TestHostileServerCannotControlTerminal(t *testing.T) {
	for _, status := range []int{200, 302, 400, 401, 403, 404, 409, 422, 500} {
		x, _ := hostile(t, status)
		for _, line := range hostileCommands {
			for _, format := range []string{"", "table", "json", "yaml", "csv", "csv --raw", "jsonl", "id"} {
				if status != 200 && format != "" && format != "json" {
					continue // errors have no other formats
				}
				args := strings.Fields(line)
				if format != "" {
					args = append(args, "-o")
					args = append(args, strings.Fields(format)...)
				}
				onTerminal, out, messages := x.runWithColour(args...)
				name := fmt.Sprintf("status %d: perksctl %s", status, strings.Join(args, " "))
				checkClean(t, name+" on a terminal, stdout", out)
				checkClean(t, name+" on a terminal, stderr", messages)
				r := x.run(args...)
				checkClean(t, name+", stderr", r.err)
				if r.code != onTerminal {
					t.Errorf("%s: exit code %d on a terminal, %d without", name, onTerminal, r.code)
				}
				if !asSent(format, line) {
					checkClean(t, name+", stdout", r.out)
				}
				if r.code == 0 {
					checkFormat(t, name, strings.TrimSuffix(format, " --raw"), line, r.out)
				} else if format == "json" && !strings.Contains(line, "--debug") &&
					!json.Valid([]byte(lastLine(r.err))) {
					t.Errorf("%s: the error is not JSON: %.200q", name, r.err)
				}
				if t.Failed() {
					return // one failure is enough to read
				}
			}
		}
	}
}

// asSent reports whether the output has texts unchanged: the format cannot escape them.
func asSent(format, line string) bool {
	if strings.Contains(line, "--jq") || strings.Contains(line, "--template") {
		return format != "json" && format != "jsonl" || strings.Contains(line, "--template")
	}
	return strings.HasPrefix(format, "csv") || format == "id" || strings.HasPrefix(line, "api text")
}

// runWithColour runs a command on a terminal with colour, and removes perksctl's own colours from its output.
func (x *terminal) runWithColour(args ...string) (code int, out, messages string) {
	s, o, e := command.BufferedStreams("")
	s.InTTY, s.OutTTY, s.ErrTTY, s.Width = true, true, true, 90
	code = cli.Main(args, s, func(name string) string { return x.env[name] })
	own := strings.NewReplacer("\x1b[1m", "", "\x1b[0m", "", "\x1b[31merror: \x1b[0m", "error: ",
		"\x1b[33mwarning: \x1b[0m", "warning: ")
	return code, own.Replace(o.String()), own.Replace(e.String())
}

// checkClean fails if the text has control characters other than newlines and tabs.
func checkClean(t *testing.T, name, text string) {
	t.Helper()
	for i, r := range text {
		if display.IsControl(r) && r != '\n' && r != '\t' {
			t.Errorf("%s: %U in %q", name, r, text[max(0, i-40):min(len(text), i+20)])
			return
		}
	}
	if !utf8.ValidString(text) {
		t.Errorf("%s: not UTF-8", name)
	}
}

// checkFormat checks that the data is valid in its format.
func checkFormat(t *testing.T, name, format, line, data string) {
	t.Helper()
	var err error
	switch {
	case strings.Contains(line, "--jq") || strings.Contains(line, "--template") || strings.HasPrefix(line, "api text"):
	case format == "json":
		if !json.Valid([]byte(data)) {
			err = errors.New("not JSON")
		}
	case format == "jsonl":
		for text := range strings.Lines(data) {
			if !json.Valid([]byte(text)) {
				err = fmt.Errorf("%.80q is not JSON", text)
			}
		}
	case format == "yaml":
		err = yaml.Unmarshal([]byte(data), new(any))
	case format == "csv":
		var rows [][]string
		rows, err = csv.NewReader(bytes.NewReader([]byte(data))).ReadAll()
		for _, cell := range rows {
			if text := strings.Join(cell, "|"); strings.Contains(name, "--raw") != strings.Contains("|"+text,
				"|=cmd") && strings.Contains(text, "=cmd") {
				err = fmt.Errorf("%.80q", text)
			}
		}
	}
	if err != nil {
		t.Errorf("%s: %v\n%.300q", name, err, data)
	}
}

func lastLine(text string) string {
	text = strings.TrimRight(text, "\n")
	return text[strings.LastIndex(text, "\n")+1:]
}
