package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/perks/api"
	"example.com/perks/api/client"
)

func TestErrorBodies(t *testing.T) {
	for name, test := range map[string]struct {
		status            int
		contentType, body string
		want              client.Error
	}{
		"problem details": {
			404, "application/problem+json",
			`{"type":"about:blank","title":"Not Found","status":404,"detail":"d",` +
				`"response":"There is no perk \"x\".","code":"not_found"}`,
			client.Error{Code: api.CodeNotFound, Message: `There is no perk "x".`},
		},
		"fields": {
			422, "application/json", `{"response":"Some values are not valid.","code":"validation_failed",` +
				`"errors":{"lat":["must be between -90 and 90"]}}`,
			client.Error{Code: api.CodeValidationFailed, Message: "Some values are not valid.",
				Fields: api.FieldErrors{"lat": {"must be between -90 and 90"}}},
		},
		"another server's fields, with another status and one message each": {
			400, "application/json", `{"response":"Validation failed","errors":{"title":"is too long","city":[],` +
				`"lat":null}}`,
			client.Error{Code: api.CodeValidationFailed, Message: "Validation failed",
				Fields: api.FieldErrors{"title": {"is too long"}}},
		},
		"no code": {
			409, "application/json", `{"response":"Already redeemed"}`,
			client.Error{Code: "http_409", Message: "Already redeemed"},
		},
		"a reason that is known to the service only": {
			400, "application/json", `{"response":"Not on Sundays"}`,
			client.Error{Code: "http_400", Message: "Not on Sundays"},
		},
		"a code of its own": {
			404, "application/json", `{"response":"No such perk","code":"PERK-7"}`,
			client.Error{Code: "PERK-7", Message: "No such perk"},
		},
		"a code that is a number": {
			403, "application/json", `{"response":"No","code":17}`,
			client.Error{Code: "http_403", Message: "No"},
		},
		"an OAuth error": {
			401, "application/json", `{"error":"invalid_client","error_description":"Who are you?"}`,
			client.Error{Code: "http_401", Message: "Who are you?"},
		},
		"plain text": {
			429, "text/plain; charset=utf-8", "slow down\n",
			client.Error{Code: "http_429", NotFromService: true,
				Message: "The server answered 429 Too Many Requests: slow down"},
		},
		"a web page": {
			502, "text/html", "<html><h1>Bad Gateway</h1></html>",
			client.Error{Code: "http_502", NotFromService: true,
				Message: "The server answered 502 Bad Gateway with a web page."},
		},
		"a web page with a title": {
			503, "text/html", "\n<!DOCTYPE html><html><head><title lang=en>\n Maintenance &amp; more </title></head>",
			client.Error{Code: "http_503", NotFromService: true,
				Message: `The server answered 503 Service Unavailable with the web page "Maintenance & more".`},
		},
		"nothing": {
			500, "", "",
			client.Error{Code: "http_500", NotFromService: true,
				Message: "The server answered 500 Internal Server Error."},
		},
		"JSON that is not an object": {
			418, "application/json", `["no"]`,
			client.Error{Code: "http_418", Message: "The server answered 418 I'm a teapot.", NotFromService: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", test.contentType)
				w.Header().Set("X-Request-Id", "req-1")
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, test.body)
			}))
			_, err := c.Perk(context.Background(), "x")
			var got *client.Error
			if !errors.As(err, &got) {
				t.Fatalf("got %v", err)
			}
			test.want.Status, test.want.RequestID = test.status, "req-1"
			if diff := cmp.Diff(test.want, *got); diff != "" {
				t.Error(diff)
			}
			if api.CodeOf(err) != got.Code {
				t.Errorf("api.CodeOf says %q, want %q", api.CodeOf(err), got.Code)
			}
		})
	}
}

func TestIsNotFoundNeedsServicesReply(t *testing.T) {
	for _, test := range []struct {
		err  error
		want bool
	}{
		{&client.Error{Status: 404, Code: api.CodeNotFound}, true},
		{fmt.Errorf("read it: %w", &client.Error{Status: 404, Code: api.CodeNotFound}), true},
		{&client.Error{Status: 404, Code: api.CodeNotFound, NotFromService: true}, false},
		{&client.Error{Status: 404, Code: "http_404"}, true},
		{&client.Error{Status: 404, Code: "http_404", CredentialsRefused: true}, false}, // no token
		{&client.Error{Status: 410, Code: "http_410"}, true},
		{&client.Error{Status: 404, Code: "PERK-7"}, true},
		{&client.Error{Status: 403, Code: api.CodeForbidden}, false},
		{&client.Unreachable{Err: io.EOF}, false},
		{nil, false},
	} {
		if got := client.IsNotFound(test.err); got != test.want {
			t.Errorf("IsNotFound(%v) is %t", test.err, got)
		}
	}
}
