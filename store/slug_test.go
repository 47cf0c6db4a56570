package store_test

import (
	"slices"
	"strings"
	"testing"

	"example.com/perks/api"
	"example.com/perks/store"
)

func TestCategoryID(t *testing.T) {
	for _, test := range []struct {
		name  string
		taken []string
		want  string
	}{
		{"Food & Drink", nil, "food-drink"},
		{"  Café Crème! ", nil, "cafe-creme"},
		{"Food & Drink", []string{"food-drink"}, "food-drink-2"},
		{"Food & Drink", []string{"food-drink", "food-drink-2"}, "food-drink-3"},
		{"Categories", nil, "categories-2"},
		{"食べ物", nil, "category"},
		{"飲み物", []string{"category"}, "category-2"},
		{strings.Repeat("long ", 24), []string{}, strings.Repeat("long-", 11) + "l"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := store.CategoryID(test.name, func(id string) bool { return slices.Contains(test.taken, id) })
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if problem := api.PerkIDRule(got); problem != "" {
				t.Errorf("%q %s", got, problem)
			}
		})
	}
}
