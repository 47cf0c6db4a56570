package main

import "testing"

func TestMixedListsAreMany(t *testing.T) {
	different, deep := map[string]bool{}, 0
	for n := range int64(listedPages) {
		q := mixedList(n)
		different[path(q)] = true
		if q.Window.Page > 1_000 {
			deep++
		}
	}
	if len(different) < listedPages/4 || deep < listedPages/10 {
		t.Errorf("of %d lists %d are different, and %d deep", listedPages, len(different), deep)
	}
}
