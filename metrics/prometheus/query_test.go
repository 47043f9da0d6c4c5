package sluiceprom_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var (
	// selection is a metric with its label matchers, its range, and the function around
	// it, if any.
	selection = regexp.MustCompile(`(?:(\w+)\()?\b(sluice_\w+)(?:\{([^{}]*)\})?(\[[^\]]*\])?`)
	matcher   = regexp.MustCompile(`^(\w+)(=~|=)"([^"]*)"$`)
	grouping  = regexp.MustCompile(`\bby \(([^)]*)\)`)
	variable  = regexp.MustCompile(`\$(\w+)`)
	inBraces  = regexp.MustCompile(`\{\{(\w+)\}\}`)
)

// ofTargets are the labels that Prometheus adds.
var ofTargets = []string{"job", "instance"}

// valuesOf has the values of labels with a fixed set of values.
var valuesOf = map[string][]string{"side": {"send", "receive"}, "state": {"open", "closed"}}

// checkQuery returns the errors of a PromQL query in names, labels, and types of
// metrics. It does not parse the query, because the parser depends on all of
// Prometheus.
func checkQuery(query string, metrics exposed, variables []string) (wrong []string) {
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if strings.Count(query, "(") != strings.Count(query, ")") {
		say("parentheses do not match")
	}
	for _, v := range variable.FindAllStringSubmatch(query, -1) {
		if !slices.Contains(variables, v[1]) {
			say("unknown variable %s", v[1])
		}
	}
	found := selection.FindAllStringSubmatch(query, -1)
	if len(found) == 0 {
		say("the query has no metric")
	}
	for _, f := range found {
		function, name, labels, over := f[1], f[2], f[3], f[4]
		m, known := metrics[name]
		if !known {
			say("unknown metric %s", name)
			continue
		}
		switch rate := strings.HasSuffix(function, "rate") || function == "increase"; {
		case rate && !m.counter:
			say("%s is a gauge: use it without rate", name)
		case !rate && m.counter:
			say("%s is a counter: use its rate", name)
		case rate != (over != ""):
			say("%s: only a rate needs a range", name)
		}
		has := func(label string) {
			if !slices.Contains(m.labels, label) && !slices.Contains(ofTargets, label) {
				say("%s has no label %s", name, label)
			}
		}
		for part := range strings.SplitSeq(labels, ", ") {
			if part == "" {
				continue
			}
			match := matcher.FindStringSubmatch(part)
			if match == nil {
				say("invalid matcher %s", part)
				continue
			}
			has(match[1])
			if values := valuesOf[match[1]]; values != nil && !slices.Contains(values, match[3]) {
				say("label %s is never %s", match[1], match[3])
			}
		}
		for _, label := range labelsBy(query) {
			has(label)
		}
	}
	return wrong
}

// labelsBy returns the labels that a query groups by.
func labelsBy(query string) (labels []string) {
	for _, g := range grouping.FindAllStringSubmatch(query, -1) {
		labels = append(labels, strings.Split(g[1], ", ")...)
	}
	return labels
}
