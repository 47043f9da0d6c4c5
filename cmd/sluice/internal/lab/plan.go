package lab

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/sluice-go/sluice/bench/contender"
	"github.com/sluice-go/sluice/bench/workload"
	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
)

// A Size selects how much of an experiment is run.
type Size uint8

const (
	Standard    Size = iota // the published sweep and the open questions, in half a minute each
	Quick                   // the smallest sweep, in some seconds each: a first impression
	AsPublished             // the published sweep alone, each figure from a second of work
)

// sizes has the name of each size, and the repetitions of a timed point, which are enough
// for an interval that does not depend on the two extremes, with the planned duration of
// each.
var sizes = [...]struct {
	name   string
	count  int
	target time.Duration
}{
	Standard:    {"standard", 9, 12 * time.Millisecond},
	Quick:       {"quick", 9, 2 * time.Millisecond},
	AsPublished: {"published", 6, time.Second},
}

func (s Size) String() string { return sizes[s].name }

// Sizes returns all sizes.
func Sizes() []Size { return []Size{Standard, Quick, AsPublished} }

// SizeNamed returns the size whose String is name, and whether there is one.
func SizeNamed(name string) (size Size, ok bool) {
	i := slices.IndexFunc(Sizes(), func(s Size) bool { return s.String() == name })
	return Size(max(0, i)), i >= 0
}

// A Scale is the user's part of a plan.
type Scale struct {
	Size  Size
	Procs []int // values of GOMAXPROCS to sweep; nil for the study's
	Count int   // repetitions; 0 for the size's own
	CPUs  int   // of the measured machine; 0 for this one
}

func (s Scale) cpus() int {
	if s.CPUs > 0 {
		return s.CPUs
	}
	return runtime.NumCPU()
}

// procs returns the values of GOMAXPROCS to sweep: the user's, or 2 alone if
// quick, or the study's.
func (s Scale) procs(study ...int) []int {
	switch {
	case len(s.Procs) > 0:
		return s.Procs
	case s.Size == Quick:
		return []int{2}
	}
	return study
}

// home returns the GOMAXPROCS of sections that sweep something else.
func (s Scale) home(study ...int) int {
	procs := s.procs(study...)
	if slices.Contains(procs, 2) {
		return 2
	}
	return procs[0]
}

// A Point is one place in a section: a chart, and a place on its axis.
type Point struct {
	measure.Point
	Panel Panel
	X     string
	// Beyond is true if there are more Ps than CPUs: the point tests
	// robustness, and is not part of a scaling curve.
	Beyond bool
}

// usualPerValue is the time per value in most entries, for the estimate of the
// run's duration.
const usualPerValue = 50 * time.Nanosecond

// point adds a timed point, in which n values are sent, to a section, and returns it
// without entries. The labels identify it. The label ps=oversubscribed lets a program that
// fits a law to results.txt skip the points that are no data. A chart has one GOMAXPROCS
// unless that is its axis.
func (c *Section) point(s Scale, panel Panel, x string, procs, n int, labels ...measure.Label) *Point {
	if c.Axis != AxisProcs {
		panel.Procs = procs
	}
	work, name := panel.Load.work, string(c.Name)
	if work == "" {
		work = name
	} else {
		name += " " + work
	}
	labels = append([]measure.Label{{Key: "n", Value: strconv.Itoa(n)}}, labels...)
	for _, label := range labels {
		name += ", " + label.Key + " " + label.Value
	}
	labels = append([]measure.Label{{Key: "sweep", Value: string(c.Name)}, {Key: "work", Value: work}}, labels...)
	beyond := procs > s.cpus()
	if beyond {
		labels = append(labels, measure.Label{Key: "ps", Value: "oversubscribed"})
	}
	p := &Point{Panel: panel, X: x, Beyond: beyond, Point: measure.Point{
		Setting: measure.Setting{Name: fmt.Sprintf("%s, GOMAXPROCS %d", name, procs), Labels: labels, Procs: procs, Count: cmp.Or(s.Count, sizes[s.Size].count)},
		Target:  sizes[s.Size].target,
		Pass:    time.Duration(n) * usualPerValue,
	}}
	c.Points = append(c.Points, p)
	return p
}

// enter enters each contestant in a work, or leaves it out for a reason.
func (p *Point) enter(roster []contestant, work func(contestant) (entry measure.Entry, whyNot string)) {
	for _, c := range roster {
		if entry, whyNot := work(c); whyNot != "" {
			p.leaveOut(whyNot, c.id)
		} else {
			p.Entries = append(p.Entries, entry)
		}
	}
}

func (p *Point) leaveOut(reason string, ids ...ContenderID) {
	for _, id := range ids {
		p.LeftOut = append(p.LeftOut, measure.LeftOut{Contender: id, Reason: reason})
	}
}

// Capacities that are not a number of slots.
const (
	slotEach  = -1 // one slot per value sent
	unbounded = -2
)

// A contestant is a contender as a study enters it: with a capacity, and with
// values sent one by one or in batches.
type contestant struct {
	id        ContenderID
	contender contender.Contender
	capacity  int
	batch     bool
}

var background = context.Background()

// slots returns the capacity of a channel for n values.
func (c contestant) slots(n int) int {
	switch c.capacity {
	case slotEach:
		return n
	case unbounded:
		return 1 // ignored
	}
	return c.capacity
}

// entry enters c in a work of n values.
func (c contestant) entry(w workload.Workload, n int) measure.Entry {
	if c.batch {
		c.contender = c.contender.InBatches(workload.BatchSize)
	}
	return measure.Entry{Contender: c.id, Pass: func() (measure.Reading, error) {
		result, err := w.Run(c.contender, uint64(n))
		return measure.Reading{Ops: int(result.Items), Elapsed: result.Elapsed}, err
	}}
}

// carry enters c in the work of sending n values while they are received.
func (c contestant) carry(n, senders, receivers int) measure.Entry {
	return c.entry(workload.OneWay(c.slots(n), senders, receivers), n)
}

// fillFirst enters c in the work of sending n values before the first is
// received, or returns the reason why c cannot do it.
func (c contestant) fillFirst(n int) (entry measure.Entry, whyNot string) {
	if c.capacity >= 0 {
		return entry, "its buffer does not have a slot for each value"
	}
	return c.entry(workload.FillDrain(), n), ""
}
