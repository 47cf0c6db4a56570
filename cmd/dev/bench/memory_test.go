package main

import (
	"regexp"
	"testing"
)

func TestMixedListsAreMany(t *testing.T) {
	different, deep := map[string]bool{}, 0
	for n := range int64(listedPages) {
		address := mixedList(n)
		different[address] = true
		if regexp.MustCompile(`&page=\d{4,}&`).MatchString(address) {
			deep++
		}
	}
	if len(different) < listedPages/4 || deep < listedPages/10 {
		t.Errorf("of %d lists %d are different, and %d deep", listedPages, len(different), deep)
	}
}
