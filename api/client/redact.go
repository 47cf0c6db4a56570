package client

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

const redacted = "[redacted]"

// The one list of what is secret, wherever it stands. Names are compared in lower case.
var (
	secretHeaders = []string{"authorization", "proxy-authorization", "cookie", "set-cookie"}
	secretNames   = []string{"access_token", "refresh_token", "id_token", "token", "client_secret", "secret", "password"}
)

func isSecret(names []string, name string) bool {
	return slices.Contains(names, strings.ToLower(name))
}

// redactHeader returns a copy without the values of secret headers.
func redactHeader(header http.Header) http.Header {
	clean := header.Clone()
	for name := range clean {
		if isSecret(secretHeaders, name) {
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
		if isSecret(secretNames, name) {
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
		if form, err := url.ParseQuery(string(body)); err == nil && redactForm(form) {
			return []byte(form.Encode())
		}
	}
	if namesSecret(body) {
		return []byte("(a body that may hold secrets)")
	}
	return body
}

// namesSecret looks for the secret names that are no common words.
func namesSecret(body []byte) bool {
	text := strings.ToLower(string(body))
	return slices.ContainsFunc(secretNames, func(name string) bool {
		return strings.Contains(name, "_") && strings.Contains(text, name)
	})
}

func redactJSON(body []byte) ([]byte, bool) {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var value any
	if dec.Decode(&value) != nil || dec.More() {
		return nil, false
	}
	if !redactValue(value) {
		return body, true
	}
	clean, err := json.Marshal(value)
	return clean, err == nil
}

// redactValue replaces secret members at any depth and tells whether there were any.
func redactValue(value any) bool {
	found := false
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			if isSecret(secretNames, name) {
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

// credentials returns every form in which the secret of an Authorization header could come back in an answer.
func credentials(header http.Header) []string {
	scheme, value, _ := strings.Cut(header.Get("Authorization"), " ")
	found := []string{value}
	if decoded, err := base64.StdEncoding.DecodeString(value); err == nil && strings.EqualFold(scheme, "Basic") {
		if _, secret, ok := strings.Cut(string(decoded), ":"); ok {
			found = append(found, secret)
			if plain, err := url.QueryUnescape(secret); err == nil {
				found = append(found, plain)
			}
		}
	}
	return slices.DeleteFunc(found, func(s string) bool { return s == "" })
}

// without takes every occurrence of the secrets out of a text.
func without(text string, secrets []string) string {
	for _, secret := range secrets {
		text = strings.ReplaceAll(text, secret, redacted)
	}
	return text
}
