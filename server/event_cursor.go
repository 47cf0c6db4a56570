package server

import (
	"fmt"
	"strconv"
	"strings"

	"example.com/perks/store"
)

// eventCursor returns a place in the audit log as callers know it.
func eventCursor(place store.AuditPlace) string {
	if place.Until == "" {
		return string(place.Since)
	}
	return fmt.Sprintf("%s~%s~%d", place.Since, place.Until, place.Read)
}

func parseEventCursor(text string) (place store.AuditPlace, err error) {
	parts := strings.Split(text, "~")
	place.Since = store.AuditPosition(parts[0])
	if len(parts) == 1 && text != "" {
		return place, nil
	}
	if len(parts) == 3 {
		place.Until = store.AuditPosition(parts[1])
		place.Read, err = strconv.Atoi(parts[2])
	}
	if len(parts) != 3 || err != nil || place.Read < 1 || place.Since == "" || place.Until == "" {
		return place, store.AuditPositionUnknown()
	}
	return place, nil
}
