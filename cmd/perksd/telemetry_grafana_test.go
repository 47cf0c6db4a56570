package main

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// dashboard is what the test reads of docs/grafana/perks.json.
type dashboard struct {
	SchemaVersion int
	Templating    struct{ List []struct{ Name string } }
	Panels        []panel
}

type panel struct {
	ID         int
	Type       string
	Title      string
	Datasource struct{ UID string }
	GridPos    struct{ X, Y, W, H int }
	Targets    []struct {
		Expr       string
		Datasource struct{ UID string }
	}
}

// checkDashboard compares the dashboard with a server's metrics: each has all of the other.
func checkDashboard(t *testing.T, samples []shownMetric) {
	var d dashboard
	readFile(t, "../../docs/grafana/perks.json", json.Unmarshal, &d)
	if d.SchemaVersion < 39 || len(d.Templating.List) != 2 {
		t.Fatalf("it has the schema %d and %d variables", d.SchemaVersion, len(d.Templating.List))
	}
	shown := map[string]bool{}
	ids := map[int]bool{}
	for i, p := range d.Panels {
		if ids[p.ID] {
			t.Errorf("%s: another panel has the id %d", p.Title, p.ID)
		}
		ids[p.ID] = true
		for _, other := range d.Panels[:i] {
			if a, b := p.GridPos, other.GridPos; a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H {
				t.Errorf("%s overlaps %s", p.Title, other.Title)
			}
		}
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("%s shows nothing", p.Title)
		}
		for _, target := range p.Targets {
			if p.Datasource.UID != "${datasource}" || target.Datasource.UID != "${datasource}" {
				t.Errorf("%s does not use the chosen data source", p.Title)
			}
			for _, use := range checkExpression(t, p.Title, target.Expr, samples) {
				shown[use.name] = true
				if !slices.Contains(use.matchers, matcher{"instance", "=~", "$instance"}) {
					t.Errorf("%s: %s is not limited to the chosen server", p.Title, use.name)
				}
			}
		}
	}
	for _, s := range samples {
		if base := strings.TrimSuffix(s.name, "_bucket"); strings.HasPrefix(s.name, "perks_") &&
			!shown[s.name] && !shown[strings.TrimSuffix(strings.TrimSuffix(base, "_sum"), "_count")+"_bucket"] {
			t.Errorf("%s is on no panel", s.name)
			shown[s.name] = true // once is enough
		}
	}
}

// checkAlerts does the same with the rules.
func checkAlerts(t *testing.T, samples []shownMetric) {
	var file struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr         string
				Labels, Annotations map[string]string
			}
		}
	}
	readFile(t, "../../docs/grafana/alerts.yaml", yaml.Unmarshal, &file)
	seen := map[string]bool{}
	for _, rule := range file.Groups[0].Rules {
		if len(checkExpression(t, rule.Alert, rule.Expr, samples)) == 0 {
			t.Errorf("%s uses no metric", rule.Alert)
		}
		if seen[rule.Alert] || rule.Labels["severity"] == "" || !strings.HasSuffix(rule.Annotations["summary"], ".") ||
			!strings.HasSuffix(rule.Annotations["description"], ".") {
			t.Errorf("%q is there twice, or lacks a severity, a summary or a description", rule.Alert)
		}
		seen[rule.Alert] = true
	}
	if len(seen) < 10 {
		t.Errorf("there are %d alerts", len(seen))
	}
}

func readFile(t *testing.T, path string, decode func([]byte, any) error, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = decode(text, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// use is a metric in an expression, with its label matchers.
type use struct {
	name     string
	matchers []matcher
}

type matcher struct{ label, operator, value string }

var (
	timeRange  = regexp.MustCompile(`\[[^\]]*\]`)
	grouping   = regexp.MustCompile(`\b(by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)`)
	word       = regexp.MustCompile(`([a-zA-Z_:][a-zA-Z0-9_:]*)\s*(\(|\{[^}]*\})?`)
	condition  = regexp.MustCompile(`([a-zA-Z_][a-zA-Z0-9_]*)\s*(=~|!~|!=|=)\s*"([^"]*)"`)
	plainWords = regexp.MustCompile(`^[a-z_]+(\|[a-z_]+)*$`)
)

var promQLFunctions = []string{
	"absent", "count", "histogram_quantile", "increase", "max", "max_over_time", "min", "rate", "sum", "time",
}

// ofPrometheus are the labels that Prometheus adds.
var ofPrometheus = []string{"instance", "job"}

// checkExpression finds the metrics of a PromQL expression, and checks that a server has them, with those labels, and
// with the matched values where they are words.
func checkExpression(t *testing.T, where, expression string, samples []shownMetric) []use {
	t.Helper()
	var uses []use
	rest := timeRange.ReplaceAllString(expression, "")
	var grouped []string
	for _, group := range grouping.FindAllStringSubmatch(rest, -1) {
		for label := range strings.SplitSeq(group[2], ",") {
			grouped = append(grouped, strings.TrimSpace(label))
		}
	}
	for _, found := range word.FindAllStringSubmatch(grouping.ReplaceAllString(rest, " "), -1) {
		if found[2] == "(" {
			if !slices.Contains(promQLFunctions, found[1]) {
				t.Errorf("%s: %q is not a known function", where, found[1])
			}
			continue
		}
		u := use{name: found[1]}
		for _, c := range condition.FindAllStringSubmatch(found[2], -1) {
			u.matchers = append(u.matchers, matcher{c[1], c[2], c[3]})
		}
		uses = append(uses, u)
	}
	labels := slices.Clone(ofPrometheus)
	for _, u := range uses {
		labels = append(labels, checkUse(t, where, u, samples)...)
	}
	for _, label := range grouped {
		if !slices.Contains(labels, label) {
			t.Errorf("%s: no metric in it has the label %q", where, label)
		}
	}
	return uses
}

// checkUse returns the labels of the metric.
func checkUse(t *testing.T, where string, u use, samples []shownMetric) (labels []string) {
	t.Helper()
	values := map[string]map[string]bool{}
	for _, s := range samples {
		if s.name != u.name {
			continue
		}
		labels = append(labels, "")
		for label, value := range s.labels {
			labels = append(labels, label)
			if values[label] == nil {
				values[label] = map[string]bool{}
			}
			values[label][value] = true
		}
	}
	if labels == nil {
		t.Errorf("%s: the server has no metric %s", where, u.name)
	}
	for _, m := range u.matchers {
		if slices.Contains(ofPrometheus, m.label) {
			continue
		}
		if values[m.label] == nil {
			t.Errorf("%s: %s has no label %q", where, u.name, m.label)
		}
		if plainWords.MatchString(m.value) {
			for value := range strings.SplitSeq(m.value, "|") {
				if !values[m.label][value] {
					t.Errorf("%s: %s is never shown with %s=%q", where, u.name, m.label, value)
				}
			}
		}
	}
	return labels
}
