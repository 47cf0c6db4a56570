package cli_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/perks/cli/session"
)

// oddListings is a service with a listing of which not all can be read, and one without numbers. sent returns the
// changes that came since it was called last.
func oddListings(t *testing.T) (x *terminal, sent func() []string) {
	t.Helper()
	const odd = `{"propertyId":"1","title":"Odd","price_pw":"£295.50","bathrooms":1.5,"bedrooms":"2","deposit":""}`
	const bare = `{"propertyId":"7f3c","title":"Bare","bedrooms":null}`
	var changes []string
	mux := http.NewServeMux()
	answer := func(pattern, body string) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPatch {
				text, _ := io.ReadAll(r.Body)
				changes = append(changes, string(text))
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, body)
		})
	}
	answer("POST /v2/auth/token", `{"access_token":"t","token_type":"Bearer","expires_in":3600}`)
	answer("GET /v2/partners/properties", `{"data":[`+odd+`,`+bare+`],"meta":{"page":1,"total":2,"total_pages":1}}`)
	answer("GET /v2/get-property/1", odd)
	answer("GET /v2/get-property/7f3c", bare)
	answer("PATCH /v2/update-property/{id}", `{"message":"updated"}`)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	x = newTerminal(t, map[string]string{
		session.EnvAPIURL: server.URL + "/v2", session.EnvClientID: "c", session.EnvClientSecret: "s",
	})
	return x, func() (since []string) {
		since, changes = changes, nil
		return since
	}
}

func TestOddListingIsShownAsItCame(t *testing.T) {
	x, _ := oddListings(t)
	for _, command := range [][]string{
		{"property", "list"}, {"property", "get", "1", "7f3c"}, {"property", "get", "1"},
	} {
		for format, want := range map[string][]string{
			"json":  {`"price_pw": "£295.50"`, `"bathrooms": 1.5`, `"bedrooms": 2`, `"deposit": ""`},
			"jsonl": {`"price_pw":"£295.50"`, `"bathrooms":1.5`, `"bedrooms":2`, `"deposit":""`},
			"yaml":  {`price_pw: £295.50`, `bathrooms: 1.5`, `bedrooms: 2`, `deposit: ""`},
			"csv":   {`,£295.50,2,1.5,,,`},
		} {
			r := x.must(append(command, "-o", format)...)
			for _, text := range want {
				if !strings.Contains(r.out, text) {
					t.Errorf("%v -o %s lacks %s:\n%s", command, format, text, r.out)
				}
			}
		}
		if r := x.typing("", command...); !strings.Contains(r.out, "£295.50 (not a number)") {
			t.Errorf("%v:\n%s%s", command, r.out, r.err)
		}
	}
	if r := x.typing("", "property", "get", "1"); !strings.Contains(r.out, "1.5 (not a whole number)") {
		t.Errorf("property get:\n%s", r.out)
	}
	if r := x.must("property", "get", "1"); !strings.Contains(r.out, "price_pw\t£295.50\n") {
		t.Errorf("without a terminal: %q", r.out)
	}
}

func TestOddListingIsEdited(t *testing.T) {
	x, sent := oddListings(t)
	for script, want := range map[string]string{
		"s/Odd/Loft/":                           `{"title":"Loft"}`,
		"s/£295.50/295.50/":                     `{"price_pw":"295.50"}`,
		"s/1[.]5/2/":                            `{"bathrooms":2}`,
		"s/^deposit.*/deposit: 0/":              `{"deposit":0}`,
		"s/Odd/Loft/; s/^deposit.*/deposit: 5/": `{"title":"Loft","deposit":5}`,
	} {
		x.env["EDITOR"] = "sed -i '" + script + "'"
		x.must("property", "edit", "1", "--yes")
		if got := sent(); !slices.Equal(got, []string{want}) {
			t.Errorf("%s sends %q, want %s", script, got, want)
		}
	}
	x.env["EDITOR"] = "sed -i s/Bare/Loft/"
	x.must("property", "edit", "7f3c", "--yes")
	if got := sent(); !slices.Equal(got, []string{`{"title":"Loft"}`}) {
		t.Errorf("without numbers, %q was sent", got)
	}
	x.must("property", "update", "1", "--title", "Loft")
	if got := sent(); !slices.Equal(got, []string{`{"title":"Loft"}`}) {
		t.Errorf("update sends %q", got)
	}
}

// TestNumbersThatAListingLacksAreNotSetTo0 sends back what was exported.
func TestNumbersThatAListingLacksAreNotSetTo0(t *testing.T) {
	x, sent := oddListings(t)
	for format, export := range map[string][]string{
		"jsonl": {"property", "get", "7f3c", "-o", "jsonl"},
		"csv":   {"property", "get", "7f3c", "-o", "csv"},
		"json":  {"property", "get", "7f3c", "-o", "json"},
		"yaml":  {"property", "get", "7f3c", "-o", "yaml"},
	} {
		text := x.must(export...).out
		for _, name := range []string{"price_pw", "bedrooms", "bathrooms", "deposit"} {
			if format != "csv" && strings.Contains(text, name) {
				t.Errorf("-o %s has %s:\n%s", format, name, text)
			}
		}
		if format == "json" || format == "yaml" {
			continue
		}
		file := write(t, filepath.Join(t.TempDir(), "export."+format), strings.Replace(text, "Bare", "Loft", 1))
		x.must("property", "update", "--file", file)
		got := strings.Join(sent(), "\n")
		if !strings.Contains(got, `"title":"Loft"`) || strings.Contains(got, ":0") || strings.Contains(got, "price") {
			t.Errorf("an export as %s sends back %s", format, got)
		}
	}
	if r := x.must("property", "list", "-o", "csv"); !strings.Contains(r.out, "\n7f3c,Bare,,,,,,,,,,,\n") {
		t.Errorf("the list is\n%s", r.out)
	}
}

// TestAnExportMaySendBackWhatNoFieldCanHold changes another field of the row, and then the odd one.
func TestAnExportMaySendBackWhatNoFieldCanHold(t *testing.T) {
	x, sent := oddListings(t)
	for _, format := range []string{"csv", "jsonl"} {
		export := x.must("property", "get", "1", "-o", format).out
		for edit, want := range map[string]string{
			"Odd Loft":       `"title":"Loft"`,
			"£295.50 295.50": `"price_pw":"295.50"`,
			"£295.50 £300":   "",
		} {
			before, after, _ := strings.Cut(edit, " ")
			file := write(t, filepath.Join(t.TempDir(), "export."+format), strings.Replace(export, before, after, 1))
			r := x.run("property", "update", "--file", file)
			switch got := strings.Join(sent(), "\n"); {
			case want != "" && (r.code != 0 || !strings.Contains(got, want)):
				t.Errorf("%s, %s: sent %s, want %s\n%s", format, edit, got, want, r.err)
			case strings.Contains(got, "£"), strings.Contains(got, "bathrooms"), want == "" && got != "":
				t.Errorf("%s, %s: sent %s", format, edit, got)
			case want == "" && (r.code != 7 || !strings.Contains(r.err, "price_pw: must be digits")):
				t.Errorf("%s, %s: exit code %d\n%s", format, edit, r.code, r.err)
			}
		}
	}
}
