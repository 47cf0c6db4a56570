package perks

import (
	"example.com/perks/tui/list"
	"example.com/perks/tui/screen"
)

// Validity and NotRedeemableReason describe dates.
var (
	Validity            = list.Validity
	NotRedeemableReason = screen.NotRedeemableReason
)
