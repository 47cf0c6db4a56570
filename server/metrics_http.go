package server

import (
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
)

// otherRoute stands for all addresses at which there is nothing. Callers make up as many as they like, and as many methods.
const (
	otherRoute  = "other"
	otherMethod = "other"
)

// measuredMethods are the methods that are told apart.
var measuredMethods = [...]string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions, otherMethod,
}

// methodIndex is where a method is in measuredMethods.
func methodIndex(method string) int {
	for i, known := range measuredMethods[:len(measuredMethods)-1] {
		if method == known {
			return i
		}
	}
	return len(measuredMethods) - 1
}

// routeMeter keeps the metrics of a route at hand, because finding them by their labels for every request would cost as much
// as measuring.
type routeMeter struct {
	methods [len(measuredMethods)]atomic.Pointer[methodMeter]
}

// methodMeter is a route's metrics for one method.
type methodMeter struct {
	duration prometheus.Observer
	codes    [600 - firstCode]atomic.Pointer[prometheus.Counter]
}

const firstCode = 100 // of HTTP's statuses

// know makes the routes ready to be measured, by their templates.
func (m *metrics) know(routes []*echo.Route) {
	m.routes = map[string]*routeMeter{otherRoute: {}}
	for _, route := range routes {
		if route.Method != echo.RouteNotFound {
			m.routes[route.Path] = &routeMeter{}
		}
	}
}

// routeOf is the template of the route that a request took, or otherRoute.
func (m *metrics) routeOf(c echo.Context) string {
	if _, known := m.routes[c.Path()]; known {
		return c.Path()
	}
	return otherRoute
}

// methodMeter finds what is at hand, or makes it. Two requests may make the same at once, which does no harm.
func (m *metrics) methodMeter(c echo.Context) (meter *methodMeter, i int) {
	i = methodIndex(c.Request().Method)
	route, known := m.routes[c.Path()]
	if !known {
		route = m.routes[otherRoute]
	}
	meter = route.methods[i].Load()
	if meter == nil {
		meter = &methodMeter{duration: m.duration.WithLabelValues(measuredMethods[i], m.routeOf(c))}
		route.methods[i].Store(meter)
	}
	return meter, i
}

// counter finds the counter for a status, or makes it. Statuses are the server's own.
func (m *metrics) counter(c echo.Context, meter *methodMeter, method int) prometheus.Counter {
	status := c.Response().Status
	kept := &meter.codes[min(max(status, firstCode), 599)-firstCode]
	if counter := kept.Load(); counter != nil {
		return *counter
	}
	counter := m.requests.WithLabelValues(measuredMethods[method], m.routeOf(c), strconv.Itoa(status))
	kept.Store(&counter)
	return counter
}

// measure counts and times every request by its route.
func (s *service) measure(next echo.HandlerFunc) echo.HandlerFunc {
	if s.config.Metrics == nil {
		return next
	}
	m := s.metrics
	return func(c echo.Context) error {
		m.inFlight.Inc()
		defer m.answered(c, time.Now())
		return next(c)
	}
}

// answered is deferred, because net/http's way of giving up on a response is a panic.
func (m *metrics) answered(c echo.Context, start time.Time) {
	m.inFlight.Dec()
	meter, method := m.methodMeter(c)
	observe(c, meter.duration, time.Since(start))
	m.counter(c, meter, method).Inc()
}

func observe(c echo.Context, histogram prometheus.Observer, took time.Duration) {
	if labels := exemplar(trace.SpanContextFromContext(c.Request().Context())); labels != nil {
		histogram.(prometheus.ExemplarObserver).ObserveWithExemplar(took.Seconds(), labels)
		return
	}
	histogram.Observe(took.Seconds())
}
