package compare

import (
	"strings"
	"testing"
)

// setting compares two runs with different settings.
func setting(t *testing.T, was, is string, change float64) *Comparison {
	t.Helper()
	return compared(t, run(was, line{"Elastic-2", "ns/op", around(100, 9)}, line{"Elastic-2", "B/op", around(100, 9)}, line{"Elastic-2", "M/s", around(100, 9)}),
		run(is, line{"Elastic-2", "ns/op", around(100*change, 9)}, line{"Elastic-2", "B/op", around(100*change, 9)}, line{"Elastic-2", "M/s", around(100/change, 9)}), Defaults)
}

func TestWarnings(t *testing.T) {
	tests := []struct {
		name, was, is string
		says          string // "" for no warning
	}{
		{"the same", header, header, ""},
		{"another day", header, strings.Replace(header, "11-21", "11-29", 1), ""},
		{"another machine", header, strings.Replace(header, "abacus", "slide rule", 1), "cpu is abacus in OLD and slide rule in NEW"},
		{"another Go", header, strings.Replace(header, "1.26.8", "1.25.0", 1), "go is go1.26.8 in OLD and go1.25.0 in NEW"},
		{"another system", header, strings.Replace(header, "linux", "darwin", 1), "goos is linux in OLD and darwin in NEW"},
		{"missing", header, strings.Replace(header, "cpu: abacus\n", "", 1), "cpu is abacus in OLD and missing in NEW"},
		{"an unknown key", header + "quota: 2 CPUs\n", header + "quota: 4 CPUs\n", "quota is 2 CPUs in OLD and 4 CPUs in NEW"},
		{"a number that is a setting", header + "cpus: 2\n", header + "cpus: 4\n", "cpus is 2 in OLD and 4 in NEW"},
		{"a share that is a setting", header + "quota: 50%\n", header + "quota: 100%\n", "quota is 50% in OLD and 100% in NEW"},
		{"load", header + "load: 0.1\n", header + "load: 0.7\n", ""},
		{"another commit", header + "sluice: commit a\n", header + "sluice: commit b\n", ""},
		{"noise", header + "noise: 1%\n", header + "noise: 2%\n", ""},
		{"noise in words", header + "noise: low\n", header + "noise: high\n", ""},
		{"joined runs", header + run("", line{"Elastic-2", "ns/op", around(100, 3)}) + later, strings.Replace(header, "11-21", "11-29", 1), ""},
		{"a gauge of the same machine", header + "line-ns: 50\n", header + "line-ns: 60\n", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := strings.Join(setting(t, tt.was, tt.is, 1.01).warnings(), "\n")
			if (got == "") != (tt.says == "") || !strings.Contains(got, tt.says) {
				t.Errorf("warnings %q, want %q", got, tt.says)
			}
		})
	}
}

// A comparison of common points warns if one run has another GOMAXPROCS, too.
func TestWarnsOfProcs(t *testing.T) {
	shared := line{"Elastic-2", "ns/op", around(10, 6)}
	c := compared(t, run(header, shared), run(later, shared, line{"Elastic-8", "ns/op", around(10, 6)}), Defaults)
	if got := strings.Join(c.warnings(), "\n"); !strings.Contains(got, "GOMAXPROCS is 2 in OLD and 2, 8 in NEW") {
		t.Errorf("warnings %q", got)
	}
}

// A run that mixes two machines causes a warning.
func TestWarnsOfMixed(t *testing.T) {
	results := run("", line{"Elastic", "ns/op", around(10, 6)})
	was := header + results + "cpu: slide rule\n" + results
	is := later + results + "cpu: slide rule\n" + results
	got := strings.Join(compared(t, was, is, Defaults).warnings(), "\n")
	for _, want := range []string{"OLD has 2 values of cpu: abacus, slide rule", "NEW has 2 values of cpu"} {
		if !strings.Contains(got, want) {
			t.Errorf("warnings %q, want %q", got, want)
		}
	}
}

// The order of the runs decides whether the machine's drift is in both.
func TestOrder(t *testing.T) {
	at := func(date string) string { return strings.Replace(header, "2026-11-21T12:00:00Z", date, 1) }
	joined := func(first, second string) string {
		return first + run("", line{"Elastic-2", "ns/op", around(100, 3)}) + second
	}
	const noon = "2026-11-21T12:00:00Z"
	for _, tt := range []struct {
		name, was, is string
		turns         int
		says          string
	}{
		{"after", at(noon), at("2026-11-21T12:30:00Z"), 1, "NEW started 30 min after OLD."},
		{"the wrong way round", at(noon), at("2026-11-21T11:00:00Z"), 1, "NEW started 60 min BEFORE OLD."},
		{"no date", at(""), at(noon), 1, ""},
		{"no date that can be read", at("today"), at(noon), 1, ""},
		{"the same commit", header + "sluice: commit abc\n", later + "sluice: commit abc\n", 1, "Both are commit abc: the changes are not due to the code of sluice."},
		{"one of them joined", joined(header, later), at("2026-11-21T12:30:00Z"), 1, ""},
		{"in blocks", joined(header, later), joined(at("2026-11-21T12:30:00Z"), at("2026-11-21T12:40:00Z")), 1, ""},
		{"in blocks, the other way round", joined(at("2026-11-21T12:30:00Z"), at("2026-11-21T12:40:00Z")), joined(header, later), 1, ""},
		{"alternating", joined(header, later), joined(at("2026-11-21T12:01:00Z"), at("2026-11-21T12:40:00Z")), 2, "OLD has 2 runs, NEW 2, measured alternately."},
		{"alternating, written in another order", joined(later, header), joined(at("2026-11-21T12:40:00Z"), at("2026-11-21T12:01:00Z")), 2, "measured alternately."},
	} {
		c := setting(t, tt.was, tt.is, 1)
		if c.order() != (order{tt.turns, tt.turns > 1}) || !strings.Contains(c.twoRuns(), tt.says) {
			t.Errorf("%s: %+v, %q, want %d and %q", tt.name, c.order(), c.twoRuns(), tt.turns, tt.says)
		}
	}
	for _, version := range []string{"commit abc with changes", ""} {
		c := setting(t, header+"sluice: "+version+"\n", later+"sluice: "+version+"\n", 1)
		if got := c.twoRuns(); strings.Contains(got, "Both are") {
			t.Errorf("with version %q the text is %q", version, got)
		}
	}
}
