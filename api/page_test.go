package api_test

import (
	"encoding/json"
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

func TestPageMetaReadsTexts(t *testing.T) {
	for text, want := range map[string]api.PageMeta{
		`{"page":"2","per_page":"25","total":"130","total_pages":"6"}`: api.NewPageMeta(2, 25, 130),
		`{"page":2,"per_page":25.0,"total":130,"total_pages":6}`:       api.NewPageMeta(2, 25, 130),
		`{"page":1,"per_page":25,"total":null,"more_than":200}`:        {Page: 1, PerPage: 25, MoreThan: 200},
	} {
		var got api.PageMeta
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != want {
			t.Errorf("%s: got %+v, %v", text, got, err)
		}
	}
	if err := json.Unmarshal([]byte(`{"total":"many"}`), new(api.PageMeta)); err == nil {
		t.Error("a word is a total")
	}
}
