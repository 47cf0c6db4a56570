package server

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"example.com/perks/api/display"
)

// What tokens and secrets of ours look like: a JWT, and 32 or more characters of base64 with letters of both cases among
// them. The ids that perksd makes have letters of one case.
var (
	likeToken  = regexp.MustCompile(`eyJ[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]*)*`)
	likeSecret = regexp.MustCompile(fmt.Sprintf(`[A-Za-z0-9_+=-]{%d,}`, shortestSecret))
)

const (
	shortestSecret = 32
	secretLetters  = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+=-"
)

const hidden = "[hidden]"

// hideSecrets takes out what looks like a token or a secret. People paste them where an id should be, and what was asked for
// is told to others: in logs, and in messages that end up in tickets.
func hideSecrets(text string) string {
	if !mayHoldSecret(text) {
		return text
	}
	text = likeToken.ReplaceAllString(text, hidden)
	return likeSecret.ReplaceAllStringFunc(text, func(found string) string {
		if strings.ContainsFunc(found, unicode.IsUpper) && strings.ContainsFunc(found, unicode.IsLower) {
			return hidden
		}
		return found
	})
}

// mayHoldSecret spares nearly every request the expressions above, which took longer than to read a token.
func mayHoldSecret(text string) bool {
	run, upper, lower := 0, false, false
	for i := range len(text) {
		switch c := text[i]; {
		case c >= 'A' && c <= 'Z':
			upper = true
		case c >= 'a' && c <= 'z':
			lower = true
		case c >= '0' && c <= '9', c == '_', c == '+', c == '=', c == '-':
		default:
			run, upper, lower = -1, false, false
		}
		if run++; run >= shortestSecret && upper && lower {
			return true
		}
	}
	return strings.Contains(text, "eyJ")
}

// maxLogged is how many bytes of one text that a caller sent are logged. The longest good path is below it.
const maxLogged = 512

// loggable makes of a text that a caller sent what may stand in a log: short, on one line, without anything that would steer
// the terminal of who reads it, and without secrets.
func loggable(text string) string {
	return hideSecrets(strings.Map(func(r rune) rune {
		if display.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return unicode.ReplacementChar
		}
		return r
	}, cut(text, maxLogged)))
}

// cut leaves so many bytes of a text, and its length, and makes it valid UTF-8. What it would cut through and leave too short
// of to be known for a secret goes as a whole.
func cut(text string, most int) string {
	tail := ""
	if len(text) > most {
		tail = fmt.Sprintf("... (%d bytes)", len(text))
		next := text[most]
		text = text[:most]
		before := strings.TrimRight(text, secretLetters)
		if strings.IndexByte(secretLetters, next) >= 0 && len(text)-len(before) < shortestSecret {
			text = before
		}
	}
	return strings.ToValidUTF8(text, string(unicode.ReplacementChar)) + tail
}
