package cli_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"example.com/perks/cli/session"
)

// issuing is a service whose token endpoint answers as the test says. It has one category.
func issuing(t *testing.T, status int, body string) *terminal {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/v2/auth/token", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
	mux.HandleFunc("/v2/partners/perks/categories", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `[{"id":"1","category_name":"Food"}]`)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return newTerminal(t, map[string]string{
		session.EnvAPIURL: server.URL + "/v2", session.EnvClientID: "c", session.EnvClientSecret: "s",
	})
}

func TestTokensOfOtherServices(t *testing.T) {
	for _, body := range []string{
		`{"access_token":"a","token_type":"bearer","expires_in":"3600"}`,
		`{"access_token":"a","expires_in":3600.0,"expires_at":32503680000000,"refresh_token":null}`,
		`{"access_token":"a","expires_in":null,"expires_at":{"at":"noon"},"scope":["perks:read"]}`,
	} {
		x := issuing(t, 200, body)
		r := x.run("perk", "categories", "-o", "jsonl")
		if r.code != 0 || !strings.Contains(r.out, "Food") || r.err != "" {
			t.Errorf("%s: %+v", body, r)
		}
		login := []string{"auth", "login", "--profile", "p", "--api-url", x.env[session.EnvAPIURL], "--client-id", "c"}
		if r := x.run(login...); r.code != 0 {
			t.Errorf("login with %s: %+v", body, r)
		}
	}
	r := issuing(t, 200, `{"token":"a"}`).run("perk", "categories")
	if r.code != 1 || !strings.Contains(r.err, `no access_token came, but an object with "token"`) {
		t.Errorf("a response without a token: %+v", r)
	}
}

func TestExitCodeOfRefusedCredentials(t *testing.T) {
	const no, advice = `{"response":"Who are you?"}`, "PERKSCTL_CLIENT_SECRET: correct it"
	for _, test := range []struct {
		status int
		body   string
		exit   int
		want   string
	}{
		{400, `{"error":"invalid_client"}`, 4, advice},
		{400, no, 4, advice}, {401, no, 4, advice}, {403, no, 4, advice}, {404, no, 4, "Who are you?"},
		{422, no, 4, advice},
		{404, "", 5, "404"}, {404, "<html><title>Hello</title></html>", 5, "Hello"}, {405, no, 1, "Who are you?"},
	} {
		x := issuing(t, test.status, test.body)
		login := []string{"auth", "login", "--profile", "p", "--api-url", x.env[session.EnvAPIURL], "--client-id", "c"}
		commands := [][]string{{"perk", "categories"}, {"perk", "get", "p"}, login}
		if test.exit == 4 {
			commands = append(commands, []string{"redemption", "list"}) // which other services may lack
		}
		for _, args := range commands {
			r := x.run(args...)
			if r.code != test.exit || !strings.Contains(r.err, test.want) {
				t.Errorf("%d %s, %q: %+v", test.status, test.body, args[0], r)
			}
			asksForAddress := strings.Contains(r.err, "the address of the API?")
			if args[0] == "auth" && asksForAddress != (test.status == 404) {
				t.Errorf("%d %s asks for the address: %t: %s", test.status, test.body, asksForAddress, r.err)
			}
		}
	}
}

func TestAnswersThatAreNoRecords(t *testing.T) {
	answer := ""
	mux := http.NewServeMux()
	mux.HandleFunc("/v2/auth/token", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"access_token":"a"}`)
	})
	mux.HandleFunc("/v2/", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, answer) })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	x := newTerminal(t, map[string]string{
		session.EnvAPIURL: server.URL + "/v2", session.EnvClientID: "c", session.EnvClientSecret: "s",
	})
	commands := map[string]int{
		"property get 15": 1, "perk get p": 1, "perk categories": 1, "perk list": 1,
		"perk redeem p --user u": 8, // it may have been redeemed
	}
	for body, came := range map[string]string{
		"null": "is null", "": "it is an empty body", `"text"`: "it is a text",
		`{"status":"up"}`:                   `an object with "status"`,
		"<html><title>Hello</title></html>": `it is the web page "Hello"`,
	} {
		answer = body
		for command, exit := range commands {
			r := x.run(append(strings.Fields(command), "-o", "jsonl")...)
			message := strings.ReplaceAll(r.err, `\"`, `"`)
			if r.code != exit || r.out != "" || !strings.Contains(message, came) || !strings.Contains(message, "/v2/") {
				t.Errorf("%s answers %q: %+v", body, command, r)
			}
		}
	}

	const note = "The service sends records inside"
	for command, body := range map[string]string{
		"property get 15":        `{"data":{"propertyId":15,"title":"Flat","price_pw":"99.90"}}`,
		"perk get p":             `{"data":{"id":"p","title":"Coffee","city":"York"}}`,
		"perk categories":        `{"data":[{"id":"1","category_name":"Food"}]}`,
		"perk redeem p --user u": `{"data":{"id":"r","perk_id":"p","user_id":"u","status":"approved"}}`,
	} {
		answer = body
		r := x.run(append(strings.Fields(command), "-o", "yaml")...)
		isWrapped := strings.Contains("\n"+r.out, "\ndata:")
		if r.code != 0 || strings.Count(r.err, note) != 1 || isWrapped || len(r.out) < 10 {
			t.Errorf("%q: %+v", command, r)
		}
	}
	answer = `{"data":{"propertyId":15,"title":"Flat"}}` // one row is refused, and both answers are wrapped
	file := write(t, filepath.Join(t.TempDir(), "delete.csv"), "propertyId\n15\n16\n")
	if r := x.run("property", "delete", "--file", file, "--dry-run"); strings.Count(r.err, note) != 1 {
		t.Errorf("a dry run of two rows: %+v", r)
	}
}
