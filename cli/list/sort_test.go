package list_test

import (
	"fmt"
	"strings"
	"testing"

	"example.com/perks/api"
	"example.com/perks/cli/command"
	"example.com/perks/cli/list"
)

func TestCheckSort(t *testing.T) {
	fields := []string{"title", "valid_to", "distance", "relevance"}
	const all = " The fields are title, valid_to, distance, relevance."
	for sort, want := range map[string]string{
		"":                 "<nil>",
		"title":            "<nil>",
		"-valid_to, title": "<nil>",
		"titel":            `"titel" is not a field to sort by. Did you mean "title"?` + all,
		"title,-valid_too": `"valid_too" is not a field to sort by. Did you mean "valid_to"?` + all,
		"Title":            `"Title" is not a field to sort by. Did you mean "title"?` + all,
		"title,-title":     `--sort names "title" twice.`,
		"title,":           `--sort has an empty name in it.` + all,
		"-":                `--sort has an empty name in it.` + all,
		"relevance,title":  `--sort relevance needs words in --query.`,
		"distance":         `--sort distance needs --near LAT,LNG.`,
		"popularity,-title": "<nil> warning: \"popularity\" is not a sort field that perksctl knows; the server " +
			"decides.\n",
	} {
		s, _, notes := command.BufferedStreams("")
		flags := &list.Flags{Sort: sort}
		err := flags.CheckSort(s, fields, api.PerkFilter{Query: "&"})
		if got := strings.TrimSpace(fmt.Sprint(err) + " " + notes.String()); got != strings.TrimSpace(want) {
			t.Errorf("%q:\n got %s\nwant %s", sort, got, want)
		}
	}
	s, _, _ := command.BufferedStreams("")
	if err := (&list.Flags{Sort: "relevance,-distance"}).CheckSort(s, fields,
		api.PerkFilter{Query: "tea", Near: &api.Circle{}}); err != nil {
		t.Error(err)
	}
}
