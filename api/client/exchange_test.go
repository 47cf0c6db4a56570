package client

import (
	"net/http"
	"testing"
	"time"
)

func TestEarliestAllowsForSlowExchange(t *testing.T) {
	lost := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		sent, received time.Duration // after lost
		date           string
		want           time.Duration // after lost
	}{
		"at once, the same clock": {0, 0, "Mon, 02 Mar 2026 10:00:00 GMT",
			-1500 * time.Millisecond},
		"later, the same clock": {time.Minute, time.Minute, "Mon, 02 Mar 2026 10:01:00 GMT",
			-1500 * time.Millisecond},
		"an hour ahead": {0, 0, "Mon, 02 Mar 2026 11:00:00 GMT",
			time.Hour - 1500*time.Millisecond},
		"a slow exchange": {0, 10 * time.Second, "Mon, 02 Mar 2026 10:00:10 GMT",
			-1500 * time.Millisecond},
		"a slow exchange whose header was written first": {0, 10 * time.Second, "Mon, 02 Mar 2026 10:00:00 GMT",
			-11500 * time.Millisecond},
		"clock set back in between": {-time.Hour, -time.Hour, "Mon, 02 Mar 2026 10:00:00 GMT",
			-1500 * time.Millisecond},
		"no date": {0, 0, "", -2 * time.Second},
	} {
		x := exchange{lost.Add(test.sent), lost.Add(test.received), http.Header{"Date": {test.date}}}
		if got := x.earliest(lost).Sub(lost); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}
