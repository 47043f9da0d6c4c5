package report

import (
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
	if err := r.writeNoise(w); err != nil {
		return err
	}
	writer := benchfmt.NewWriter(w)
	for _, e := range r.Experiments {
		config := r.config(e.Name)
		for _, section := range e.Sections {
			for i := range section.Points {
				if err := writePoint(writer, config, e.Name, &section.Points[i]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

const noiseComment = "# noise: "

func (r *Report) writeNoise(w io.Writer) error {
	for _, sitting := range r.Sittings {
		if noise := sitting.Before; noise != nil {
			if _, err := fmt.Fprintf(w, noiseComment+"%.1f%%\n# line-ns: %.0f\n", 100*noise.Spread, noise.LineNs); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *Report) config(experimentName string) []benchfmt.Config {
	var config []benchfmt.Config
	add := func(key, value string) {
		if value != "" {
			config = append(config, benchfmt.Config{Key: key, Value: []byte(value), File: true})
		}
	}
	add("goos", r.Machine.OS)
	add("goarch", r.Machine.Arch)
	add("cpu", r.Machine.CPU)
	add("cpus", strconv.Itoa(r.Machine.Whole())) // a law must not use points above them
	add("go", r.Machine.Go)
	add("sluice", r.Machine.Version)
	add("date", r.Started.UTC().Format("2006-01-02T15:04:05Z"))
	add("experiment", experimentName)
	return config
}

func writePoint(writer *benchfmt.Writer, config []benchfmt.Config, experimentName string, point *Point) error {
	for _, entry := range point.Entries {
		name := benchmarkName(experimentName, point, entry.Contender)
		for _, repetition := range entry.Repetitions {
			result := &benchfmt.Result{Config: config, Name: benchfmt.Name(name), Iters: repetition.Ops}
			for _, figure := range repetition.Figures {
				result.Values = append(result.Values, benchfmt.Value{Value: figure.Value, Unit: figure.Unit})
			}
			if err := writer.Write(result); err != nil {
				return err
			}
		}
	}
	return nil
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
