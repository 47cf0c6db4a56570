package api

import (
	"errors"
	"strings"
	"time"
)

// Hold is how many seconds a redemption of a perk can wait for approval. Its text is a duration such as 48h.
type Hold int64

const maxHold = 8760 * time.Hour

// Duration returns the hold as a duration.
func (h Hold) Duration() time.Duration { return time.Duration(h) * time.Second }

// String returns the shortest text of the hold, such as 1h30m.
func (h Hold) String() string {
	text := h.Duration().String()
	for _, none := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, none) {
			text = text[:len(text)-2]
		}
	}
	return text
}

// MarshalText returns String.
func (h Hold) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads a text as Value.Hold does.
func (h *Hold) UnmarshalText(text []byte) error {
	if problem := TextValue(string(text)).Hold(h); problem != "" {
		return errors.New(problem)
	}
	return nil
}

// Hold reads a duration of whole seconds, from 1s to a year of 365 days.
func (v Value) Hold(into *Hold) string {
	var text string
	problem := v.Text(&text)
	duration, err := time.ParseDuration(text)
	if problem != "" || err != nil || duration < time.Second || duration > maxHold || duration%time.Second != 0 {
		return "must be a duration of whole seconds from 1s to 8760h, such as 48h"
	}
	*into = Hold(duration / time.Second)
	return ""
}

func (v Value) holdOrNull(into **Hold) string { return orNullValue(v, into, Value.Hold) }
