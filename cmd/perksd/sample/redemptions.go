package sample

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"example.com/perks/api"
	"example.com/perks/store"
)

// Redemption is a redemption to make, and what becomes of it.
type Redemption struct {
	Attempt store.RedeemAttempt
	Status  api.RedemptionStatus // in the end
	Reason  string               // of a rejection or a void
}

// Redemptions returns n redemptions that a client made up to now, of the first perks and users: most are approved, some
// are pending, rejected or voided. It leaves alice, bob and limited stock alone.
func (d Data) Redemptions(n, perks, users int64, client string, now time.Time) (made []Redemption) {
	var approved, manual []string
	longAgo := d.day().AddDate(0, 0, -60)
	for perk := range d.Perks(perks) {
		runs := (perk.ValidFrom == nil || perk.ValidFrom.Before(longAgo)) && (perk.ValidTo == nil || perk.ValidTo.After(now))
		switch {
		case !runs, perk.Stock != nil, perk.ID == "coffee-2for1", perk.ID == "spa-day":
		case perk.Approval == store.ApprovalManual:
			manual = append(manual, perk.ID)
		default:
			approved = append(approved, perk.ID)
		}
	}
	for i := range n {
		r := Redemption{Status: api.StatusApproved}
		of := approved
		switch i % 10 {
		case 0:
			of, r.Status = manual, api.StatusPending
		case 3:
			of, r.Status, r.Reason = manual, api.StatusRejected, "No table was free that day."
		case 6:
			r.Status, r.Reason = api.StatusVoided, "The customer cancelled."
		}
		if len(of) == 0 || users <= 2 {
			return made
		}
		r.Attempt = store.RedeemAttempt{
			ID:     uuid.NewSHA1(uuid.NameSpaceOID, fmt.Appendf(nil, "sample %d %d", d.Seed, i)).String(),
			PerkID: of[i/10%int64(len(of))], UserID: fmt.Sprintf("u-%06d", i%(users-2)+1), ClientID: client,
			Metadata: fmt.Appendf(nil, `{"ticket":%d}`, 4000+i),
			At:       now.Add(-time.Duration(i) * time.Hour).Truncate(time.Second),
		}
		made = append(made, r)
	}
	return made
}
