package main

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// grouped writes a whole number with a comma before every third digit.
func grouped(n int64) string {
	digits := fmt.Sprint(n)
	var b strings.Builder
	for i, digit := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(digit)
	}
	return b.String()
}

// rate writes how many there were in a second.
func rate(perSecond float64) string { return grouped(int64(math.Round(perSecond))) + "/s" }

// milliseconds writes a duration to the hundredth.
func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond))
}
