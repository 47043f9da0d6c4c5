package report

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"golang.org/x/perf/benchfmt"

	"github.com/sluice-go/sluice/cmd/sluice/internal/lab"
)

// WriteBenchmarks writes every repetition as a line of the Go benchmark format,
// for benchstat and similar tools. The name of a benchmark has the settings as
// key=value parts; GOMAXPROCS is the number at its end.
//
// The noise of the machine is in comments. As a setting it would differ in any
// two runs, and benchstat would not compare them.
func (r *Report) WriteBenchmarks(w io.Writer) error {
	for _, sitting := range r.Sittings {
		if noise := sitting.Before; noise != nil {
			if _, err := fmt.Fprintf(w, noiseComment+"%.1f%%\n# line-ns: %.0f\n", 100*noise.Spread, noise.LineNs); err != nil {
				return err
			}
		}
	}
	writer := benchfmt.NewWriter(w)
	var failed error
	r.eachPoint(func(e *Experiment, p *Point) {
		for _, entry := range p.Entries {
			result := &benchfmt.Result{Config: r.config(e.Name), Name: benchfmt.Name(benchmarkName(e.Name, p, entry.Contender))}
			for _, repetition := range entry.Repetitions {
				result.Iters, result.Values = repetition.Ops, nil
				for _, figure := range repetition.Figures {
					result.Values = append(result.Values, benchfmt.Value{Value: figure.Value, Unit: figure.Unit})
				}
				failed = errors.Join(failed, writer.Write(result))
			}
		}
	})
	return failed
}

const noiseComment = "# noise: "

func (r *Report) config(experimentName string) []benchfmt.Config {
	var config []benchfmt.Config
	for _, setting := range [][2]string{
		{"goos", r.Machine.OS}, {"goarch", r.Machine.Arch}, {"cpu", r.Machine.CPU},
		{"cpus", strconv.Itoa(r.Machine.Whole())}, // a law must not use points above them
		{"go", r.Machine.Go}, {"sluice", r.Machine.Version},
		{"date", r.Started.UTC().Format("2006-01-02T15:04:05Z")},
		{"experiment", experimentName},
	} {
		if setting[1] != "" {
			config = append(config, benchfmt.Config{Key: setting[0], Value: []byte(setting[1]), File: true})
		}
	}
	return config
}

// benchmarkName returns the name without its prefix "Benchmark":
// "DirectSend/sweep=one-way/…/contender=native-2".
func benchmarkName(experimentName string, point *Point, contender lab.ContenderID) string {
	var name strings.Builder
	for part := range strings.SplitSeq(experimentName, "-") {
		name.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	for _, label := range point.Labels {
		name.WriteString("/" + label.Key + "=" + lab.Plain(label.Value))
	}
	name.WriteString("/contender=" + lab.Plain(string(contender)))
	if point.Procs != 1 { // as in package testing
		name.WriteString("-" + strconv.Itoa(point.Procs))
	}
	return name.String()
}
