package perk

import "image"

// PutImage sets the drawn image as if it had been fetched from the address; with neither image nor error it is on its way.
func (s *Screen) PutImage(address string, img image.Image, err error) {
	s.image.takeAway()
	s.image.address, s.image.cancel, s.image.img, s.image.err = address, func() {}, img, err
}

// Validity and WhyNotNow are the words about dates.
var (
	Validity  = validity
	WhyNotNow = whyNotNow
)
