package sluiceotel

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

// TestPageTable: the table in docs/metrics.md lists exactly the observed instruments,
// with descriptions, names, types, units and attributes.
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
		exported = append(exported, fmt.Sprintf("%s | `%s` | %s | `%s` | %s", m.Description, name, instrument, m.Unit, split))
	}
	var written []string
	for line := range strings.Lines(string(text)) {
		if cells := strings.Split(strings.Trim(line, "| \n"), " | "); len(cells) == 7 && strings.HasPrefix(cells[1], "`") {
			written = append(written, strings.Join([]string{cells[0], cells[3], cells[4], cells[5], cells[6]}, " | "))
		}
	}
	slices.Sort(exported)
	slices.Sort(written)
	if !slices.Equal(exported, written) {
		t.Errorf("%s has\n%s\nobserved is\n%s", page, strings.Join(written, "\n"), strings.Join(exported, "\n"))
	}
	keep(c)
}
