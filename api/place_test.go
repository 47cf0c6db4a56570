package api_test

import (
	"testing"

	"example.com/perks/api"
)

func TestMiddleOfPoints(t *testing.T) {
	for name, test := range map[string]struct {
		points []api.Point
		want   string
	}{
		"of one":                        {[]api.Point{{Lat: 52.52, Lng: 13.405}}, "52.52,13.405"},
		"of two":                        {[]api.Point{{Lat: 52, Lng: 13}, {Lat: 54, Lng: 13}}, "53,13"},
		"on both sides of the 180th":    {[]api.Point{{Lat: 0, Lng: 179}, {Lat: 0, Lng: -177}}, "0,-179"},
		"around the pole":               {[]api.Point{{Lat: 80, Lng: 0}, {Lat: 80, Lng: 120}, {Lat: 80, Lng: -120}}, "90,0"},
		"of opposite points, it is not": {[]api.Point{{Lat: 0, Lng: 0}, {Lat: 0, Lng: 180}}, "none"},
		"of none":                       {nil, "none"},
	} {
		got := "none"
		if middle := api.Middle(test.points); middle != nil {
			got = middle.String()
		}
		if test.want == "90,0" { // at the pole, any longitude is right
			got = got[:len("90,")] + "0"
		}
		if got != test.want {
			t.Errorf("the middle %s is %s, want %s", name, got, test.want)
		}
	}
}

func TestPointsAsText(t *testing.T) {
	for text, want := range map[string]*api.Point{
		"52.52,13.405": {Lat: 52.52, Lng: 13.405}, "-0.00001,180": {Lat: -0.00001, Lng: 180},
		"": nil, "Rome": nil, "91,0": nil, "1": nil,
	} {
		got := api.ParsePoint(text)
		if (got == nil) != (want == nil) || got != nil && (*got != *want || got.String() != text) {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}
