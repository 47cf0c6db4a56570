package api_test

import (
	"math"
	"testing"

	"example.com/perks/api"
)

func TestNewPageMetaCountsThePages(t *testing.T) {
	for _, c := range []struct {
		page  int64
		per   int
		total int64
		want  int64
	}{
		{1, 25, 0, 0},
		{1, 25, 1, 1},
		{1, 25, 25, 1},
		{2, 25, 26, 2},
		{1, 1, 3, 3},
		{9, 100, 101, 2},
		{1, 100, math.MaxInt64, math.MaxInt64/100 + 1},
	} {
		got := api.NewPageMeta(c.page, c.per, c.total)
		if want := (api.PageMeta{Page: c.page, PerPage: c.per, Total: c.total, TotalPages: c.want}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}
