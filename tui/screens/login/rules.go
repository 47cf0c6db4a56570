package login

import (
	"net"
	"net/url"
	"strings"

	"example.com/perks/api/client"
	"example.com/perks/tui/screen"
)

const maxName = 64

// CheckName says what is wrong with a name of a profile, "" if nothing is.
func CheckName(name string) string {
	name = strings.TrimSpace(name)
	strange := strings.ContainsFunc(name, func(r rune) bool { return !isAlphanumeric(r) && !strings.ContainsRune("._-", r) })
	switch {
	case name == "":
		return "Enter a name for the profile."
	case len(name) > maxName || strange || !isAlphanumeric(rune(name[0])):
		return "Use up to 64 letters, digits, dots, underscores and hyphens, a letter or digit first."
	}
	return ""
}

func isAlphanumeric(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

func (s *Screen) checkAddress(address string) string {
	address = strings.TrimSpace(address)
	if address == "" {
		return "Enter the address of the API, such as https://perks.example/v2."
	}
	if _, err := client.ParseBaseURL(address); err != nil {
		return screen.Sentence("", err)
	}
	if isOpen(address) && !s.allows() {
		if !s.asksAboutHTTP() {
			return "" // it is being typed
		}
		return "http would send the secret unencrypted over the network. Use https; or, if you trust the network, allow http below."
	}
	return ""
}

func (s *Screen) checkSecret(secret string) string {
	switch {
	case strings.TrimSpace(secret) != "":
		return ""
	case s.rejected:
		return "The service did not accept this id and secret."
	}
	return "Enter the secret."
}

func required(otherwise string) func(string) string {
	return func(value string) string {
		if strings.TrimSpace(value) == "" {
			return otherwise
		}
		return ""
	}
}

// isOpen tells whether everyone on the way could read what is sent to an address.
func isOpen(address string) bool {
	base, err := client.ParseBaseURL(address)
	return err == nil && base.Scheme == "http" && !isThisComputer(base)
}

func isThisComputer(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// mayBecomeThisComputer tells whether only the end of localhost or 127.0.0.1 is missing.
func mayBecomeThisComputer(address string) bool {
	base, err := client.ParseBaseURL(address)
	return err == nil && base.Port() == "" && base.Path == "" &&
		(strings.HasPrefix("localhost", base.Host) || strings.HasPrefix("127.0.0.1", base.Host))
}
