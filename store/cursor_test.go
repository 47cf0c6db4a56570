package store

import (
	"encoding/base64"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/perks/api"
)

func TestACursorIsReadAsItWasWritten(t *testing.T) {
	category, from := "Food & Ärger", noon.Add(time.Microsecond)
	full := api.Perk{ID: "p-1", Title: "STRASSE <\u2028>", Category: &category, City: "York", ValidFrom: &from,
		CreatedAt: noon}
	for _, perk := range []api.Perk{full, {ID: "bare"}} {
		for _, field := range api.PerkSortFields() {
			for _, keys := range [][]api.SortKey{nil, {{Field: field}}, {{Field: field, Desc: true}, {Field: "city"}}} {
				cursor := PerkQuery{PerkFilter: api.PerkFilter{Query: "strasse"}, Sort: keys}.CursorOf(&perk,
					1_500_000)
				got, err := ParseCursor(cursor.Text(keys), keys)
				if err != nil {
					t.Fatalf("%s: %v", api.FormatSort(keys), err)
				}
				if diff := cmp.Diff(cursor.Values, got.Values); len(keys) > 0 && diff != "" || got.ID != perk.ID {
					t.Errorf("%s: it is of %s, and its values differ (-want +got):\n%s", api.FormatSort(keys), got.ID,
						diff)
				}
			}
		}
	}
}

func TestWhatIsNoCursorIsRefused(t *testing.T) {
	byTime := []api.SortKey{{Field: "created_at", Desc: true}}
	for _, text := range []string{
		``, `null`, `[]`, `{}`, `["-created_at"]`, `["-created_at",1]`, `["-created_at",1,"p",2]`,
		`["created_at",1,"p"]`, `["-created_at","1","p"]`,
		`["-created_at",1.5,"p"]`, `["-created_at",1e99,"p"]`, `["-created_at",[1],"p"]`, `["-created_at",1,2]`,
		`["-created_at",1,"p\u0000"]`, `[1,1,"p"]`,
	} {
		if cursor, err := ParseCursor(base64.RawURLEncoding.EncodeToString([]byte(text)), byTime); err == nil {
			t.Errorf("%s is read as %+v", text, cursor)
		}
	}
	for _, text := range []string{"\x00", "WyItY3JlYXRlZF9hdCIsMSwicCJd=", "W yJd"} {
		if cursor, err := ParseCursor(text, byTime); err == nil {
			t.Errorf("%q is read as %+v", text, cursor)
		}
	}
	for field, numbers := range map[string][]int64{
		"created_at":      {math.MinInt64, math.MaxInt64, -62_135_596_800_000_001, 253_402_300_800_000_000},
		api.SortRelevance: {math.MinInt64, -1, 2, math.MaxInt32 + 1},
		api.SortDistance:  {math.MinInt64, -1, math.MaxInt64},
		"bedrooms":        {math.MinInt64, -1, math.MaxInt32 + 1},
	} {
		for _, number := range numbers {
			keys := []api.SortKey{{Field: field}}
			text := (&Cursor{Values: []any{number}, ID: "p"}).Text(keys)
			if cursor, err := ParseCursor(text, keys); err == nil {
				t.Errorf("%d is read as a value of %s: %+v", number, field, cursor)
			}
		}
	}
	byTitle := []api.SortKey{{Field: "title"}}
	if cursor, err := ParseCursor(base64.RawURLEncoding.EncodeToString([]byte(`["title","a\u0000","p"]`)),
		byTitle); err == nil {
		t.Errorf("a text with NUL is read as %+v", cursor)
	}
}
