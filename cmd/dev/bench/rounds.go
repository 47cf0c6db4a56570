package main

import (
	"context"
	"fmt"
	"strings"
)

// contender is one side of a comparison.
type contender struct {
	name    string
	measure func(ctx context.Context) (perSecond float64, err error)
}

// inTurn measures the contenders one after the other, round after round, so that whatever else the machine does falls on
// all of them alike. It returns the median of each. The first round warms up and does not count.
func (l *lab) inTurn(ctx context.Context, work string, contenders ...contender) ([]float64, error) {
	rates := make([][]float64, len(contenders))
	for round := range l.rounds + 1 {
		var said []string
		for i, c := range contenders {
			perSecond, err := c.measure(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s, %s: %w", work, c.name, err)
			}
			said = append(said, c.name+" "+rate(perSecond))
			if round > 0 {
				rates[i] = append(rates[i], perSecond)
			}
		}
		l.say("%s, round %d of %d: %s", work, round, l.rounds, strings.Join(said, ", "))
	}
	medians := make([]float64, len(contenders))
	for i := range contenders {
		medians[i] = median(rates[i])
	}
	return medians, nil
}
