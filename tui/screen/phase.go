package screen

import (
	"strings"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/tui/theme"
)

// Phase is whether a perk can be redeemed yet or still. As in the service, a perk is running from valid_from on, and
// expired from valid_to on.
type Phase int

// The phases.
const (
	Running Phase = iota
	NotStarted
	Expired
)

func PhaseOf(perk *api.Perk, now time.Time) Phase {
	switch {
	case perk.ValidTo != nil && !now.Before(*perk.ValidTo):
		return Expired
	case perk.ValidFrom != nil && now.Before(*perk.ValidFrom):
		return NotStarted
	}
	return Running
}

// clocksDiffer is how far the clocks of a service and a desk may be apart.
const clocksDiffer = 15 * time.Minute

// NotRedeemableReason says why the service would refuse to redeem a perk now; "" if it would not, or if its clock may
// decide otherwise.
func NotRedeemableReason(perk *api.Perk, now time.Time) string {
	switch PhaseOf(perk, now) {
	case Expired:
		if now.Sub(*perk.ValidTo) >= clocksDiffer {
			return "It " + display.Until(*perk.ValidTo, now) + "."
		}
	case NotStarted:
		if perk.ValidFrom.Sub(now) >= clocksDiffer {
			return "It starts " + display.In(*perk.ValidFrom, now) + "."
		}
	}
	return ""
}

// Valid says until when a perk can be redeemed, or from when: "129 days left", "ends in 2 days", "starts 8 Dec".
func Valid(perk *api.Perk, now time.Time) string {
	switch {
	case PhaseOf(perk, now) == NotStarted:
		return "starts " + display.SoonDay(*perk.ValidFrom, now)
	case perk.ValidTo == nil:
		return "no end"
	case EndsSoon(perk, now):
		return "ends " + display.In(*perk.ValidTo, now)
	}
	return display.Until(*perk.ValidTo, now)
}

// EndsSoon tells whether a running perk ends so soon that it stands out.
func EndsSoon(perk *api.Perk, now time.Time) bool {
	return PhaseOf(perk, now) == Running && perk.ValidTo != nil && perk.ValidTo.Sub(now) < 7*24*time.Hour
}

// ValidTone is how Valid is meant.
func ValidTone(perk *api.Perk, now time.Time) theme.Tone {
	switch phase := PhaseOf(perk, now); {
	case phase == Expired:
		return theme.Quiet
	case phase == NotStarted:
		return theme.Info
	case EndsSoon(perk, now):
		return theme.Warning
	case perk.ValidTo == nil:
		return theme.Quiet
	}
	return theme.Plain
}

// ShortenValid shortens a text of Valid for a narrow column.
func ShortenValid(text string) string {
	for _, word := range []string{"expired", "redeemed"} {
		if strings.HasPrefix(text, word+" ") {
			return word
		}
	}
	return strings.NewReplacer(" days", " d", " hours", " h", " minutes", " min").Replace(text)
}
