package predict

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/perf/benchfmt"

	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// A Series is a sweep read from a file: one benchmark by number of CPUs.
type Series struct {
	Name   string
	Curve  Curve // with the medians as points
	Counts []Count
}

// ReadSeries reads all series of a file, which is a file of curves or in the Go
// benchmark format, and returns the lines that it skipped because they are
// malformed. The Go format needs a benchmark with at least two counts of CPUs.
// name is for messages.
func ReadSeries(r io.Reader, name string) ([]Series, []Skipped, error) {
	in := bufio.NewReader(r)
	if !isCSV(in) {
		return readBenchmarks(in, name)
	}
	curves, skipped, err := ReadCurves(in)
	if err == nil && len(curves) == 0 {
		err = errors.New("the file of curves has no rows of curves")
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	var all []Series
	for _, c := range curves {
		s := Series{Name: strings.Join([]string{c.Source, c.Machine, c.Version, c.Workload}, " | "), Curve: c}
		for _, p := range c.Points {
			s.Counts = append(s.Counts, Count{p.Procs, p.X, p.X, p.X, 1})
		}
		all = append(all, s)
	}
	return all, skipped, nil
}

// isCSV reports whether the first line has a column of a file of curves.
func isCSV(in *bufio.Reader) bool {
	const most = 1024
	start, _ := in.Peek(most)
	line, _, _ := strings.Cut(string(start), "\n")
	return strings.Contains(line, "source") && strings.ContainsAny(line, ",;")
}

// oversubscribed marks the names of benchmarks with more Ps than CPUs.
const oversubscribed = "oversubscribed"

// secondsPerOp is the unit into which package benchfmt converts ns/op.
const secondsPerOp = "sec/op"

func readBenchmarks(r io.Reader, name string) (all []Series, skipped []Skipped, err error) {
	type sample struct {
		series Series
		x      map[int][]float64
	}
	var samples []*sample
	reader := benchfmt.NewReader(r, name)
	for reader.Scan() {
		if malformed, ok := reader.Result().(*benchfmt.SyntaxError); ok {
			skipped = append(skipped, Skipped{malformed.Line, errors.New(malformed.Msg)})
		}
		result, ok := reader.Result().(*benchfmt.Result)
		if !ok {
			continue
		}
		seconds, ok := result.Value(secondsPerOp)
		series, procs := splitName(string(result.Name))
		if !ok || !(seconds > 0) || math.IsInf(1/seconds, 0) || strings.Contains(series, oversubscribed) {
			continue
		}
		i := slices.IndexFunc(samples, func(s *sample) bool { return s.series.Name == series })
		if i < 0 {
			i = len(samples)
			machine, os, arch := result.GetConfig("cpu"), result.GetConfig("goos"), result.GetConfig("goarch")
			c := Curve{Machine: join(machine, join(os, arch, "/"), " "), Version: VersionName(result.GetConfig("go")), Workload: series, Kind: Shared}
			c.CPUs, _ = strconv.Atoi(result.GetConfig("cpus"))
			samples = append(samples, &sample{Series{Name: series, Curve: c}, map[int][]float64{}})
		}
		samples[i].x[procs] = append(samples[i].x[procs], 1/seconds)
	}
	if err := reader.Err(); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	for _, s := range samples {
		if len(s.x) > 1 {
			s.series.Counts = counts(s.x)
			s.series.Curve.Points = medians(s.series.Counts)
			all = append(all, s.series)
		}
	}
	if len(all) == 0 {
		return nil, nil, fmt.Errorf("%s: no benchmark with two values of GOMAXPROCS, and not a file of curves", name)
	}
	return all, skipped, nil
}

// VersionName converts a [runtime.Version], "go1.26.8", to the form of versions in
// curves: "Go 1.26.8".
func VersionName(version string) string { return strings.Replace(version, "go1.", "Go 1.", 1) }

func join(a, b, with string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + with + b
}

// splitName splits the name of a benchmark from its GOMAXPROCS.
func splitName(name string) (string, int) {
	if i := strings.LastIndexByte(name, '-'); i >= 0 {
		if procs, err := strconv.Atoi(name[i+1:]); err == nil && procs > 0 {
			return name[:i], procs
		}
	}
	return name, 1
}

// counts summarizes samples of operations per second.
func counts(samples map[int][]float64) []Count {
	var all []Count
	for procs, xs := range samples {
		s := stat.Summarize(xs)
		all = append(all, Count{procs, s.Median, s.Lo, s.Hi, s.N})
	}
	slices.SortFunc(all, func(a, b Count) int { return a.Procs - b.Procs })
	return all
}

func medians(counts []Count) []Point {
	points := make([]Point, len(counts))
	for i, c := range counts {
		points[i] = Point{c.Procs, c.X}
	}
	return points
}

// Limit separates the counts above the CPUs of the measured machine: more Ps
// than CPUs test robustness, and are not points of a curve. If the number of CPUs
// is unknown, 0, all counts remain.
func (s *Series) Limit(cpus int) {
	if cpus == 0 {
		return
	}
	kept := s.Counts[:0:0]
	for _, c := range s.Counts {
		if c.Procs > cpus {
			s.Curve.Above = append(s.Curve.Above, c.Procs)
		} else {
			kept = append(kept, c)
		}
	}
	slices.Sort(s.Curve.Above)
	s.Counts, s.Curve.Points = kept, medians(kept)
}
