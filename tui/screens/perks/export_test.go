package perks

import (
	"image"
	"net/url"

	"example.com/perks/tui/list"
	"example.com/perks/tui/screen"
)

// PutImage sets the drawn image as if it had been fetched from the address; nil if it is still being fetched.
func (s *Detail) PutImage(address string, img image.Image) {
	target, err := url.Parse(address)
	if err != nil {
		panic(err)
	}
	s.image.Put(address, target, img)
}

// Validity and NotRedeemableReason describe dates.
var (
	Validity            = list.Validity
	NotRedeemableReason = screen.NotRedeemableReason
)
