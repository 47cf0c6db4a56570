package client

import (
	"net/http"
	"slices"
	"strings"
)

// nextLink returns the target with the relation "next" in the Link headers (RFC 8288), or "", and whether there are links
// at all. What cannot be read as a link is passed over.
func nextLink(header http.Header) (target string, hasLinks bool) {
	for _, value := range header.Values("Link") {
		for value != "" {
			start := strings.IndexByte(value, '<')
			end := strings.IndexByte(value, '>')
			if start < 0 || end < start {
				break
			}
			link := value[start+1 : end]
			params, rest := cutOutsideQuotes(value[end+1:], ',')
			if is(params, "next") {
				return link, true
			}
			hasLinks = hasLinks || is(params, "first", "prev", "previous", "last") // others, such as preload, are not about pages
			value = rest
		}
	}
	return "", hasLinks
}

// cutOutsideQuotes cuts at the first separator that stands outside quotes.
func cutOutsideQuotes(text string, separator byte) (before, after string) {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch {
		case quoted && text[i] == '\\':
			i++
		case text[i] == '"':
			quoted = !quoted
		case text[i] == separator && !quoted:
			return text[:i], text[i+1:]
		}
	}
	return text, ""
}

// is looks for one of the relations among the parameters; the value of rel is one relation or several with blanks between.
func is(params string, relations ...string) bool {
	for params != "" {
		var param string
		param, params = cutOutsideQuotes(params, ';')
		name, value, _ := strings.Cut(strings.TrimSpace(param), "=")
		if !strings.EqualFold(strings.TrimSpace(name), "rel") {
			continue
		}
		for relation := range strings.FieldsSeq(strings.Trim(strings.TrimSpace(value), `"`)) {
			if slices.Contains(relations, strings.ToLower(relation)) {
				return true
			}
		}
	}
	return false
}
