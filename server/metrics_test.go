package server_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/expfmt"

	"example.com/perks/api"
	"example.com/perks/server"
	"example.com/perks/server/servertest"
)

// counted returns the counters and gauges of a registry, and the sample counts of its histograms, by name and labels.
func counted(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			var labels []string
			for _, label := range metric.GetLabel() {
				labels = append(labels, label.GetValue())
			}
			all[family.GetName()+" "+strings.Join(labels, " ")] =
				metric.GetCounter().GetValue() + metric.GetGauge().GetValue() +
					float64(metric.GetHistogram().GetSampleCount())
		}
	}
	return all
}

// of keeps the metrics with the name that are not zero.
func of(all map[string]float64, name string) map[string]float64 {
	kept := map[string]float64{}
	for key, value := range all {
		if labels, ok := strings.CutPrefix(key, name+" "); ok && value != 0 {
			kept[labels] = value
		}
	}
	return kept
}

func measured(registry *prometheus.Registry) func(*server.Config) {
	return func(c *server.Config) { c.Metrics = registry }
}

func TestMetricsCountRequests(t *testing.T) {
	registry := prometheus.NewRegistry()
	s := fixture(t, measured(registry))
	id, token := s.Caller()
	reader := s.Token(api.ScopePerksRead)

	for range 3 {
		s.Status(token, "GET", s.LiveURL()+"/perks/tea", "")
	}
	s.Status(token, "GET", s.LiveURL()+"/perks/none", "")
	s.Status("", "GET", s.LiveURL()+"/perks/tea", "")
	s.Status("nonsense", "GET", s.LiveURL()+"/perks/tea", "")
	redeem := func(token, base, perk, key string) {
		request := s.Request(token, "POST", base+"/perks/"+perk+"/redeem", `{"user_id":"alice"}`)
		if key != "" {
			request.Header.Set("Idempotency-Key", key)
		}
		s.Do(request, nil)
	}
	redeem(token, s.LiveURL(), "tea", "k")
	redeem(token, s.LiveURL(), "tea", "k") // replayed
	redeem(token, s.LiveURL(), "tea", "")  // a second time
	redeem(token, s.LiveURL(), "spa", "")
	redeem(token, s.LiveURL(), "none", "")
	redeem(token, s.SandboxURL(), "tea", "")
	redeem(reader, s.SandboxURL(), "tea", "") // refused before the attempt
	s.Do(tokenRequest(s, id, "wrong", "", ""), nil)

	all := counted(t, registry)
	want := map[string]map[string]float64{
		"perks_http_requests_total": { // code, method, route
			"200 GET /v2/partners/perks/:perkId":                 3,
			"404 GET /v2/partners/perks/:perkId":                 1,
			"401 GET /v2/partners/perks/:perkId":                 2,
			"201 POST /v2/partners/perks/:perkId/redeem":         3,
			"409 POST /v2/partners/perks/:perkId/redeem":         1,
			"404 POST /v2/partners/perks/:perkId/redeem":         1,
			"201 POST /v2/sandbox/partners/perks/:perkId/redeem": 1,
			"403 POST /v2/sandbox/partners/perks/:perkId/redeem": 1,
			"200 POST /v2/auth/token":                            2,
			"401 POST /v2/auth/token":                            1,
		},
		"perks_http_request_duration_seconds": {
			"GET /v2/partners/perks/:perkId":                 6,
			"POST /v2/partners/perks/:perkId/redeem":         5,
			"POST /v2/sandbox/partners/perks/:perkId/redeem": 2,
			"POST /v2/auth/token":                            3,
		},
		"perks_http_requests_in_flight": {},
		"perks_redemptions_total": {
			"live approved": 1, "live replayed": 1, "live already_redeemed": 1, "live pending": 1, "live not_found": 1,
			"sandbox approved": 1,
		},
		"perks_token_requests_total":  {"issued": 2, "invalid_client": 1},
		"perks_bearer_refusals_total": {"missing": 1, "invalid": 1, "scope": 1},
		"perks_rate_limited_total":    {},
		"perks_panics_total":          {},
		"perks_database_ready":        {"live": 1, "sandbox": 1},
	}
	for name, series := range want {
		if diff := cmp.Diff(series, of(all, name)); diff != "" {
			t.Errorf("%s differs (-want +got):\n%s", name, diff)
		}
	}
}

func TestUnknownPathsAndMethodsMakeNoSeries(t *testing.T) {
	registry := prometheus.NewRegistry()
	s := servertest.Start(t, measured(registry))
	for i := range 20 {
		for _, path := range []string{"/nothing", "/v2/auth/token"} {
			s.Status("", fmt.Sprintf("MAKE%d", i), s.Root()+path, "")
		}
		for _, path := range []string{"/nothing%d", "/v2/partners/nothing%d", "/v2/partners/perks/%d",
			"/v2/partners/perks/%d%%2Fnothing", "/v2/partners/perks/%d/", "/nothing%d/", "/v2/partners/perks/%d//",
			"/.well-known/oauth-authorization-server/v9%d"} {
			s.Status("", "GET", s.Root()+fmt.Sprintf(path, i), "")
		}
	}
	all := counted(t, registry)
	for name, want := range map[string][]string{
		"perks_http_requests_total": {"401 GET /v2/partners/perks/:perkId", "404 GET other",
			"404 other other", "405 other /v2/auth/token"},
		"perks_http_request_duration_seconds": {"GET /v2/partners/perks/:perkId", "GET other", "other /v2/auth/token",
			"other other"},
	} {
		if diff := cmp.Diff(want, slices.Sorted(maps.Keys(of(all, name)))); diff != "" {
			t.Errorf("the series of %s differ (-want +got):\n%s", name, diff)
		}
	}
}

func TestLimitsPanicsAndOutagesAreCounted(t *testing.T) {
	registry := prometheus.NewRegistry()
	s := servertest.Start(t, measured(registry), servertest.WithClock(clockAt(10)), func(c *server.Config) {
		c.RateLimit = 1
		c.Live = broken{Store: c.Live, perk: func() error { panic("a bug") }, ready: context.DeadlineExceeded}
	})
	token := s.Token(api.ScopePerksRead)
	for range 3 {
		s.Status(token, "GET", s.LiveURL()+"/perks/tea", "")
	}
	for range 12 {
		s.Do(tokenRequest(s, "acme", "wrong", "", ""), nil)
	}
	all := counted(t, registry)
	for name, series := range map[string]map[string]float64{
		"perks_panics_total":         {"": 1},
		"perks_rate_limited_total":   {"client": 2, "token_failures": 2},
		"perks_token_requests_total": {"issued": 1, "invalid_client": 10, "rate_limited": 2},
		"perks_database_ready":       {"sandbox": 1},
	} {
		if diff := cmp.Diff(series, of(all, name)); diff != "" {
			t.Errorf("%s differs (-want +got):\n%s", name, diff)
		}
	}
}

func TestMetricNamesFollowPrometheusConventions(t *testing.T) {
	registry := prometheus.NewRegistry()
	s := servertest.Start(t, measured(registry))
	s.Status("", http.MethodGet, s.URL+"/health", "")
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	for _, family := range families {
		if _, err := expfmt.MetricFamilyToText(&text, family); err != nil {
			t.Fatal(err)
		}
	}
	problems, err := promlint.New(&text).Lint()
	if err != nil || len(families) < 15 {
		t.Fatalf("%d metrics, %v", len(families), err)
	}
	for _, problem := range problems {
		t.Errorf("%s: %s", problem.Metric, problem.Text)
	}
}
