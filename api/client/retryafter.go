package client

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// forEver is more than anyone waits, and can still be added to.
const forEver = 100 * 365 * 24 * time.Hour

// retryAfter reads how long the server asks to wait (RFC 9110, section 10.2.3), 0 if it asks for nothing. A date is read
// against the answer's own Date, because the server's clock may not be this computer's.
func retryAfter(header http.Header, now time.Time) time.Duration {
	text := strings.TrimSpace(header.Get("Retry-After"))
	if text == "" {
		return 0
	}
	if strings.Trim(text, "0123456789") == "" {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil || seconds > int64(forEver/time.Second) {
			return forEver
		}
		return time.Duration(seconds) * time.Second
	}
	until, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(header.Get("Date")); err == nil {
		now = date
	}
	return max(0, until.Sub(now))
}
