package main

import (
	"bytes"
	"encoding/hex"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	traces "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// otlpReceiver is a collector that stores traces.
type otlpReceiver struct {
	*httptest.Server
	mu       sync.Mutex
	raw      bytes.Buffer
	headers  http.Header
	services map[string]bool
	spans    map[string][]*traces.Span // by name
}

func newOTLPReceiver(t *testing.T) *otlpReceiver {
	r := &otlpReceiver{services: map[string]bool{}, spans: map[string][]*traces.Span{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		var export collector.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(body, &export)
		}
		if err != nil || request.Method != http.MethodPost || request.URL.Path != "/v1/traces" {
			t.Errorf("%s %s: %v", request.Method, request.URL, err)
			return
		}
		r.keep(body, request.Header, &export)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *otlpReceiver) keep(body []byte, header http.Header, export *collector.ExportTraceServiceRequest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.raw.Write(body)
	r.headers = header
	for _, resource := range export.ResourceSpans {
		r.services[attributes(resource.Resource.Attributes)["service.name"]] = true
		for _, scope := range resource.ScopeSpans {
			for _, span := range scope.Spans {
				r.spans[span.Name] = append(r.spans[span.Name], span)
			}
		}
	}
}

// one returns the only span of that name.
func (r *otlpReceiver) one(t *testing.T, name string) *traces.Span {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.spans[name]) != 1 {
		t.Fatalf("there are %d spans %q", len(r.spans[name]), name)
	}
	return r.spans[name][0]
}

func attributes(list []*common.KeyValue) map[string]string {
	all := map[string]string{}
	for _, a := range list {
		switch value := a.Value.Value.(type) {
		case *common.AnyValue_StringValue:
			all[a.Key] = value.StringValue
		case *common.AnyValue_IntValue:
			all[a.Key] = slog.Int64Value(value.IntValue).String()
		}
	}
	return all
}

func TestTracesReachTheCollector(t *testing.T) {
	receiver := newOTLPReceiver(t)
	s := startFixture(t, http.DefaultClient, []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=" + receiver.URL, "OTEL_SERVICE_NAME=perks-of-a-test",
		"OTEL_EXPORTER_OTLP_HEADERS=x-tenant=our%20own",
	})
	const strangers = "0af7651916cd43dd8448eb211c80319c"
	_, id := s.ask("GET", "/v2/partners/perks/tea?note=quiet", s.token, "",
		map[string]string{"Traceparent": "00-" + strangers + "-b7ad6b7169203331-01", "Cookie": "session=hush"})
	s.ask("POST", "/v2/sandbox/partners/perks/tea/redeem", s.token, `{"user_id":"alice"}`, nil)
	s.ask("GET", "/nothing/here", "", "", nil)
	s.ask("GET", "/livez", "", "", nil)
	s.Terminate() // sends what is left

	read := receiver.one(t, "GET /v2/partners/perks/:perkId")
	got := attributes(read.Attributes)
	for name, want := range map[string]string{
		"http.request.method": "GET", "http.route": "/v2/partners/perks/:perkId", "http.response.status_code": "200",
		"url.path":   "/v2/partners/perks/tea",
		"url.scheme": "http", "network.protocol.version": "1.1", "perks.request_id": id, "perks.client_id": s.id,
	} {
		if got[name] != want {
			t.Errorf("the attribute %s is %q, want %q", name, got[name], want)
		}
	}
	if len(got) != 8 || read.Kind != traces.Span_SPAN_KIND_SERVER ||
		read.Status.GetCode() != traces.Status_STATUS_CODE_UNSET {
		t.Errorf("the span is %v", read)
	}
	if trace := hex.EncodeToString(read.TraceId); trace == strangers || len(read.ParentSpanId) != 0 ||
		len(read.Links) != 1 || hex.EncodeToString(read.Links[0].TraceId) != strangers {
		t.Errorf("an untrusted trace must be linked and not continued: %v", read)
	} else if log := s.Rest(); !strings.Contains(log, "trace_id="+trace) || strings.Count(log, "trace_id=") < 3 {
		t.Errorf("the log does not name the trace %s:\n%s", trace, log)
	}
	if perk := receiver.one(t, "store.Perk"); !bytes.Equal(perk.ParentSpanId, read.SpanId) ||
		attributes(perk.Attributes)["perks.database"] != "live" {
		t.Errorf("the database's span is %v", perk)
	}
	redeem := receiver.one(t, "store.Redeem")
	if parent := receiver.one(t, "POST /v2/sandbox/partners/perks/:perkId/redeem"); !bytes.Equal(redeem.ParentSpanId,
		parent.SpanId) {
		t.Errorf("the redemption is not part of its request: %v", redeem)
	}
	if len(redeem.Events) != 1 || redeem.Events[0].Name != "dequeued" ||
		attributes(redeem.Attributes)["perks.database"] != "sandbox" {
		t.Errorf("the redemption's span lacks the event dequeued: %v", redeem)
	}
	if nothing := receiver.one(t, "GET"); attributes(nothing.Attributes)["http.response.status_code"] != "404" ||
		nothing.Status.GetCode() == traces.Status_STATUS_CODE_ERROR {
		t.Errorf("the span of an unknown route is %v", nothing)
	}
	if len(receiver.spans["GET /livez"]) != 0 || !receiver.services["perks-of-a-test"] ||
		receiver.headers.Get("X-Tenant") != "our own" {
		t.Errorf("probes: %v, services: %v, header: %v", receiver.spans["GET /livez"], receiver.services,
			receiver.headers)
	}
	for _, secret := range []string{s.token, s.secret, "quiet", "hush", "alice", "Bearer"} {
		if bytes.Contains(receiver.raw.Bytes(), []byte(secret)) {
			t.Errorf("the traces contain %q", secret)
		}
	}
}

func TestAnUnavailableCollectorDelaysNothing(t *testing.T) {
	for name, address := range map[string]string{
		"nothing listens":       "http://127.0.0.1:" + freePort(t),
		"it does not reply":     "http://" + otherProgram(t, ""),
		"it is another program": "http://" + otherProgram(t, "220 mail.example ESMTP\r\n"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startFixture(t, http.DefaultClient, []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=" + address,
				"OTEL_EXPORTER_OTLP_HEADERS=authorization=Basic%20hunter2"})
			for range 20 {
				if status, _ := s.ask("GET", "/v2/partners/perks/tea", s.token, "", nil); status != http.StatusOK {
					t.Fatalf("a request got %d", status)
				}
			}
			start := time.Now()
			s.Terminate()
			if took := time.Since(start); took > 6*time.Second {
				t.Errorf("it took %s to exit", took)
			}
			log := s.Rest()
			if !strings.Contains(log, "traces cannot be sent") &&
				!strings.Contains(log, "the last traces were not sent") || strings.Contains(log, "hunter2") {
				t.Errorf("the log is\n%s", log)
			}
		})
	}
}
