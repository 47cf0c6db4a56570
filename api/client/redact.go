package client

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"html"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"example.com/perks/api"
)

const redacted = "[redacted]"

// The names of secrets. They are compared in lower case, those of members and parameters without punctuation.
var (
	secretHeaders = []string{"authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key",
		"x-auth-token"}
	secretNames = []string{"accesstoken", "refreshtoken", "idtoken", "token", "clientsecret", "clientassertion",
		"secret", "password", "apikey"}
)

func isSecretName(name string) bool {
	return slices.Contains(secretNames, strings.NewReplacer("_", "", "-", "", ".", "").Replace(strings.ToLower(name)))
}

func redactHeader(header http.Header) http.Header {
	clean := header.Clone()
	for name := range clean {
		if slices.Contains(secretHeaders, strings.ToLower(name)) {
			clean[name] = []string{redacted}
		}
	}
	return clean
}

func redactURL(u *url.URL) string {
	clean := *u
	clean.User = nil
	if query := u.Query(); len(redactForm(query)) > 0 {
		clean.RawQuery = query.Encode()
	}
	return clean.String()
}

// redactForm replaces secret values in place and returns them.
func redactForm(form url.Values) (secrets []string) {
	for name, values := range form {
		if isSecretName(name) {
			secrets = append(secrets, values...)
			form[name] = []string{redacted}
		}
	}
	return secrets
}

// redactBody returns a body that can be shown: JSON and forms without their secret values, and other texts unless they
// name a secret. It also returns the values that it removed.
func redactBody(contentType string, body []byte) (clean []byte, secrets []string) {
	if value, err := decodeJSON(body); err == nil {
		if !redactValue(value, &secrets) {
			return body, nil
		}
		clean, _ = json.Marshal(value) // what was decoded can be encoded
		return clean, secrets
	}
	form, err := url.ParseQuery(string(body)) // of any other text it makes names that mean nothing
	secrets = redactForm(form)
	media, _, _ := mime.ParseMediaType(contentType)
	switch isForm := err == nil && media == "application/x-www-form-urlencoded"; {
	case isForm && len(secrets) > 0:
		return []byte(form.Encode()), secrets
	case !isForm && namesSecret(string(body)):
		return []byte("(a body that may hold secrets)"), secrets
	}
	return body, secrets
}

// namesSecret tells whether a text that cannot be parsed, such as JSON that was cut, names a secret: by a name that is
// no ordinary word, or by any secret's name right before a value.
func namesSecret(text string) bool {
	for _, at := range words().FindAllStringIndex(text, -1) {
		name, rest := text[at[0]:at[1]], strings.TrimLeft(text[at[1]:], "\"' \t\\")
		if isSecretName(name) && (strings.ContainsAny(name, "_-") || strings.HasPrefix(rest, ":") ||
			strings.HasPrefix(rest, "=")) {
			return true
		}
	}
	return false
}

var (
	words = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[\pL\p{Nd}_-]+`) })
	// The beginning of every JSON Web Token, and enough of the rest.
	tokens  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`eyJ[\w.+/=-]{13,}`) })
	escapes = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`%[0-9A-F]{2}`) })
)

// redactValue replaces secret members at any depth, adds the texts among them to the secrets, and tells whether it
// found any.
func redactValue(value any, secrets *[]string) (found bool) {
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			found = redactValue(member, secrets) || found
			text, isText := member.(string)
			isSecret, isJSON := isSecretName(name), strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[")
			if isSecret && isText {
				*secrets = append(*secrets, text)
			}
			if isSecret || isJSON && namesSecret(text) {
				value[name], found = redacted, true
			}
		}
	case []any:
		for _, member := range value {
			found = redactValue(member, secrets) || found
		}
	}
	return found
}

// leastSecret is the shortest secret that is masked: removing every occurrence of a few letters would make the rest
// unreadable, and reveal them.
const leastSecret = 5

// credentials returns the secrets of the Authorization header and of the cookies.
func credentials(header http.Header) []string {
	var found []string
	for _, name := range []string{"Authorization", "Proxy-Authorization"} {
		scheme, value, ok := strings.Cut(header.Get(name), " ")
		if !ok {
			value = scheme
		}
		found = append(found, value)
		decoded, err := base64.StdEncoding.DecodeString(value)
		if _, secret, ok := strings.Cut(string(decoded), ":"); err == nil && ok && strings.EqualFold(scheme, "Basic") {
			found = append(found, secret)
			if plain, err := url.QueryUnescape(secret); err == nil {
				found = append(found, plain)
			}
		}
	}
	for _, line := range slices.Concat(header["Cookie"], header["Set-Cookie"]) {
		if _, value, ok := strings.Cut(line, "="); ok {
			value, _, _ = strings.Cut(value, ";")
			found = append(found, value)
		}
	}
	return found
}

// maskOf returns a function that removes the secrets from a text, in any form in which a server may repeat them, and
// all JSON Web Tokens.
func maskOf(secrets []string) func(text string) string {
	var all []string
	for _, secret := range secrets {
		if len(secret) >= leastSecret {
			all = append(all, forms(secret)...)
		}
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	var pairs []string
	for _, form := range slices.Compact(all) {
		pairs = append(pairs, form, redacted)
	}
	replacer := strings.NewReplacer(pairs...)
	return func(text string) string { return tokens().ReplaceAllLiteralString(replacer.Replace(text), redacted) }
}

// hide masks the secrets that a server repeats in an error, because errors end up in logs.
func (e *Error) hide(mask func(string) string) {
	e.RequestID, e.Code = mask(e.RequestID), api.Code(mask(string(e.Code)))
	if !isOwnSentence(e.Message) {
		e.Message = mask(e.Message)
	}
	hidden := api.FieldErrors{}
	for field, problems := range e.Fields {
		for _, problem := range problems {
			hidden[mask(field)] = append(hidden[mask(field)], mask(problem))
		}
	}
	if e.Fields != nil {
		e.Fields = hidden
	}
}

// isOwnSentence tells whether a message is one of the service's own about credentials. They repeat no secret, but
// contain words that a mistyped secret may be.
func isOwnSentence(message string) bool {
	rest, tooMany := strings.CutPrefix(message, api.TooManyAttempts)
	before, behind, _ := strings.Cut(api.TryAgain, "%d")
	seconds := strings.TrimSuffix(strings.TrimPrefix(rest, before), behind)
	return message == api.WrongCredentials || tooMany && len(seconds) < leastSecret
}

// forms returns a secret as it is, and as it is written in URLs, forms, JSON, HTML and base64.
func forms(secret string) []string {
	asJSON, _ := json.Marshal(secret) // a string always marshals
	found := []string{secret, html.EscapeString(secret), strings.Trim(string(asJSON), `"`),
		base64.RawStdEncoding.EncodeToString([]byte(secret)), base64.RawURLEncoding.EncodeToString([]byte(secret))}
	for _, form := range slices.Clone(found) {
		escaped := url.QueryEscape(form)
		// the last one writes %2f, as many programs do
		found = append(found, escaped, url.PathEscape(form), escapes().ReplaceAllStringFunc(escaped, strings.ToLower))
	}
	return found
}
