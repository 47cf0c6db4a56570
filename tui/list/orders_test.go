package list

import (
	"testing"

	"example.com/perks/api"
)

func TestOrderMarksHaveAnArrow(t *testing.T) {
	for key, want := range map[api.SortKey]string{
		{Field: "created_at", Desc: true}: "newest ↓", {Field: "title"}: "title ↑",
		{Field: "title", Desc: true}: "title ↓",
		{Field: api.SortDistance}:    "nearest ↑", {Field: "propertyId"}: "id ↑",
		{Field: "price_pw", Desc: true}: "dearest ↓",
	} {
		if got := orderMark(key); got != want {
			t.Errorf("%v is %q, want %q", key, got, want)
		}
	}
}
