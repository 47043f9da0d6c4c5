package dashboard

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

func TestDashboard(t *testing.T) {
	text, err := os.ReadFile("../../metrics/prometheus/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := Check(text); err != nil {
		t.Fatal(err)
	}
	for _, planted := range []struct{ from, to, want string }{
		{`"graphTooltip"`, `"graphToolTip"`, "'graphToolTip' not allowed"},
		{`"calcs": []`, `"calc": []`, "missing property 'calcs'"},
		{`"drawStyle": "line"`, `"drawStyle": "lines"`, "drawStyle"},
		{`"unit": "short"`, `"unit": 7`, "got number, want string"},
		{`"legendFormat"`, `"legend"`, "'legend' not allowed"},
		{`"type": "stat"`, `"type": "number"`, "'/panels/0/type'"},
		{`"refresh": 1`, `"refresh": 9`, "'/templating/list/0/refresh'"},
		{`"panels"`, `"panels`, "not JSON"},
	} {
		broken := bytes.Replace(text, []byte(planted.from), []byte(planted.to), 1)
		if bytes.Equal(broken, text) {
			t.Fatalf("%q is not in the dashboard", planted.from)
		}
		if err := Check(broken); err == nil || !strings.Contains(err.Error(), planted.want) {
			t.Errorf("%s instead of %s: got %v, want an error with %q", planted.to, planted.from, err, planted.want)
		}
	}
}
