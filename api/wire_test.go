package api_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"example.com/perks/api"
)

func TestTimesHaveMilliseconds(t *testing.T) {
	for nanoseconds, digits := range map[int]string{0: "000", 670_000_000: "670", 5_000_000: "005", 999_999_999: "999",
		123_456_000: "123", 1: "000"} {
		at := time.Date(2026, 1, 2, 5, 4, 5, nanoseconds, time.FixedZone("", 2*60*60))
		perk := api.Perk{Title: "<a> & b", ValidFrom: &at, ValidTo: &at, CreatedAt: at, UpdatedAt: at}
		for _, c := range []struct {
			value any
			times int
		}{
			{perk, 4},
			{&perk, 4},
			{api.Page[api.Perk]{Data: []api.Perk{perk, {Title: "<a> & b"}}}, 4},
			{api.Redemption{RedeemedAt: at, Metadata: json.RawMessage(`{"a":"<a> & b"}`)}, 1},
			{api.Token{ExpiresAt: at, Scope: "<a> & b"}, 1},
		} {
			body, err := api.EncodeJSON(c.value)
			if err != nil {
				t.Fatal(err)
			}
			if text := `"2026-01-02T03:04:05.` + digits + `Z"`; strings.Count(string(body), text) != c.times ||
				!strings.Contains(string(body), "<a> & b") {
				t.Errorf("%s, want %d times %s", body, c.times, text)
			}
		}
	}
}

// The types without their own MarshalJSON.
type (
	barePerk       api.Perk
	bareRedemption api.Redemption
	bareToken      api.Token
)

// TestEncodeJSONWritesAllFields compares names, order and values with encoding/json, which also writes three digits for
// times in whole milliseconds that do not end in a zero.
func TestEncodeJSONWritesAllFields(t *testing.T) {
	for _, onlyTimes := range []bool{false, true} {
		f := filler{t: t, onlyTimes: onlyTimes}
		var perk barePerk
		var redemption bareRedemption
		var token bareToken
		var page api.Page[barePerk]
		for _, value := range []any{&perk, &redemption, &token, &page} {
			f.fill(reflect.ValueOf(value).Elem())
		}
		perks := api.Page[api.Perk]{Meta: page.Meta}
		for _, perk := range page.Data {
			perks.Data = append(perks.Data, api.Perk(perk))
		}
		for _, c := range []struct{ value, bare any }{
			{api.Perk(perk), perk}, {api.Redemption(redemption), redemption}, {api.Token(token), token}, {perks, page},
		} {
			got, err := api.EncodeJSON(c.value)
			if err != nil {
				t.Fatal(err)
			}
			want, err := json.Marshal(c.bare)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != string(want) {
				t.Errorf("%T is written as\n%s\nwant\n%s", c.value, got, want)
			}
		}
	}
}

// filler gives each field a different value, or only the times.
type filler struct {
	t         *testing.T
	onlyTimes bool
	n         int
}

func (f *filler) fill(v reflect.Value) {
	f.n++
	switch {
	case v.Type() == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.Date(2026, 1, 2, 3, 4, f.n, 123_000_000, time.UTC)))
	case v.Type() == reflect.TypeFor[json.RawMessage]():
		v.SetBytes(fmt.Appendf(nil, `{"a":%d}`, f.n))
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			f.fill(v.Field(i))
		}
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		f.fill(v.Index(0))
	case v.Kind() == reflect.Pointer && !(f.onlyTimes && v.Type() != reflect.TypeFor[*time.Time]()):
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem())
	case f.onlyTimes:
	case v.Kind() == reflect.String:
		v.SetString(fmt.Sprint("text ", f.n))
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.CanInt():
		v.SetInt(int64(f.n))
	case v.CanFloat():
		v.SetFloat(float64(f.n))
	default:
		f.t.Fatalf("no value for a %s", v.Type())
	}
}
