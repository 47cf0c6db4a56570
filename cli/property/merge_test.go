package property

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/perks/api"
	"example.com/perks/cli/command"
)

func TestMerge(t *testing.T) {
	before := api.Property{Title: "Flat", City: "Leeds", Images: []string{}, PricePW: priceOf(t, "250.00"), Bedrooms: 1}
	for name, test := range map[string]struct {
		mine, theirs func(*api.Property)
		text         string
		want         string // the merged title, city, price and bedrooms
		changed      string // by them; conflicts in capitals
	}{
		"unchanged":   {want: "Flat Leeds 250.00 1"},
		"only mine":   {mine: func(p *api.Property) { p.Title = "Loft" }, want: "Loft Leeds 250.00 1"},
		"only theirs": {theirs: func(p *api.Property) { p.Title = "Loft" }, want: "Loft Leeds 250.00 1", changed: "title"},
		"different fields": {
			mine: func(p *api.Property) { p.Title = "Loft" }, theirs: func(p *api.Property) { p.City, p.Bedrooms = "York", 2 },
			want: "Loft York 250.00 2", changed: "city bedrooms",
		},
		"the same change": {
			mine: func(p *api.Property) { p.Title = "Loft" }, theirs: func(p *api.Property) { p.Title = "Loft" },
			want: "Loft Leeds 250.00 1", changed: "title",
		},
		"the same field": {
			mine:   func(p *api.Property) { p.Title, p.City = "Loft", "York" },
			theirs: func(p *api.Property) { p.Title, p.Bedrooms = "House", 3 },
			want:   "Loft York 250.00 3", changed: "TITLE bedrooms",
		},
		"a price in another notation": {
			mine: func(p *api.Property) { p.PricePW = priceOf(t, "250") }, theirs: func(p *api.Property) { p.PricePW = priceOf(t, "300") },
			want: "Flat Leeds 300 1", changed: "price_pw",
		},
		"removed fields": {text: "title: Loft\n", theirs: func(p *api.Property) { p.City = "York" }, want: "Loft York 250.00 1", changed: "city"},
	} {
		mine, theirs := before, before
		if test.mine != nil {
			test.mine(&mine)
		}
		if test.theirs != nil {
			test.theirs(&theirs)
		}
		text := write("", mine)
		if test.text != "" {
			text = test.text
		}
		patch, _ := readYAML(text).changes(before)
		m := mergeOf(before, theirs, patch)
		got := strings.Join([]string{m.merged.Title, m.merged.City, m.merged.PricePW.String(), strconv.Itoa(m.merged.Bedrooms)}, " ")
		var changed []string
		for _, field := range api.PropertyChanges(before, theirs).Fields() {
			if slices.Contains(m.conflicts, field) {
				field = strings.ToUpper(field)
			}
			changed = append(changed, field)
		}
		if got != test.want || strings.Join(changed, " ") != test.changed {
			t.Errorf("%s: %s, changed %v", name, got, changed)
		}
	}
}

func TestConflictNotes(t *testing.T) {
	before, mine, theirs := api.Property{Title: "Flat"}, api.Property{Title: "Loft"}, api.Property{Title: "House\nof \x1bcards", City: "York"}
	m := mergeOf(before, theirs, api.PropertyChanges(before, mine))
	_, text, _ := strings.Cut(annotate(write("", m.merged), m.notes()), "\n\n")
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
	summary := "  title\n    before: Flat\n    theirs: House of cards\n    yours:  Loft\n  city\n    before: (empty)\n    theirs: York\n"
	if diff := cmp.Diff(summary, m.String()); diff != "" {
		t.Error(diff)
	}
}

func TestWriteDiff(t *testing.T) {
	before := api.Property{Title: "Flat", Description: "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n", PricePW: priceOf(t, "1")}
	after := readYAML("title: \"Loft\\e\"\nprice_pw: 1.0\nlat: 1.5\ndescription: |-\n  one\n  two\n  three\n  four\n  five\n  six\n  seven\n  8\n  nine\n")
	patch, _ := after.changes(before)
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
	if diff := cmp.Diff(want, writeDiff(s, patch, before)); diff != "" {
		t.Error(diff)
	}
	s.Colour = true
	if got := writeDiff(s, patch.Only("title"), before); got != "\x1b[31m- title: Flat\x1b[0m\n\x1b[32m+ title: \"Loft\\x1b\"\x1b[0m\n" {
		t.Errorf("%q", got)
	}
}
