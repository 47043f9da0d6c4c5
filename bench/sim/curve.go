package sim

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// A Curve is a published measurement of one workload on several numbers of CPUs.
type Curve struct {
	Source, Machine, Version, Workload, Design string

	Domain int // CPUs that share a socket and a last-level cache; 0 if unknown
	Points []Point
}

// A Point is the time between two operations of all CPUs, in nanoseconds.
type Point struct {
	CPUs int
	Ns   float64
}

// Host identifies the machine that a curve was measured on. Curves of one host should
// follow from one set of transfer times.
func (c *Curve) Host() string { return c.Machine }

// ReadCurves reads curves in the form of `sluice predict`. Rows that are not points of
// a curve, or beyond the CPUs of their machine, are left out.
func ReadCurves(r io.Reader) ([]*Curve, error) {
	rows, err := csv.NewReader(r).ReadAll()
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("no curves: the file is empty")
	}
	columns := map[string]int{}
	for i, name := range rows[0] {
		columns[name] = i
	}
	var curves []*Curve
	byName := map[string]*Curve{}
	for line, row := range rows[1:] {
		at := func(name string) string { return row[columns[name]] }
		if at("kind") == "other" {
			continue
		}
		cpus, err := strconv.Atoi(at("procs"))
		if err != nil {
			return nil, fmt.Errorf("line %d: procs: %w", line+2, err)
		}
		value, err := strconv.ParseFloat(at("ops_per_s_or_ns"), 64)
		if err != nil {
			return nil, fmt.Errorf("line %d: ops_per_s_or_ns: %w", line+2, err)
		}
		if limit, err := strconv.Atoi(at("cpus")); err == nil && cpus > limit {
			continue
		}
		name := strings.Join([]string{at("source"), at("machine"), at("version"), at("workload")}, "|")
		c := byName[name]
		if c == nil {
			domain, _ := strconv.Atoi(at("domain"))
			c = &Curve{at("source"), at("machine"), at("version"), at("workload"), at("design"), domain, nil}
			byName[name] = c
			curves = append(curves, c)
		}
		if at("unit") == "ops/s" {
			value = 1e9 / value
		}
		c.Points = append(c.Points, Point{cpus, value})
	}
	for _, c := range curves {
		slices.SortFunc(c.Points, func(a, b Point) int { return a.CPUs - b.CPUs })
	}
	return curves, nil
}

// thin keeps the first and the last point and, in between, those at least 1.9 times
// apart.
func thin(points []Point) []Point {
	var kept []Point
	for i, p := range points {
		if len(kept) == 0 || float64(p.CPUs) >= 1.9*float64(kept[len(kept)-1].CPUs) || i == len(points)-1 {
			kept = append(kept, p)
		}
	}
	return kept
}
