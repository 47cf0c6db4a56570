package main

import (
	"testing"
	"time"
)

func TestMedian(t *testing.T) {
	tests := []struct {
		values []float64
		want   float64
	}{
		{[]float64{7}, 7},
		{[]float64{9, 1, 5}, 5},
		{[]float64{1, 100, 3, 2}, 2.5},
	}
	for _, test := range tests {
		before := test.values[0]
		if got := median(test.values); got != test.want || test.values[0] != before {
			t.Errorf("the median of %v is %v, want %v", test.values, got, test.want)
		}
	}
}

func TestPercentile(t *testing.T) {
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[i] = time.Duration(100 - i)
	}
	tests := []struct {
		values []time.Duration
		p      float64
		want   time.Duration
	}{
		{hundred, 50, 50},
		{hundred, 99, 99},
		{hundred, 99.5, 100},
		{hundred, 0, 1},
		{[]time.Duration{3, 1, 2}, 50, 2},
		{[]time.Duration{4, 1, 2, 3}, 50, 2},
		{[]time.Duration{8}, 99, 8},
	}
	for _, test := range tests {
		if got := percentile(test.values, test.p); got != test.want {
			t.Errorf("the %v%% point of %v is %d, want %d", test.p, test.values, got, test.want)
		}
	}
}
