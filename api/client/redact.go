package client

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"html"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/go-resty/resty/v2"

	"example.com/perks/api"
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

// leastSecret is the length below which a text is no secret: to take out every occurrence of a few letters would make the
// rest unreadable, and show by the holes what they are.
const leastSecret = 5

// credentials returns what is secret in the Authorization header and the cookies of a request.
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

// issued returns what a body of JSON or a form names as secret, such as the token in an answer.
func issued(body []byte) []string {
	var value any
	if json.Unmarshal(body, &value) == nil {
		return secretsIn(value)
	}
	form, _ := url.ParseQuery(string(body)) // of any other text it makes names that mean nothing
	var found []string
	for name, values := range form {
		if isSecretName(name) {
			found = append(found, values...)
		}
	}
	return found
}

func secretsIn(value any) []string {
	var found []string
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			if text, ok := member.(string); ok && isSecretName(name) {
				found = append(found, text)
				continue
			}
			found = append(found, secretsIn(member)...)
		}
	case []any:
		for _, member := range value {
			found = append(found, secretsIn(member)...)
		}
	}
	return found
}

// mask takes secrets out of texts, in every form in which they could come back from a server.
type mask struct{ replacer *strings.Replacer }

func newMask(secrets []string) mask {
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
	return mask{strings.NewReplacer(pairs...)}
}

// text returns the text without the secrets, and without anything that looks like a JSON Web Token.
func (m mask) text(text string) string { return withoutJWT(m.replacer.Replace(text)) }

// asSent returns the header of the request as it went out, with what was added on the way.
func asSent(res *resty.Response) http.Header {
	if res.RawResponse == nil || res.RawResponse.Request == nil {
		return nil
	}
	return res.RawResponse.Request.Header
}

// hide takes out of an error what the server sends back of the secrets that it was shown: errors end in logs.
func (e *Error) hide(m mask) {
	e.RequestID, e.Code = m.text(e.RequestID), api.Code(m.text(string(e.Code)))
	if !saysNothingSent(e.Message) {
		e.Message = m.text(e.Message)
	}
	var hidden api.FieldErrors
	for field, problems := range e.Fields {
		if hidden == nil {
			hidden = api.FieldErrors{}
		}
		for _, problem := range problems {
			hidden[m.text(field)] = append(hidden[m.text(field)], m.text(problem))
		}
	}
	e.Fields = hidden
}

// saysNothingSent tells whether a message is one of the service's sentences about credentials, which hold nothing that was
// sent, but words that a mistyped secret may be.
func saysNothingSent(message string) bool {
	rest, tooMany := strings.CutPrefix(message, api.TooManyAttempts)
	before, behind, _ := strings.Cut(api.TryAgain, "%d")
	seconds := strings.TrimSuffix(strings.TrimPrefix(rest, before), behind)
	return message == api.WrongCredentials || tooMany && len(seconds) < leastSecret
}

// forms returns a secret as it is, and as it stands in URLs, forms, JSON, HTML and base64. A form that has become too short
// to be told from other text is left out.
func forms(secret string) []string {
	found := []string{secret, html.EscapeString(secret), escapedJSON(secret)}
	found = append(found, inBase64(secret)...)
	for _, form := range slices.Clone(found) {
		found = append(found, url.QueryEscape(form), url.PathEscape(form), lowerEscapes(url.QueryEscape(form)))
	}
	return slices.DeleteFunc(found, func(form string) bool { return len(form) < leastSecret })
}

func escapedJSON(text string) string {
	raw, _ := json.Marshal(text) // a string always marshals
	return strings.Trim(string(raw), `"`)
}

// inBase64 returns what base64 makes of a secret anywhere within a text: at each of the three places that it can have among
// the groups of bytes, without the letters that depend on its neighbours.
func inBase64(secret string) []string {
	var found []string
	for before := range 3 {
		text := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("\x00", before) + secret))
		from, to := (before*8+5)/6, (before+len(secret))*8/6
		inner := text[from:to]
		found = append(found, inner, strings.NewReplacer("+", "-", "/", "_").Replace(inner))
	}
	return found
}

// lowerEscapes writes %2F as %2f, as many programs do.
func lowerEscapes(text string) string {
	out := []byte(text)
	for i := 0; i+2 < len(out); i++ {
		if out[i] == '%' {
			copy(out[i+1:], strings.ToLower(string(out[i+1:i+3])))
		}
	}
	return string(out)
}

// withoutJWT takes out what begins as every JSON Web Token does, and goes on as one for a while.
func withoutJWT(text string) string {
	const beginning, longEnough = "eyJ", 16
	var out strings.Builder
	for {
		at := strings.Index(text, beginning)
		if at < 0 {
			break
		}
		end := at + len(beginning)
		for end < len(text) && isTokenByte(text[end]) {
			end++
		}
		out.WriteString(text[:at])
		if end-at >= longEnough {
			out.WriteString(redacted)
		} else {
			out.WriteString(text[at:end])
		}
		text = text[end:]
	}
	out.WriteString(text)
	return out.String()
}

func isTokenByte(b byte) bool {
	return b == '.' || b == '-' || b == '_' || b == '+' || b == '/' || b == '=' ||
		b >= '0' && b <= '9' || b >= 'A' && b <= 'Z' || b >= 'a' && b <= 'z'
}
