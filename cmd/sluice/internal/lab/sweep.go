package lab

import (
	"fmt"
	"strconv"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
)

// usualPerValue is the time per value in most entries, for the estimate of the
// run's duration.
const usualPerValue = 50 * time.Nanosecond

// point returns a timed point without entries. The label ps=oversubscribed lets a
// program that fits a law to results.txt skip the points that are no data.
func (s Scale) point(section SectionID, panel Panel, work, x string, procs, n int, labels []measure.Label) *Point {
	all := []measure.Label{{Key: "sweep", Value: string(section)}, {Key: LabelWork, Value: work}, {Key: "n", Value: strconv.Itoa(n)}}
	name := string(section)
	if work != name {
		name += " " + work
	}
	all = append(all, labels...)
	for _, label := range all[2:] {
		name += ", " + label.Key + " " + label.Value
	}
	if procs > s.cpus() {
		all = append(all, measure.Label{Key: "ps", Value: "oversubscribed"})
	}
	return &Point{
		Panel:  panel,
		X:      x,
		Beyond: procs > s.cpus(),
		Point: measure.Point{
			Setting: measure.Setting{
				Name:   fmt.Sprintf("%s, GOMAXPROCS %d", name, procs),
				Labels: all,
				Procs:  procs,
				Count:  s.count(),
			},
			Target: s.target(),
			Pass:   time.Duration(n) * usualPerValue,
		},
	}
}

// byPanel orders points so that each panel's points are adjacent.
func byPanel(points []*Point) []*Point {
	var ordered []*Point
	seen := make(map[Panel]bool)
	for _, first := range points {
		if seen[first.Panel] {
			continue
		}
		seen[first.Panel] = true
		for _, p := range points {
			if p.Panel == first.Panel {
				ordered = append(ordered, p)
			}
		}
	}
	return ordered
}

// doubling returns 1, 2, 4 … up to the CPUs of the machine, and at least up to
// least: a study's own values, and those that the machine adds.
func (s Scale) doubling(least int) []int {
	var procs []int
	for p := 1; p <= max(least, s.cpus()); p *= 2 {
		procs = append(procs, p)
	}
	return procs
}
