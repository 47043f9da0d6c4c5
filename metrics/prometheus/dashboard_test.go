package sluiceprom_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluice-go/sluice"
	sluiceprom "github.com/sluice-go/sluice/metrics/prometheus"
)

// A dashboard has the checked fields of a Grafana dashboard.
type dashboard struct {
	Templating struct {
		List []struct {
			Name, Type string
			Datasource source
			Query      json.RawMessage // of a query variable an object, else a text
		}
	}
	Panels []panel
}

type panel struct {
	ID          int
	Type        string
	Title       string
	Description string
	Datasource  source
	GridPos     struct{ X, Y, W, H int }
	Targets     []struct {
		Expr, LegendFormat string
		Datasource         source
	}
}

type source struct{ UID string }

// exposed has the type and the labels of each metric.
type exposed map[string]struct {
	counter bool
	labels  []string
}

func expose(t *testing.T) exposed {
	t.Helper()
	c := sluice.NewBounded[int](3, &sluice.BoundedOptions[int]{Name: unique(t)})
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(sluiceprom.NewCollector(everyName))
	gathered, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := exposed{}
	for _, family := range gathered {
		e := out[family.GetName()]
		e.counter = family.GetType().String() == "COUNTER"
		for _, pair := range family.GetMetric()[0].GetLabel() {
			e.labels = append(e.labels, pair.GetName())
		}
		out[family.GetName()] = e
	}
	keep(c)
	return out
}

func TestDashboard(t *testing.T) {
	text, err := os.ReadFile("dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	metrics := expose(t)
	if wrong := checkDashboard(text, metrics); len(wrong) > 0 {
		t.Fatalf("%s", strings.Join(wrong, "\n"))
	}
	for _, planted := range []struct{ from, to, says string }{
		{"sluice_channel_sent_total{", "sluice_channel_sended_total{", "unknown metric sluice_channel_sended_total"},
		{"rate(sluice_channel_sent_total{", "irate(sluice_channel_usage{", "is a gauge"},
		{"rate(sluice_channel_dropped_total{", "abs(sluice_channel_dropped_total{", "is a counter"},
		{`side=\"send\"`, `end=\"send\"`, "sluice_channel_waiting has no label end"},
		{`, side=\"send\"`, `, state=\"send\"`, "sluice_channel_waiting has no label state"},
		{`side=\"send\"`, `side=\"sender\"`, "side is never sender"},
		{"max by (name, kind)", "max by (name, side)", "sluice_channel_high_water has no label side"},
		{"{{name}} (", "{{job}} (", "the legend uses job"},
		{"max by (name, kind) (", "max by (name, kind) ((", "parentheses"},
		{"max by (name, kind) (sluice_channel_high_water", "max by (name, kind) (sluice_channel_usage", "no panel shows sluice_channel_high_water"},
		{`"${datasource}"`, `"P1809F"`, "want ${datasource}"},
		{`"name": "job"`, `"name": "jobs"`, "unknown variable job"},
		{`"y": 5,`, `"y": 4,`, "overlap"},
		{`"id": 2,`, `"id": 1,`, "the same ID"},
	} {
		broken := strings.Replace(string(text), planted.from, planted.to, 1)
		if wrong := checkDashboard([]byte(broken), metrics); broken == string(text) || !strings.Contains(strings.Join(wrong, "\n"), planted.says) {
			t.Errorf("%q instead of %q: got %q, want an error with %q", planted.to, planted.from, wrong, planted.says)
		}
	}
}

// checkDashboard returns the errors of a dashboard.
func checkDashboard(text []byte, metrics exposed) (wrong []string) {
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	var d dashboard
	if err := json.Unmarshal(text, &d); err != nil {
		return []string{err.Error()}
	}
	var queries []string
	sources := map[string]source{}           // of what asks
	variables := []string{"__rate_interval"} // Grafana's own
	for _, v := range d.Templating.List {
		variables = append(variables, v.Name)
		if v.Type == "query" {
			sources[v.Name] = v.Datasource
			queries = append(queries, string(v.Query))
			for _, w := range checkQuery(variableQuery(v.Query), metrics, variables) {
				say("variable %s: %s", v.Name, w)
			}
		}
	}
	for _, want := range []string{"datasource", "job", "name"} {
		if !slices.Contains(variables, want) {
			say("unknown variable %s", want)
		}
	}
	wrong = append(wrong, checkLayout(d.Panels)...)
	for _, p := range d.Panels {
		if p.Type == "row" {
			continue
		}
		if p.Title == "" || p.Description == "" || len(p.Targets) == 0 {
			say("panel %d lacks a title, a description or a query", p.ID)
		}
		sources[p.Title] = p.Datasource
		for _, target := range p.Targets {
			queries = append(queries, target.Expr)
			sources[p.Title+" "+target.Expr] = target.Datasource
			for _, w := range checkQuery(target.Expr, metrics, variables) {
				say("%s: %s: %s", p.Title, w, target.Expr)
			}
			for _, label := range inBraces.FindAllStringSubmatch(target.LegendFormat, -1) {
				if !slices.Contains(labelsBy(target.Expr), label[1]) {
					say("%s: the legend uses %s, which is not in the query", p.Title, label[1])
				}
			}
		}
	}
	for part, s := range sources {
		if s.UID != "${datasource}" {
			say("%s: the data source is %s, want ${datasource}", part, s.UID)
		}
	}
	for name := range metrics {
		if !slices.ContainsFunc(queries, func(q string) bool { return regexp.MustCompile(name + `\b`).MatchString(q) }) {
			say("no panel shows %s", name)
		}
	}
	return wrong
}

// checkLayout returns the pairs of panels that overlap or have the same ID.
func checkLayout(panels []panel) (wrong []string) {
	for i, p := range panels {
		for _, before := range panels[:i] {
			a, b := p.GridPos, before.GridPos
			if a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H {
				wrong = append(wrong, p.Title+" and "+before.Title+" overlap")
			}
			if p.ID == before.ID {
				wrong = append(wrong, p.Title+" and "+before.Title+" have the same ID")
			}
		}
	}
	return wrong
}

// variableQuery returns the query of a variable.
func variableQuery(raw json.RawMessage) string {
	var query struct{ Query string }
	if err := json.Unmarshal(raw, &query); err != nil {
		return err.Error()
	}
	return query.Query
}
