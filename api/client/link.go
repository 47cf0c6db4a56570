package client

import (
	"net/http"
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
			hasLinks = true
			link := value[start+1 : end]
			params, rest := cutOutsideQuotes(value[end+1:], ',')
			if isNext(params) {
				return link, true
			}
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

// isNext looks for rel among the parameters; its value is one relation or several with blanks between.
func isNext(params string) bool {
	for params != "" {
		var param string
		param, params = cutOutsideQuotes(params, ';')
		name, value, _ := strings.Cut(strings.TrimSpace(param), "=")
		if !strings.EqualFold(strings.TrimSpace(name), "rel") {
			continue
		}
		for relation := range strings.FieldsSeq(strings.Trim(strings.TrimSpace(value), `"`)) {
			if strings.EqualFold(relation, "next") {
				return true
			}
		}
	}
	return false
}
