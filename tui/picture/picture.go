// Package picture fetches an image from anywhere and draws it in the cells of a terminal.
//
// Both the address and what is found there are a stranger's. So nothing is fetched that nobody asked for, all that is read
// and decoded is bounded, and nothing that belongs to the service goes along: no token, no cookie, no referring address. An
// address can name a machine of the local network that answers whoever is in there; Local tells, so that a person can be
// asked first, and no other address leads there (see guard).
//
// It knows nothing of perks and of the service.
package picture

import (
	"context"
	"fmt"
	"image"
	"net/url"
	"time"

	"example.com/perks/api"
)

// What is fetched at most.
const (
	maxTime      = 10 * time.Second
	maxRedirects = 3
	maxBytes     = 5 << 20
	maxPixels    = 20_000_000
	maxSide      = 20_000
)

// Fetch gets the image at an http or https address, within 10 seconds. It refuses more than 5 MiB and more than 20
// megapixels. What it returns is no larger than a terminal can show, and so is cheap to keep and to draw. Its errors are
// sentences. It fetches from the local network too if the address itself says so: ask first where Local tells so.
func Fetch(ctx context.Context, address string) (image.Image, error) {
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	target, err := parse(address)
	if err != nil {
		return nil, err
	}
	raw, err := download(ctx, target)
	if err != nil {
		return nil, err
	}
	return decodeWithin(ctx, raw)
}

// Check returns why nothing can be fetched from an address; nil if it can be tried.
func Check(address string) error {
	_, err := parse(address)
	return err
}

// Host returns the machine that an address names, with the port if there is one; "" if it is no address.
func Host(address string) string {
	target, err := parse(address)
	if err != nil {
		return ""
	}
	return target.Host
}

func parse(address string) (*url.URL, error) {
	if problem := api.URLRule(address); problem != "" {
		return nil, fmt.Errorf("the address of the image %s", problem)
	}
	target, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("the address of the image cannot be read: %w", err)
	}
	if target.User != nil {
		return nil, fmt.Errorf("the address of the image holds a name or a password, which would be sent to %s", target.Host)
	}
	return target, nil
}
