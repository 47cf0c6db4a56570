package server_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"example.com/perks/api"
	"example.com/perks/server"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
)

// traced starts a server whose database fails to read perks, and records its spans.
func traced(
	t *testing.T, log *bytes.Buffer, trust bool, sampler trace.Sampler,
) (*servertest.Server, *tracetest.InMemoryExporter) {
	t.Helper()
	spans := tracetest.NewInMemoryExporter()
	provider := trace.NewTracerProvider(trace.WithSyncer(spans), trace.WithSampler(sampler))
	return servertest.Start(t, servertest.LogTo(log), func(c *server.Config) {
		c.Tracer, c.TrustTraceparent = provider, trust
		c.Live = broken{Store: c.Live,
			perk: func() error { return store.Unavailable(errors.New("table at /var/lib/secret.db")) }}
	}), spans
}

func named(t *testing.T, spans *tracetest.InMemoryExporter, name string) tracetest.SpanStub {
	t.Helper()
	for _, span := range spans.GetSpans() {
		if span.Name == name {
			return span
		}
	}
	t.Fatalf("there is no span %q", name)
	return tracetest.SpanStub{}
}

const (
	callersTrace = "0af7651916cd43dd8448eb211c80319c"
	sampled      = "00-" + callersTrace + "-b7ad6b7169203331-01"
	notSampled   = "00-" + callersTrace + "-b7ad6b7169203331-00"
)

func TestOnlyServerErrorsAreErrorsOfASpan(t *testing.T) {
	var log bytes.Buffer
	s, spans := traced(t, &log, false, trace.AlwaysSample())
	s.Status(s.Token(api.ScopePerksRead), "GET", s.LiveURL()+"/perks/tea", "")
	s.Status("", "GET", s.LiveURL()+"/perks", "")
	s.Stop()
	failed := named(t, spans, "GET /v2/partners/perks/:perkId")
	if failed.Status.Code != codes.Error || !slices.Contains(failed.Attributes, attribute.String("error.type", "503")) {
		t.Errorf("the failed request is %+v", failed)
	}
	if refused := named(t, spans, "GET /v2/partners/perks"); refused.Status.Code != codes.Unset {
		t.Errorf("the refused request is %+v", refused)
	}
	trace := failed.SpanContext.TraceID().String()
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, "request failed") && !strings.Contains(line, "trace_id="+trace) {
			t.Errorf("this line does not name the trace %s: %s", trace, line)
		}
	}
	if strings.Count(log.String(), "trace_id="+trace) != 2 { // the error and the request
		t.Errorf("the log does not name the trace %s twice:\n%s", trace, log.String())
	}
}

func TestASpanOfTheDatabaseHasTheCodeThatTheCallerGets(t *testing.T) {
	for code, err := range map[string]error{
		"costly": store.ErrCostly, "too_expensive": store.ErrTimeLimit, "not_found": store.PerkNotFound("tea"),
		"unavailable": context.DeadlineExceeded, "internal": errors.New("a fault"),
	} {
		spans := tracetest.NewInMemoryExporter()
		s := servertest.Start(t, func(c *server.Config) {
			c.Tracer = trace.NewTracerProvider(trace.WithSyncer(spans))
			c.Live = broken{Store: c.Live, perk: func() error { return err }}
		})
		s.Get(s.Token(api.ScopePerksRead), s.LiveURL()+"/perks/tea")
		s.Stop()
		inside, want := named(t, spans, "store.Perk"), trace.Status{}
		if code == "unavailable" || code == "internal" {
			want = trace.Status{Code: codes.Error, Description: code}
		}
		if !slices.Contains(inside.Attributes, attribute.String("perks.code", code)) || inside.Status != want {
			t.Errorf("%v: the span is %+v", err, inside)
		}
	}
}

// Every request but those for events has spans of what it asks the store.
func TestARequestHasSpansOfTheStore(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	s := servertest.Start(t, func(c *server.Config) { c.Tracer = trace.NewTracerProvider(trace.WithSyncer(spans)) })
	s.ImportUsers("alice")
	token := s.Token()
	for path, want := range map[string]string{
		"/perks": "ListPerks", "/perks/tea": "PerkRecord", "/perks/tea/stock": "PerkStock",
		"/perks/tea/history": "PerkHistory", "/perks/categories": "Categories", "/users": "ListUsers",
		"/perks/users/alice?type=redeemed": "ListRedemptions", "/redemptions": "ListRedemptions",
		"/redemptions/none": "Redemption", "/reports/redemptions?by=perk": "ReportRedemptions",
		"/perks/tea/eligibility?user_id=alice": "Eligibility", "/properties": "ListProperties",
	} {
		spans.Reset()
		s.Get(token, s.LiveURL()+path)
		named(t, spans, "store."+want)
	}
	s.Status(token, "POST", s.LiveURL()+"/properties", `{"title":"Loft","price_pw":"1"}`)
	named(t, spans, "store.CreateProperty")
}

// TestSampling sends a traceparent header. An untrusted caller can neither request that it is recorded nor prevent it.
func TestSampling(t *testing.T) {
	for _, test := range []struct {
		given   string
		trust   bool
		sampler trace.Sampler // of new traces
		want    string
	}{
		{sampled, false, trace.NeverSample(), "not recorded"},
		{notSampled, false, trace.AlwaysSample(), "linked"},
		{sampled, true, trace.NeverSample(), "continued"},
		{notSampled, true, trace.AlwaysSample(), "not recorded"},
		{"nonsense", true, trace.AlwaysSample(), "new"},
	} {
		var log bytes.Buffer
		s, spans := traced(t, &log, test.trust, trace.ParentBased(test.sampler))
		request := s.Request("", "GET", s.URL+"/health", "")
		request.Header.Set("Traceparent", test.given)
		s.Do(request, nil)
		s.Stop()
		got := "not recorded"
		for _, span := range spans.GetSpans() {
			switch {
			case span.SpanContext.TraceID().String() == callersTrace:
				got = "continued"
			case len(span.Links) == 0:
				got = "new"
			case span.Links[0].SpanContext.TraceID().String() == callersTrace:
				got = "linked"
			}
		}
		isLogged := strings.Contains(log.String(), "trace_id=")
		if got != test.want || isLogged != (got != "not recorded") || len(spans.GetSpans()) > 1 {
			t.Errorf("%s, trusted %t: %s, want %s; the log names a trace: %t", test.given, test.trust, got, test.want,
				isLogged)
		}
	}
}
