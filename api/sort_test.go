package api_test

import (
	"reflect"
	"strings"
	"testing"

	"example.com/perks/api"
)

func TestParseSort(t *testing.T) {
	asc := func(field string) api.SortKey { return api.SortKey{Field: field} }
	desc := func(field string) api.SortKey { return api.SortKey{Field: field, Desc: true} }
	for text, want := range map[string][]api.SortKey{
		"":                              nil,
		"title":                         {asc("title")},
		"-created_at":                   {desc("created_at")},
		"title,-created_at":             {asc("title"), desc("created_at")},
		" title , -city ":               {asc("title"), desc("city")},
		"+title,-city":                  {asc("title"), desc("city")},
		"title,":                        {asc("title")},
		"title, -city , ":               {asc("title"), desc("city")},
		"city,title,id,-terms,":         {asc("city"), asc("title"), asc("id"), desc("terms")},
		"city,title,category,-distance": {asc("city"), asc("title"), asc("category"), desc("distance")},
	} {
		keys, err := api.ParseSort(text, api.PerkSortFields())
		if err != nil || !reflect.DeepEqual(keys, want) {
			t.Errorf("%q gives %v, %v, want %v", text, keys, err, want)
		}
	}
}

func TestParseSortRefusesOtherFields(t *testing.T) {
	for text, want := range map[string]string{
		"price": `cannot sort by "price"; the fields are id, perk_id, user_id,` +
			` redeemed_at, status`,
		"Status":                              `cannot sort by "Status"`,
		"--status":                            `cannot sort by "-status"`,
		"- status":                            `cannot sort by " status"`,
		"status,,":                            `cannot sort by ""`,
		"status,,id":                          `cannot sort by ""`,
		",status":                             `cannot sort by ""`,
		"+-status":                            `cannot sort by "-status"`,
		"-+status":                            `cannot sort by "+status"`,
		"++status":                            `cannot sort by "+status"`,
		"distance":                            `cannot sort by "distance"`,
		"metadata":                            `cannot sort by "metadata"`,
		",":                                   `cannot sort by ""`,
		" ":                                   `cannot sort by ""`,
		"status;drop":                         `cannot sort by "status;drop"`,
		"status,-status":                      `names "status" twice`,
		"status,perk_id,redeemed_at,status,a": "at most 4 fields",
	} {
		if keys, err := api.ParseSort(text, api.RedemptionSortFields()); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q gives %v, %v, want an error that says %s", text, keys, err, want)
		}
	}
}

func FuzzParseSort(f *testing.F) {
	for _, seed := range []string{"", "title", "-title,city", " title ,-created_at", "title,title", "--title", ",,,,,",
		"distance", "+title,"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		keys, err := api.ParseSort(text, api.PerkSortFields())
		if err != nil {
			return
		}
		again, err := api.ParseSort(api.FormatSort(keys), api.PerkSortFields())
		if err != nil || !reflect.DeepEqual(again, keys) {
			t.Fatalf("%q gives %v, written and read again %v, %v", text, keys, again, err)
		}
		if len(keys) > api.MaxSortKeys {
			t.Fatalf("%q gives %d keys", text, len(keys))
		}
	})
}
