package perks

import (
	"image"

	"example.com/perks/tui/screen"
)

// PutImage sets the drawn image as if it had been fetched from the address; nil is on its way.
func (s *Detail) PutImage(address string, img image.Image) {
	s.image.Put(address, img)
}

// Validity and NotRedeemableReason are the words about dates.
var (
	Validity            = validity
	NotRedeemableReason = screen.NotRedeemableReason
)
