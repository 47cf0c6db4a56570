package user

import (
	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/tui/widget"
)

// detail is one redemption with all its fields.
type detail struct {
	redemption api.Redemption
	scroll     widget.Scroll
}

func (s *Screen) pairs() []widget.Pair {
	r := s.detail.redemption
	when := "not known"
	if !r.RedeemedAt.IsZero() {
		when = widget.Instant(r.RedeemedAt, s.shell.Now()) + ", " + s.when(r)
	}
	user := r.UserID
	if user == "" {
		user = s.id
	}
	perk := display.Line(r.PerkID)
	if title := s.title(r); title != "" {
		perk = title + " (" + perk + ")"
	}
	return []widget.Pair{
		{Label: "Redemption", Value: display.Line(r.ID)},
		{Label: "Perk", Value: perk},
		{Label: "User", Value: display.Line(user)},
		{Label: "Redeemed", Value: when},
		{Label: "Status", Value: meaning(r.Status)},
		{Label: "Metadata", Value: pretty(r.Metadata)},
	}
}

// meaning says what a status means to the user.
func meaning(status api.RedemptionStatus) string {
	switch status {
	case api.StatusApproved:
		return "approved: the user has the perk"
	case api.StatusPending:
		return "pending: it waits for approval, and holds the user's place until then"
	case api.StatusRejected:
		return "rejected: the user does not have the perk, and can redeem it again"
	case "":
		return "not known"
	}
	return display.Line(string(status))
}
