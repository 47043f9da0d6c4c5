package sluiceprom_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/sluice-go/sluice"
	sluiceprom "github.com/sluice-go/sluice/metrics/prometheus"
)

const page = "../../docs/metrics.md"

// TestPageTable: the table in docs/metrics.md lists exactly the exposed metrics, with
// names, help texts and labels, and the types are as it says.
func TestPageTable(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	c := sluice.NewBounded[int](3, &sluice.BoundedOptions[int]{Name: unique(t)})
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(sluiceprom.NewCollector(everyName))
	gathered, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var exported []string
	for _, family := range gathered {
		split := "no name, no kind"
		for _, pair := range family.GetMetric()[0].GetLabel() {
			switch label := pair.GetName(); label {
			case "name", "kind":
				if split == "no name, no kind" {
					split = "-"
				}
			default:
				split = label
			}
		}
		exported = append(exported, fmt.Sprintf("`%s` | %s | %s", family.GetName(), family.GetHelp(), split))
		if counts := strings.HasSuffix(family.GetName(), "_total"); counts != (family.GetType() == dto.MetricType_COUNTER) {
			t.Errorf("%s is a %s", family.GetName(), family.GetType())
		}
	}
	var written []string
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "| `sluice_") {
			written = append(written, strings.Trim(line, "| \n"))
		}
	}
	slices.Sort(exported)
	slices.Sort(written)
	if !slices.Equal(exported, written) {
		t.Errorf("%s has\n%s\nexposed is\n%s", page, strings.Join(written, "\n"), strings.Join(exported, "\n"))
	}
	keep(c)
}

// TestPageQueries: the queries in docs/metrics.md use existing metrics and labels.
func TestPageQueries(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	metrics, queries := expose(t), 0
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(line, "| \n"), " | ")
		if len(cells) != 2 || !strings.HasSuffix(cells[0], "?") {
			continue
		}
		queries++
		for _, wrong := range checkQuery(strings.Trim(cells[1], "`"), metrics, nil) {
			t.Errorf("%s: %s", cells[0], wrong)
		}
	}
	if queries == 0 {
		t.Error("the page has no queries")
	}
}
