package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/lab"
	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
)

// listExperiments prints the experiments.
func listExperiments(w io.Writer) error {
	var b strings.Builder
	for _, e := range lab.All() {
		fmt.Fprintf(&b, "%s\n  asks    %s\n", e.Name, e.Title)
		if !e.Source.IsZero() {
			fmt.Fprintf(&b, "  after   %s, “%s”, %d\n", e.Source.Author, e.Source.Title, e.Source.Year)
		}
		fmt.Fprintf(&b, "  sweeps  %s\n", strings.Join(sweeps(e), "\n          "))
		var takes []string
		for _, size := range lab.Sizes() {
			points := pointsOf(e.Sections(lab.Scale{Size: size}))
			takes = append(takes, fmt.Sprintf("%s %s", format.Estimate(measure.Estimate(points)), size))
		}
		fmt.Fprintf(&b, "  takes   about %s\n\n", strings.Join(takes, ", "))
	}
	total := time.Duration(0)
	for _, e := range lab.All() {
		total += measure.Estimate(pointsOf(e.Sections(lab.Scale{})))
	}
	fmt.Fprintf(&b, "All of them take about %s on an idle machine and longer on a busy one.\n", format.Estimate(total))
	_, err := io.WriteString(w, b.String())
	return err
}

// sweeps returns a line for each section of the default run, with its title,
// its axis, and the numbers of points and contenders.
func sweeps(e lab.Experiment) []string {
	var lines []string
	for _, section := range e.Sections(lab.Scale{}) {
		line := section.Title
		if section.Axis != "" && !strings.HasSuffix(line, "by "+section.Axis) {
			line += ", by " + section.Axis
		}
		contenders := make(map[lab.ContenderID]bool)
		for _, point := range section.Points {
			for _, entry := range point.Entries {
				contenders[entry.Contender] = true
			}
		}
		lines = append(lines, fmt.Sprintf("%s: %s, %s", line, format.Plural(len(section.Points), "point"), format.Plural(len(contenders), "contender")))
	}
	return lines
}
