package perk

import (
	"time"

	"example.com/perks/api"
	"example.com/perks/tui/widget"
)

// phase is where a perk stands in time.
type phase int

const (
	running phase = iota
	notStarted
	ended
)

// phaseOf follows the service: the start counts as within, the end as after.
func phaseOf(perk *api.Perk, now time.Time) phase {
	switch {
	case perk.ValidTo != nil && !now.Before(*perk.ValidTo):
		return ended
	case perk.ValidFrom != nil && now.Before(*perk.ValidFrom):
		return notStarted
	}
	return running
}

// validity says when the perk can be redeemed, seen from now: "Valid until 3 Dec 2026, 12 days left".
func validity(perk *api.Perk, now time.Time) string {
	switch phaseOf(perk, now) {
	case ended:
		return "Was valid until " + lastDay(*perk.ValidTo, now) + ", " + widget.Until(*perk.ValidTo, now)
	case notStarted:
		from := "Valid from " + widget.Day(*perk.ValidFrom, now)
		if perk.ValidTo != nil {
			from += " until " + lastDay(*perk.ValidTo, now)
		}
		return from + ", starts " + widget.In(*perk.ValidFrom, now)
	}
	if perk.ValidTo == nil {
		return "Valid, no end date"
	}
	return "Valid until " + lastDay(*perk.ValidTo, now) + ", " + widget.Until(*perk.ValidTo, now)
}

// whyNotNow says why the perk cannot be redeemed at the moment; "" if it can.
func whyNotNow(perk *api.Perk, now time.Time) string {
	switch phaseOf(perk, now) {
	case ended:
		return "It " + widget.Until(*perk.ValidTo, now) + "."
	case notStarted:
		return "It starts " + widget.In(*perk.ValidFrom, now) + "."
	}
	return ""
}

// lastDay is the last day on which there is still a moment before the end: what ends at midnight is over on the day that
// begins then.
func lastDay(end, now time.Time) string { return widget.Day(end.Add(-time.Nanosecond), now) }
