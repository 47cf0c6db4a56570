package cli_test

import (
	"io"
	"net/http"
	"net/http/httptest"
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
}
