// Package dashboard checks the dashboard of metrics/prometheus against the schema
// that Grafana publishes, with jv, a program of go.mod: a field that Grafana does not
// know, or one of the wrong type, would be ignored when the dashboard is opened. Run it
// with make dashboard.
//
// The schema (schema.json) is generated from Grafana's own types, see dashboard.ts.
package dashboard

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// check returns what jv says about a dashboard that is not as the schema describes.
func check(t *testing.T, dashboard []byte) string {
	t.Helper()
	command := exec.Command("go", "tool", "jv", "-o", "detailed", "schema.json", "-")
	command.Stdin = bytes.NewReader(dashboard)
	out, err := command.CombinedOutput()
	if err == nil {
		return ""
	}
	if len(out) == 0 {
		t.Fatal(err)
	}
	return string(out)
}

func TestDashboard(t *testing.T) {
	text, err := os.ReadFile("../../metrics/prometheus/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	if wrong := check(t, text); wrong != "" {
		t.Fatal(wrong)
	}
	for _, planted := range []struct{ from, to, want string }{
		{`"graphTooltip"`, `"graphToolTip"`, "'graphToolTip' not allowed"},
		{`"calcs": []`, `"calc": []`, "missing property 'calcs'"},
		{`"drawStyle": "line"`, `"drawStyle": "lines"`, "drawStyle"},
		{`"unit": "short"`, `"unit": 7`, "got number, want string"},
		{`"legendFormat"`, `"legend"`, "'legend' not allowed"},
		{`"type": "stat"`, `"type": "number"`, `"/panels/0/type"`},
		{`"refresh": 1`, `"refresh": 9`, `"/templating/list/0/refresh"`},
		{`"panels"`, `"panels`, "invalid character"},
	} {
		broken := bytes.Replace(text, []byte(planted.from), []byte(planted.to), 1)
		if bytes.Equal(broken, text) {
			t.Fatalf("%q is not in the dashboard", planted.from)
		}
		if wrong := check(t, broken); !strings.Contains(wrong, planted.want) {
			t.Errorf("%s instead of %s: got %q, want an error with %q", planted.to, planted.from, wrong, planted.want)
		}
	}
}
