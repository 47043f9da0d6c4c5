package sluiceprom_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// An alert is a rule of alerts.yml. The file is read by lines; tools/alerts parses it
// with Prometheus's own parser, and runs its tests.
type alert struct{ name, query, severity string }

var rule = regexp.MustCompile(`(?m)^      - alert: (\w+)\n        expr: (.+)\n(?:        for: \w+\n)?        labels:\n          severity: (\w+)\n`)

func alerts(rules string) (list []alert) {
	for _, match := range rule.FindAllStringSubmatch(rules, -1) {
		list = append(list, alert{match[1], match[2], match[3]})
	}
	return list
}

// checkAlerts returns the errors of alert rules: queries with unknown metrics or labels,
// and differences from the table of alerts in docs/metrics.md.
func checkAlerts(rules, page string, metrics exposed) (wrong []string) {
	list := alerts(rules)
	if n := strings.Count(rules, "- alert:"); n != len(list) {
		wrong = append(wrong, fmt.Sprintf("%d alerts, and %d in the expected form (alert, expr in one line, for, labels)", n, len(list)))
	}
	var names, documented []string
	for _, a := range list {
		names = append(names, a.name+" "+a.severity)
		for _, w := range checkQuery(a.query, metrics, nil) {
			wrong = append(wrong, a.name+": "+w)
		}
	}
	for line := range strings.Lines(page) {
		if cells := strings.Split(strings.Trim(line, "| \n"), " | "); len(cells) == 4 && strings.HasPrefix(cells[0], "Sluice") {
			documented = append(documented, cells[0]+" "+cells[1])
		}
	}
	slices.Sort(names)
	slices.Sort(documented)
	if !slices.Equal(names, documented) {
		wrong = append(wrong, fmt.Sprintf("the rules are %q, documented are %q", names, documented))
	}
	return wrong
}

func TestAlerts(t *testing.T) {
	text, err := os.ReadFile("alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	metrics, rules := expose(t), string(text)
	if wrong := checkAlerts(rules, string(doc), metrics); len(wrong) > 0 {
		t.Fatalf("%s", strings.Join(wrong, "\n"))
	}
	for _, planted := range []struct{ from, to, says string }{
		{"sluice_channel_warned", "sluice_channel_warn", "unknown metric sluice_channel_warn"},
		{"increase(sluice_channel_dropped_total[5m])", "sluice_channel_dropped_total", "is a counter"},
		{`side="send"`, `side="sender"`, "side is never sender"},
		{"name, kind", "name, side", "has no label side"},
		{"severity: critical", "severity: page", "SluiceChannelStalled page"},
		{"- alert: SluiceChannelFull", "- alert: SluiceFull", "documented are"},
		{"        expr: sum", "        expr: >\n          sum", "in the expected form"},
	} {
		broken := strings.Replace(rules, planted.from, planted.to, 1)
		if wrong := checkAlerts(broken, string(doc), metrics); broken == rules || !strings.Contains(strings.Join(wrong, "\n"), planted.says) {
			t.Errorf("%q instead of %q: got %q, want an error with %q", planted.to, planted.from, wrong, planted.says)
		}
	}
}
