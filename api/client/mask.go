package client

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/go-resty/resty/v2"

	"example.com/perks/api"
)

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
