package record

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/perks/api"
	"example.com/perks/api/operation"
	"example.com/perks/cli/command"
)

func TestConflictNotes(t *testing.T) {
	before, theirs := api.Property{Title: "Flat"}, api.Property{Title: "House\nof \x1bcards", City: "York"}
	e := operation.Properties.NewEdit("42", operation.PropertyVersion{Record: before})
	e.Type("title", "Loft")
	e.MeetDraft(operation.PropertyVersion{Record: theirs})
	_, text, _ := strings.Cut(listings.annotate(listings.write("", e.Wanted()), listings.conflictNotes(e)), "\n\n")
	want := `#! Somebody else changed this too. Yours is below; theirs is:
#!   title: "House\nof \x1bcards"
#! Before, it was:
#!   title: Flat
title: Loft
description: ""
`
	if !strings.HasPrefix(text, want) {
		t.Errorf("got\n%s", text)
	}
	summary := "  title\n    before: Flat\n    theirs: House of cards\n    yours:  Loft\n" +
		"  city\n    before: (empty)\n    theirs: York\n"
	if diff := cmp.Diff(summary, listings.changesByOthers(e)); diff != "" {
		t.Error(diff)
	}
}

func TestWriteDiff(t *testing.T) {
	before := api.Property{Title: "Flat", Description: "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n",
		PricePW: priceOf(t, "1")}
	after := listings.readYAML("title: \"Loft\\e\"\nprice_pw: 1.0\nlat: 1.5\n" +
		"description: |-\n  one\n  two\n  three\n  four\n  five\n  six\n  seven\n  8\n  nine\n")
	patch, _ := changed(after, before)
	s, _, _ := command.BufferedStreams("")
	want := `- title: Flat
+ title: "Loft\x1b"
- description: |
+ description: |-
    one
    two
  description ...
    six
    seven
-   eight
+   8
    nine
- lat: null
+ lat: 1.5
`
	if diff := cmp.Diff(want, listings.writeDiff(s, patch, before)); diff != "" {
		t.Error(diff)
	}
	s.Colour = true
	if got := listings.writeDiff(s, patch.Only("title"),
		before); got != "\x1b[31m- title: Flat\x1b[0m\n\x1b[32m+ title: \"Loft\\x1b\"\x1b[0m\n" {
		t.Errorf("%q", got)
	}
}
