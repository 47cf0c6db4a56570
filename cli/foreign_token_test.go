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
		for _, args := range [][]string{{"perk", "categories"}, login} {
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
