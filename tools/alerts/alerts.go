// Package alerts checks the alert rules of metrics/prometheus, and every query of its
// dashboard and of docs/metrics.md, with Prometheus's own promtool. Run it with make
// alerts; it needs promtool, which is in Debian's package prometheus, or the program in
// $PROMTOOL.
//
// promtool is a program, not a module in go.mod, because the requirements of Prometheus
// cannot all be resolved, and would be larger than those of all other tools together.
package alerts

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
)

// promtool runs promtool in a folder.
func promtool(folder string, args ...string) error {
	command := exec.Command(cmp.Or(os.Getenv("PROMTOOL"), "promtool"), args...)
	command.Dir = folder
	output, err := command.CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("%w: install Debian's package prometheus, or set $PROMTOOL to the program", err)
	}
	if err != nil {
		return fmt.Errorf("promtool %s: %w\n%s", strings.Join(args, " "), err, output)
	}
	return nil
}

// name matches the line that names an alert.
var name = regexp.MustCompile(`(?m)^ +- alert: (\w+)$`)

// Untested returns the alerts for which the tests lack a case that fires, or one that
// does not, which they expect in braces.
func Untested(rules, tests string) (wrong []string) {
	for _, match := range name.FindAllStringSubmatch(rules, -1) {
		for form, what := range map[string]string{"- ": "never", `- \{`: "always"} {
			if !regexp.MustCompile(`(?m)^ +` + form + `alertname: ` + match[1] + `\b`).MatchString(tests) {
				wrong = append(wrong, match[1]+" "+what+" fires in the tests")
			}
		}
	}
	return wrong
}

// dashboardQueries returns the queries of a dashboard, with its variables replaced.
func dashboardQueries(text []byte) (queries []string, err error) {
	var dashboard struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		return nil, err
	}
	variables := strings.NewReplacer("$__rate_interval", "1m", "$job", ".*", "$name", ".*")
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			queries = append(queries, variables.Replace(target.Expr))
		}
	}
	return queries, nil
}

// pageQuery matches the query in a row of the table of questions and queries.
var pageQuery = regexp.MustCompile("(?m)^\\| [^|]+\\? \\| `([^`]+)` \\|$")

// pageQueries returns the queries of docs/metrics.md.
func pageQueries(text []byte) (queries []string) {
	for _, match := range pageQuery.FindAllSubmatch(text, -1) {
		queries = append(queries, string(match[1]))
	}
	return queries
}

// recording returns a file of rules that record the results of queries, so that
// promtool parses them.
func recording(queries []string) []byte {
	var rules bytes.Buffer
	rules.WriteString("groups:\n- name: queries\n  rules:\n")
	for i, query := range queries {
		fmt.Fprintf(&rules, "  - record: query%d\n    expr: %q\n", i, query)
	}
	return rules.Bytes()
}
