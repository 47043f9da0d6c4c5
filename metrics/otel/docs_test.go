package sluiceotel_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/sdk/metric"

	"github.com/sluice-go/sluice"
)

const page = "../../docs/metrics.md"

// here turns a name of the table in docs/metrics.md into an instrument's, as the page says.
var here = strings.NewReplacer("high_water", "high_water", "oldest_value", "oldest_value", "other_names", "other_names",
	"_total", "", "_seconds", "", "_bytes", "", "_", ".")

// TestPageTable: the table in docs/metrics.md lists exactly the observed instruments,
// with names, types, descriptions and attributes.
func TestPageTable(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	c := sluice.NewBounded[int](3, &sluice.BoundedOptions[int]{Name: unique(t)})
	reader := metric.NewManualReader()
	observed(t, everyName, reader)
	all := collect(t, reader)
	var exported []string
	for name, m := range all {
		points, instrument := all.points(name)
		split := "no name, no kind"
		for _, pair := range points[0].attributes.ToSlice() {
			key, ok := strings.CutPrefix(string(pair.Key), "sluice.channel.")
			if !ok {
				t.Errorf("%s has the attribute %s", name, pair.Key)
			}
			switch key {
			case "name", "kind":
				if split == "no name, no kind" {
					split = "-"
				}
			default:
				split = key
			}
		}
		exported = append(exported, fmt.Sprintf("%s %s | %s | %s", name, instrument, m.Description, split))
	}
	var written []string
	for line := range strings.Lines(string(text)) {
		row, ok := strings.CutPrefix(line, "| `")
		metric, rest, found := strings.Cut(strings.TrimSuffix(row, " |\n"), "` | ")
		if !ok || !found || !strings.HasPrefix(metric, "sluice_") {
			continue
		}
		instrument := "UpDownCounter"
		switch name := here.Replace(metric); {
		case strings.HasSuffix(metric, "_total"):
			instrument = "Counter"
		case name == "sluice.channel.high_water", name == "sluice.channel.oldest_value":
			instrument = "Gauge"
		}
		written = append(written, here.Replace(metric)+" "+instrument+" | "+rest)
	}
	slices.Sort(exported)
	slices.Sort(written)
	if !slices.Equal(exported, written) {
		t.Errorf("%s has\n%s\nobserved is\n%s", page, strings.Join(written, "\n"), strings.Join(exported, "\n"))
	}
	keep(c)
}
