package client_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"example.com/perks/api"
	"example.com/perks/api/client"
)

// TestNoFormOfASecretIsTraced has a server that echoes the secrets in many encodings.
func TestNoFormOfASecretIsTraced(t *testing.T) {
	const secret, bearer, later, bare = `p"ss/w<rd+& =ü`, "a/bearer+key7==", "issued/with+signs",
		"proof-without-a-scheme"
	asJSON, _ := json.Marshal(secret)
	basic := base64.StdEncoding.EncodeToString([]byte("my-id:" + url.QueryEscape(secret))) // as it was sent
	echoes := map[string]string{
		"as it is":             secret,
		"in a URL":             "https://x.example/?q=" + url.QueryEscape(secret),
		"in a path":            "https://x.example/" + url.PathEscape(secret),
		"in lower-case URL":    "p%22ss%2fw%3crd%2b%26+%3d%c3%bc",
		"in JSON":              string(asJSON),
		"in HTML":              html.EscapeString(secret),
		"in base64":            base64.StdEncoding.EncodeToString([]byte(secret)),
		"in base64 for URLs":   base64.RawURLEncoding.EncodeToString([]byte(secret)),
		"in Basic":             basic,
		"base64 in a URL":      url.QueryEscape(basic),
		"the bearer":           bearer,
		"the bearer in a form": "t=" + url.QueryEscape(bearer),
		"the issued token":     later,
		"no scheme":            bare,
	}
	traces := map[string]string{}
	for name, echo := range echoes {
		mux := http.NewServeMux()
		mux.HandleFunc("/auth/token", func(w http.ResponseWriter, r *http.Request) {
			reply(w, 200, map[string]any{"access_token": later})
		})
		mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Echo", strings.ReplaceAll(echo, "\n", " "))
			w.WriteHeader(400)
			_, _ = io.WriteString(w, "you sent "+echo+" and that is wrong")
		})
		var text bytes.Buffer
		c := serve(t, mux, tracing(&text), withTokens(client.StaticToken(bearer)))
		_, _ = c.Token(context.Background(), client.Credentials{ID: "my-id", Secret: secret})
		request := client.Request{Method: "GET", Path: "echo"}
		if echo == bare {
			request.Header = map[string]string{"Authorization": bare}
		}
		_, _ = c.Do(context.Background(), request)
		traces[name] = text.String()
	}
	for name, trace := range traces {
		hidden := strings.TrimRight(echoes[name], "=") // the padding of base64 may stay
		if strings.Contains(trace, hidden) || strings.Contains(trace, `p"ss`) {
			t.Errorf("%s: %q is traced:\n%s", name, hidden, trace)
		}
		if !strings.Contains(trace, "you sent ") || !strings.Contains(trace, " and that is wrong") {
			t.Errorf("%s: the rest of the response is missing:\n%s", name, trace)
		}
	}
}

func TestSecretsInBodiesAreNotTraced(t *testing.T) {
	const hidden = "0123456789abcdef"
	const jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJlc2lnbmF0dXJl"
	for name, body := range map[string]string{
		"several JSON values":   `{"token":"` + hidden + `"}` + "\n" + `{"a":{"Client-Secret":"` + hidden + `"}}`,
		"truncated JSON":        `{"id":1,"token":"` + hidden,
		"names in another case": `{"accessToken":"` + hidden + `","API_KEY":"` + hidden + `"}`,
		"JSON in JSON":          `{"message":"{\"token\":\"` + hidden + `\"}"}`,
		"a form":                "id=1&token=" + hidden,
		"a sentence":            "your token: " + hidden,
		"a token in a sentence": "use " + jwt + " instead",
		"a long name":           "client_secret is " + hidden,
	} {
		var text bytes.Buffer
		c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "https://other.example/?token="+hidden)
			w.Header().Set("X-Api-Key", hidden)
			_, _ = io.WriteString(w, body)
		}), tracing(&text))
		_, _ = c.Do(context.Background(), client.Request{Method: "GET", Path: "x"})
		_, _ = c.Do(context.Background(),
			client.Request{Method: "POST", Path: "y", Body: []byte(body), ContentType: "text/plain"})
		if strings.Contains(text.String(), hidden) || strings.Contains(text.String(), "c2lnbmF0dXJl") {
			t.Errorf("%s is traced:\n%s", name, text.String())
		}
	}
}

func TestOrdinaryTextIsTraced(t *testing.T) {
	for _, body := range []string{
		`{"error":"invalid_token","message":"The token has expired","token_type":"Bearer"}`,
		"the password is wrong", "eyJ is how they begin", `{"id":"` + strings.Repeat("x", 200<<10) + `"}`,
	} {
		var text bytes.Buffer
		c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, body)
		}), tracing(&text))
		_, _ = c.Do(context.Background(), client.Request{Method: "GET", Path: "x"})
		if !strings.Contains(text.String(), "< "+body+"\n") {
			t.Errorf("%.80q is missing:\n%.300s", body, text.String())
		}
	}
}

func TestOwnMessageIsKeptIfSecretIsAWord(t *testing.T) {
	for _, secret := range []string{"wrong", "client", "secret", "disabled", "There", "failed", "again"} {
		tooMany := api.TooManyAttempts + " Try again in "
		for sentence, kept := range map[string]bool{
			api.WrongCredentials: true, "The " + secret + " that you sent is not right.": false,
			tooMany + "60 s.": true, tooMany + secret + " s.": false, tooMany + "60 s. " + secret: false, tooMany +
				"60 s. Not " + secret + " s.": false,
		} {
			c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				reply(w, 401, map[string]string{"response": sentence, "error": "invalid_client"})
			}))
			_, err := c.Token(context.Background(), client.Credentials{ID: "c", Secret: secret})
			if err == nil || strings.Contains(err.Error(), sentence) != kept {
				t.Errorf("secret %q: %q became %v", secret, sentence, err)
			}
		}
	}
}

func TestEachAttemptIsTraced(t *testing.T) {
	var text bytes.Buffer
	server := &scriptedServer{script: repeat(1, status(503))}
	c := serve(t, server, (&fakeClock{}).config, tracing(&text))
	if err := calls["read"](t.Context(), c); err != nil || strings.Count(text.String(), "> GET ") != 2 {
		t.Errorf("%v:\n%s", err, text.String())
	}
}

func TestErrorsDoNotRepeatSecrets(t *testing.T) {
	const secret, bearer = "s3cr+t/value", "sent-token-value"
	c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proof := r.Header.Get("Authorization")
		if _, sent, ok := r.BasicAuth(); ok {
			proof, _ = url.QueryUnescape(sent)
		}
		w.Header().Set("X-Request-Id", "r-"+proof)
		reply(w, 401, map[string]any{"code": proof, "message": "wrong: " + proof,
			"errors": map[string]any{proof: proof}})
	}), withTokens(client.StaticToken(bearer)))
	_, loginErr := c.Token(context.Background(), client.Credentials{ID: "my-id", Secret: secret})
	_, callErr := c.Perk(context.Background(), "p")
	for _, err := range []error{loginErr, callErr} {
		var refused *client.Error
		if !errors.As(err, &refused) {
			t.Fatalf("%v", err)
		}
		text := fmt.Sprintf("%+v", *refused)
		if strings.Contains(text, secret) || strings.Contains(text, bearer) ||
			!strings.HasPrefix(refused.Message, "wrong: ") || len(refused.Fields) != 1 {
			t.Errorf("%s", text)
		}
	}
}
