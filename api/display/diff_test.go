package display

import (
	"slices"
	"testing"
)

func TestDiffShowsChangesInContext(t *testing.T) {
	got := Diff("one\ntwo\nthree\nfour\nfive\nsix", "one\ntwo\nthree\n4\x1b\nfive\nsix\n")
	want := []DiffLine{
		{Omitted, ""}, {Kept, "two"}, {Kept, "three"}, {Removed, "four"}, {Added, Text("4\x1b")}, {Kept, "five"},
		{Kept, "six"}, {Added, ""},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if got := Diff("same", "same"); got != nil {
		t.Errorf("equal texts differ by %q", got)
	}
}
