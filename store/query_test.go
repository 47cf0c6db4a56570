package store_test

import (
	"math"
	"testing"

	"example.com/perks/store"
)

func TestWindowIsReadFromTheNearerEnd(t *testing.T) {
	for _, test := range []struct {
		name  string
		page  int64
		per   int
		total int64
		want  store.Fetch
	}{
		{"an empty list", 1, 10, 0, store.Fetch{}},
		{"all of a short list", 1, 10, 3, store.Fetch{Take: 3}},
		{"the first page", 1, 10, 100, store.Fetch{Take: 10}},
		{"the page that begins in the middle", 6, 10, 100, store.Fetch{Skip: 50, Take: 10}},
		{"the page after it", 7, 10, 100, store.Fetch{FromEnd: true, Skip: 30, Take: 10}},
		{"the last page, full", 10, 10, 100, store.Fetch{FromEnd: true, Take: 10}},
		{"the last page, not full", 10, 10, 93, store.Fetch{FromEnd: true, Take: 3}},
		{"the page before it", 9, 10, 93, store.Fetch{FromEnd: true, Skip: 3, Take: 10}},
		{"a page past the end", 11, 10, 100, store.Fetch{}},
		{"a page far past the end", math.MaxInt64, 100, math.MaxInt64 - 1, store.Fetch{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := (store.Window{Page: test.page, PerPage: test.per}).Fetch(test.total); got != test.want {
				t.Errorf("it is %+v, want %+v", got, test.want)
			}
		})
	}
}
