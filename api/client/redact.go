package client

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"
)

const redacted = "[redacted]"

// The one list of what is secret, wherever it stands. Names are compared in lower case; those of members and parameters
// without the signs between their words.
var (
	secretHeaders = []string{"authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key", "x-auth-token"}
	secretNames   = []string{"accesstoken", "refreshtoken", "idtoken", "token", "clientsecret", "clientassertion", "secret", "password", "apikey"}
)

func isSecretHeader(name string) bool { return slices.Contains(secretHeaders, strings.ToLower(name)) }

func isSecretName(name string) bool {
	return slices.Contains(secretNames, strings.NewReplacer("_", "", "-", "", ".", "").Replace(strings.ToLower(name)))
}

// redactHeader returns a copy without the values of secret headers.
func redactHeader(header http.Header) http.Header {
	clean := header.Clone()
	for name := range clean {
		if isSecretHeader(name) {
			clean[name] = []string{redacted}
		}
	}
	return clean
}

// redactURL returns the address without the values of secret query parameters.
func redactURL(u *url.URL) string {
	clean := *u
	clean.User = nil
	if query := u.Query(); redactForm(query) {
		clean.RawQuery = query.Encode()
	}
	return clean.String()
}

// redactForm replaces secret values in place and tells whether there were any.
func redactForm(form url.Values) bool {
	found := false
	for name := range form {
		if isSecretName(name) {
			form[name] = []string{redacted}
			found = true
		}
	}
	return found
}

// redactBody returns a body that can be shown: JSON and forms without their secret values, and other texts as they are
// unless they name something secret.
func redactBody(contentType string, body []byte) []byte {
	if clean, ok := redactJSON(body); ok {
		return clean
	}
	if media, _, _ := mime.ParseMediaType(contentType); media == "application/x-www-form-urlencoded" {
		if form, err := url.ParseQuery(string(body)); err == nil {
			if redactForm(form) {
				return []byte(form.Encode())
			}
			return body
		}
	}
	if namesSecret(string(body)) {
		return []byte("(a body that may hold secrets)")
	}
	return body
}

// namesSecret tells whether something secret is named in a text that nobody can take apart, such as JSON that was cut: a
// name that is no common word, or any of them right before a value.
func namesSecret(text string) bool {
	word := func(r rune) bool { return r == '_' || r == '-' || unicode.IsLetter(r) || unicode.IsDigit(r) }
	for len(text) > 0 {
		start := strings.IndexFunc(text, word)
		if start < 0 {
			return false
		}
		text = text[start:]
		end := strings.IndexFunc(text, func(r rune) bool { return !word(r) })
		if end < 0 {
			end = len(text)
		}
		name, rest := text[:end], strings.TrimLeft(text[end:], "\"' \t\\")
		if isSecretName(name) && (strings.ContainsAny(name, "_-") || strings.HasPrefix(rest, ":") || strings.HasPrefix(rest, "=")) {
			return true
		}
		text = text[end:]
	}
	return false
}

// redactJSON takes the secrets out of a JSON text, or of several that follow each other. It tells whether it could read them.
func redactJSON(body []byte) ([]byte, bool) {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var clean [][]byte
	secret := false
	for {
		var value any
		err := dec.Decode(&value)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, false
		}
		secret = redactValue(value) || secret
		text, err := json.Marshal(value)
		if err != nil {
			return nil, false
		}
		clean = append(clean, text)
	}
	if !secret {
		return body, len(clean) > 0
	}
	return bytes.Join(clean, []byte("\n")), true
}

// redactValue replaces secret members at any depth and tells whether there were any.
func redactValue(value any) bool {
	found := false
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			if isSecretName(name) || holdsSecretJSON(member) {
				value[name] = redacted
				found = true
				continue
			}
			found = redactValue(member) || found
		}
	case []any:
		for _, member := range value {
			found = redactValue(member) || found
		}
	}
	return found
}

// holdsSecretJSON tells whether a value is a text that is JSON again, with something secret in it.
func holdsSecretJSON(value any) bool {
	text, ok := value.(string)
	if !ok || !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") {
		return false
	}
	var inner any
	return json.Unmarshal([]byte(text), &inner) == nil && (redactValue(inner) || namesSecret(text))
}
