package redeem

import (
	"fmt"
	"strings"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

// Longest lists within a question.
const (
	maxNames    = 8
	maxMetadata = 120
)

func named(perk api.Perk) string { return `"` + display.Line(perk.Title) + `"` }

// perksNamed lists perks in a sentence. Perks of the same title are told apart by their ids.
func perksNamed(perks []api.Perk) string {
	titles := map[string]int{}
	for _, perk := range perks {
		titles[perk.Title]++
	}
	var names []string
	for i, perk := range perks {
		if i == maxNames {
			names = append(names, fmt.Sprintf("%d more", len(perks)-i))
			break
		}
		name := named(perk)
		if titles[perk.Title] > 1 {
			name += " (" + display.Line(perk.ID) + ")"
		}
		names = append(names, name)
	}
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// place says where a redemption takes effect, so that nobody takes the one for the other.
func place(profile screen.Profile) string {
	kind := "LIVE"
	if profile.Sandbox {
		kind = "SANDBOX"
	}
	return fmt.Sprintf("%s (%s), profile %s", profile.APIURL, kind, profile.Name)
}

// question says in one sentence what y does.
func (s *Screen) question(next *submission) screen.Confirm {
	perks := perksOf(next.open())
	user := display.Line(next.request.UserID)
	what, yes := perksNamed(perks), "redeem it"
	if len(perks) > 1 {
		what, yes = fmt.Sprintf("%d perks (%s)", len(perks), what), "redeem them"
	}
	with := ""
	if metadata := display.Line(string(next.request.Metadata)); metadata != "" {
		with = ", with the metadata " + widget.Cut(metadata, maxMetadata)
	}
	var lines []string // the risks first: where there is little room, the end is cut off
	if again := s.doubtsBeside(next); len(again) > 0 {
		lines = append(lines, fmt.Sprintf("THIS CAN REDEEM TWICE: it is not known whether %s was redeemed for %s before, with other metadata.", perksNamed(again), user))
	}
	if open := s.doubtsElsewhere(next); len(open) > 0 {
		lines = append(lines, fmt.Sprintf("THIS CAN REDEEM TWICE: another screen has already sent %s for %s, and the outcome is unknown.", perksNamed(open), user))
	}
	for _, i := range next.open() {
		if i.givenUp {
			lines = append(lines, fmt.Sprintf("It is not known whether %s was redeemed before. It is sent under the same key, so that a service that heeds keys redeems it once.", named(i.perk)))
		}
	}
	lines = append(lines, fmt.Sprintf("Redeem %s for %s at %s%s.", what, user, place(s.home), with))
	text := strings.Join(lines, "\n")
	return screen.Confirm{Title: "Redeem for " + user + "?", Text: text, Yes: yes}
}

func perksOf(items []*item) []api.Perk {
	perks := make([]api.Perk, len(items))
	for i, it := range items {
		perks[i] = it.perk
	}
	return perks
}
