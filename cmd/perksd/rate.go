package main

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// rate is a flag that takes requests a second, such as "50/s" or "0.5". 0 is without limit.
type rate struct{ perSecond float64 }

func (r *rate) String() string {
	if r.perSecond == 0 {
		return ""
	}
	return strconv.FormatFloat(r.perSecond, 'g', -1, 64) + "/s"
}

// Type is how help shows the value.
func (r *rate) Type() string { return "N/s" }

// Set reads a rate.
func (r *rate) Set(text string) error {
	number, err := strconv.ParseFloat(strings.TrimSuffix(text, "/s"), 64)
	if err != nil || number < 0 || math.IsInf(number, 0) || math.IsNaN(number) {
		return errors.New("it must be a number of requests a second, such as 50/s")
	}
	r.perSecond = number
	return nil
}
