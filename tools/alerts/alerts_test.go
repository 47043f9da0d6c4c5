package alerts

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const prometheus = "../../metrics/prometheus"

func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// write writes files to a new folder.
func write(t *testing.T, files map[string]string) (folder string) {
	t.Helper()
	folder = t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func TestRules(t *testing.T) {
	if err := promtool(prometheus, "check", "rules", "alerts.yml"); err != nil {
		t.Error(err)
	}
	if err := promtool(prometheus, "test", "rules", "alerts_test.yml"); err != nil {
		t.Error(err)
	}
	rules, tests := string(read(t, prometheus+"/alerts.yml")), string(read(t, prometheus+"/alerts_test.yml"))
	for _, wrong := range Untested(rules, tests) {
		t.Error(wrong)
	}
	for _, wrong := range []string{Untested(rules, "")[0], Untested("   - alert: Loud\n", "   - alertname: Loud\n")[0]} {
		if !strings.HasSuffix(wrong, "fires in the tests") {
			t.Errorf("rules without tests: %q", wrong)
		}
	}
}

// TestPlantedRules breaks each rule once: its tests must fail.
func TestPlantedRules(t *testing.T) {
	rules, tests := string(read(t, prometheus+"/alerts.yml")), string(read(t, prometheus+"/alerts_test.yml"))
	for _, planted := range []struct{ from, to string }{
		{"dropped_total[5m]", "dropped_total[1h]"},
		{"sluice_channel_received_total[5m])) == 0", "sluice_channel_received_total[5m])) >= 0"},
		{`+ sum by (job, instance, name, kind) (sluice_channel_waiting{side="send"}) > 0`, "> 0"},
		{"(sluice_channel_capacity) > 0) > 0.95", "(sluice_channel_capacity) > 0) > 1.5"},
		{"oldest_value_seconds) > 60", "oldest_value_seconds) > 600"},
		{`wait_time_seconds_total{side="send"}`, "wait_time_seconds_total"},
		{"for: 1m", "for: 5m"},
		{" offset 1h", " offset 0s"},
		{`state="open"`, `state="closed"`},
		{"other_names) > 0", "other_names) > 5"},
	} {
		broken := strings.Replace(rules, planted.from, planted.to, 1)
		if broken == rules {
			t.Fatalf("%q is not in the rules", planted.from)
		}
		folder := write(t, map[string]string{"alerts.yml": broken, "alerts_test.yml": tests})
		if err := promtool(folder, "test", "rules", "alerts_test.yml"); err == nil {
			t.Errorf("%q instead of %q: the tests pass", planted.to, planted.from)
		}
	}
}

func TestQueries(t *testing.T) {
	panels, err := dashboardQueries(read(t, prometheus+"/dashboard.json"))
	if err != nil {
		t.Fatal(err)
	}
	page := pageQueries(read(t, "../../docs/metrics.md"))
	if len(panels) == 0 || len(page) == 0 {
		t.Fatalf("%d queries of the dashboard, %d of the page", len(panels), len(page))
	}
	check := func(queries ...string) error {
		folder := write(t, map[string]string{"queries.yml": string(recording(queries))})
		return promtool(folder, "check", "rules", "queries.yml")
	}
	if err := check(append(panels, page...)...); err != nil {
		t.Error(err)
	}
	if err := check(panels[0], "sum by (name) (sluice_channel_usage"); err == nil {
		t.Error("a query with an open parenthesis passed")
	}
}
