package redeem_test

import (
	"testing"

	"example.com/perks/api"
)

func TestResultsAreDecided(t *testing.T) {
	l := startServer(t)
	d := l.open("alice", "coffee", "spa", "gone")
	redeem(d, "")
	d.See("[redeemed]", "[waiting for approval]", "[sold out]", "t retry", "ctrl+x void")
	d.Press("a")
	d.See("Approve: not possible now. It is approved. Void it: ctrl+x.")
	d.Press("ctrl+x")
	d.See("Void Coffee for two for alice?", "LIVE")
	d.Type("wrong perk\n")
	d.See("Done: 1 redemption voided.", "[voided]", "Redeemed, then voided. Status voided (wrong perk)",
		"It cannot be used.")
	d.Press("j", "a")
	d.See("Approve Spa day for alice?")
	d.Press("y")
	d.See("Done: 1 redemption approved.", "[redeemed] Spa day", "Status approved")
	d.Press("j", "x")
	d.See("Reject: not possible now. There is no redemption here.")
	statuses := map[api.RedemptionStatus]int{}
	for _, r := range l.stored() {
		statuses[r.Status]++
	}
	if statuses[api.StatusVoided] != 1 || statuses[api.StatusApproved] != 1 {
		t.Errorf("the redemptions are %v", statuses)
	}
}

// TestTheRedemptionInTheWayIsVoided undoes it where it was found, and redeems again.
func TestTheRedemptionInTheWayIsVoided(t *testing.T) {
	l := startServer(t)
	l.redeemElsewhere("coffee")
	d := l.open("alice", "coffee")
	redeem(d, "")
	d.See("[already redeemed]", "status approved.", "ctrl+x void")
	d.Press("ctrl+x")
	d.Type("a mistake\n")
	d.See("Done: 1 redemption voided.", "status voided (a mistake).")
	d.Press("r")
	d.See("Redeem Coffee for two")
	redeem(d, "")
	d.See("[redeemed] Coffee for two")
}
