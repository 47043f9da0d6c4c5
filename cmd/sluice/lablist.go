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
	row := func(head, text string) {
		b.WriteString(head + format.Wrap(text, screenOf(w).Width, len(head), strings.Repeat(" ", len(head)+2)))
	}
	for _, e := range lab.All() {
		b.WriteString(e.Name + "\n")
		row("  asks    ", e.Title)
		if !e.Source.IsZero() {
			row("  after   ", fmt.Sprintf("%s, “%s”, %d", e.Source.Author, e.Source.Title, e.Source.Year))
		}
		head := "  sweeps  "
		for _, sweep := range sweeps(e) {
			row(head, sweep)
			head = "          "
		}
		var takes []string
		for _, size := range lab.Sizes() {
			points := pointsOf(e.Sections(lab.Scale{Size: size}))
			takes = append(takes, fmt.Sprintf("%s %s", format.Estimate(measure.Estimate(points)), size))
		}
		row("  takes   ", "about "+strings.Join(takes, ", "))
		b.WriteString("\n")
	}
	total := time.Duration(0)
	for _, e := range lab.All() {
		total += measure.Estimate(pointsOf(e.Sections(lab.Scale{})))
	}
	row("", fmt.Sprintf("All of them take about %s on an idle machine and longer on a busy one.", format.Estimate(total)))
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
