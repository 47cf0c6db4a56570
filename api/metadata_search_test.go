package api_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"example.com/perks/api"
)

func TestSearchedText(t *testing.T) {
	long := strings.Repeat("é", 200)
	for value, want := range map[string]string{
		`"4711"`: "4711", `4711`: "4711", `1.50`: "1.50", `1e3`: "1e3", `true`: "true", `false`: "false",
		`" T-1\t"`: "T-1", `"\u0054"`: "T", `"` + long + `"`: long,
		`"` + long + `x"`: "", `""`: "", `" "`: "", `null`: "", `{"a":1}`: "", `["a"]`: "", `"a\u0000"`: "", ``: "",
	} {
		if got, isSearched := api.SearchedText(json.RawMessage(value)); isSearched != (want != "") || isSearched && got != want {
			t.Errorf("%.20s is found by %.20q, %t, want %.20q", value, got, isSearched, want)
		}
	}
}

func TestMetadataIsAFieldOfAQuery(t *testing.T) {
	fields := api.WithMetadata(api.RedemptionFilterFields, []string{"ticket", "Order", "user"})
	for text, want := range map[string]map[string]string{
		"ticket:4711 pending": {"ticket": "4711"}, `tick:"a b"`: {"ticket": "a b"}, "ORDER:7": {"Order": "7"},
		"metadata.user:4 user:ann": {"user": "4"}, "user:ann": {},
	} {
		filter, problems := api.ParseQuery(fields, text)
		got := map[string]string{}
		for _, key := range filter.Metadata.Keys() {
			got[key] = filter.Metadata.Value(key)
		}
		if len(problems) > 0 || !reflect.DeepEqual(got, want) {
			t.Errorf("%s asks for %v, %+v, want %v", text, got, problems, want)
		}
		again, problems := api.ParseQuery(fields, api.FormatQuery(fields, filter))
		if len(problems) > 0 || again != filter {
			t.Errorf("%s, written and read again, is %+v, %+v", text, again, problems)
		}
		p := api.ParseParameters(filter.Values().Encode())
		if read := p.RedemptionFilter([]string{"ticket", "Order", "user"}); p.Err() != nil || read != filter {
			t.Errorf("%s, as parameters, is %+v, %v", text, read, p.Err())
		}
	}
	if _, problems := api.ParseQuery(api.RedemptionFilterFields, "ticket:4711"); len(problems) != 1 {
		t.Errorf("a key that is not searched: %+v", problems)
	}
}

func TestAServiceThatIgnoresMetadataIsFoundOut(t *testing.T) {
	filter := api.RedemptionFilter{Metadata: api.MetadataFilter("").With("ticket", "T-1")}
	check := api.CheckFilter[api.RedemptionFilter, api.RedemptionRecord](
		api.WithMetadata(api.RedemptionFilterFields, filter.Metadata.Keys()), filter)
	var records []api.RedemptionRecord
	for _, metadata := range []string{`{"ticket":"t-1"}`, `{"ticket":"t-2"}`, `{}`, `{"ticket":{"a":1}}`} {
		records = append(records, api.RedemptionRecord{Redemption: api.Redemption{Metadata: json.RawMessage(metadata)}})
	}
	check.Page(records)
	want := []api.Ignored{{Flag: "metadata", Key: "ticket", Misfits: 3}}
	if got := check.Ignored(); !reflect.DeepEqual(got, want) {
		t.Errorf("found %+v, want %+v", got, want)
	}
}
