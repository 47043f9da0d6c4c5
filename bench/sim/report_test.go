package sim

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

// invented returns forecasts in which every contender takes ns on the first machine, and
// twice as much on the second.
func invented(ns func(contender int) float64) []Forecast {
	var all []Forecast
	for i, c := range Contenders {
		for _, s := range Settings() {
			all = append(all, Forecast{c.Name, s, []float64{ns(i), 2 * ns(i)}})
		}
	}
	return all
}

func TestPrintForecasts(t *testing.T) {
	var out bytes.Buffer
	PrintForecasts(&out, invented(func(i int) float64 { return float64(10 * (i + 1)) }), 2)
	for _, want := range []string{"median and range of 2 machines", "one receiver", "Elastic", "20 (10-20)", "140 (70-1.4e+02)"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

// TestPrintRatios: a ratio is marked if all machines are beyond the model's error.
func TestPrintRatios(t *testing.T) {
	elastic := slices.IndexFunc(Contenders, func(c Contender) bool { return c.Name == "Elastic" })
	var out bytes.Buffer
	PrintRatios(&out, invented(func(i int) float64 {
		if i == elastic {
			return 100
		}
		return 10
	}), 7)
	if n := strings.Count(out.String(), "10 (10-10)*"); n != len(Settings()) {
		t.Errorf("%d ratios are marked, want %d:\n%s", n, len(Settings()), out.String())
	}
	if strings.Contains(out.String(), "1 (1-1)*") {
		t.Errorf("a ratio of 1 is marked:\n%s", out.String())
	}
}

func TestPrintScores(t *testing.T) {
	var out bytes.Buffer
	PrintScores(&out, []Host{{
		Name: "m", Best: Machine{Near: 27, Far: 54}, Pairs: []float64{1.5},
		Scores:  []Score{{Curve: &Curve{Version: "C++", Workload: "atomic add"}, Design: "fetch-and-add", Points: []Point{{4, 17}}, Ns: []float64{18}, Factor: 1.06, Worst: 1.06, Own: 1.06}},
		Skipped: []*Curve{{Version: "C++", Workload: strings.Repeat("long ", 20)}},
	}})
	for _, want := range []string{"near 27, far 54", "at 4 CPUs 18 for 17 ns", "no program for", "lon…", "All 1 curves: median of the means 1.06", "median factor 1.50"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

func TestFitted(t *testing.T) {
	host := func(domain int, near float64) Host { return Host{Best: Machine{domain, near, 2 * near}} }
	got := Fitted([]Host{host(8, 9), host(16, 9), host(0, 27), host(4, 45)})
	if want := []Machine{{8, 9, 18}, {4, 45, 90}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestChart: the chart is well-formed, and has a line and a label for each contender.
func TestChart(t *testing.T) {
	svg := Chart(invented(func(i int) float64 { return float64(i + 1) }))
	lines := 0
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "polyline" {
			lines++
		}
	}
	if lines != len(charted) {
		t.Errorf("%d lines for %d contenders", lines, len(charted))
	}
	for _, c := range charted {
		if !strings.Contains(svg, ">"+c.contender+"</text>") {
			t.Errorf("no label for %q", c.contender)
		}
	}
}
