package predict

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/perf/benchfmt"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
)

// Errors of a file.
var (
	ErrForeign = errors.New("not a file of curves")
	ErrNoRow   = errors.New("no row can be used")
)

// benchmarkLine begins a line of results in the Go benchmark format.
var benchmarkLine = regexp.MustCompile(`(?m)^Benchmark\S*\s`)

// Read reads all curves of a file, which is a CSV or in the Go benchmark format,
// and returns an error for each line that it skipped because it is malformed. It
// fails if no line has a curve. name is for messages.
func Read(content []byte, name string) ([]Curve, []error, error) {
	read := readCSV
	if benchmarkLine.Match(content) {
		read = readBenchmarks
	}
	curves, skipped, err := read(content, name)
	if err == nil && len(curves) == 0 {
		err = errors.New("the file has no rows of curves")
	}
	if err != nil {
		return nil, skipped, fmt.Errorf("%s: %w", name, err)
	}
	return curves, skipped, nil
}

// joined returns the curves of a file from its rows, which are curves of a single
// measurement. Curves with fewer than least counts are left out.
func joined(rows []Curve, least int) (curves []Curve) {
	for _, row := range rows {
		if i := slices.IndexFunc(curves, row.same); i >= 0 {
			curves[i].Points = append(curves[i].Points, row.Points...)
		} else {
			curves = append(curves, row)
		}
	}
	for i := range curves {
		curves[i].Points = counts(curves[i].Points)
	}
	return slices.DeleteFunc(curves, func(c Curve) bool { return len(c.Points) < least })
}

// The columns of a file of curves that Add writes: identity, and what was measured. A row
// is a measurement; only its count of CPUs and a throughput are necessary.
var (
	identity = []string{"source", "machine", "version", "workload"}
	measures = []string{"procs", "ops_per_s_or_ns", "unit", "note", "kind", "design", "cpus", "domain"}
)

// Units of throughputs, which are also the names of columns.
const (
	perSecond = "ops/s"
	nsPerOp   = "ns/op" // between operations of all goroutines: 1e9 / (ops/s)
	eitherOf  = "ops_per_s_or_ns"
)

// otherNames are names of columns in other files.
var otherNames = map[string]string{
	"threads": "procs", "goroutines": "procs", "gomaxprocs": "procs", "cores": "procs",
	"ops": perSecond, "ops_per_s": perSecond, "ops/sec": perSecond, "ops_per_sec": perSecond, "throughput": perSecond,
	"ns": nsPerOp, "ns_per_op": nsPerOp,
}

// MinimalFile has all that a file of curves needs.
const MinimalFile = "cpus,ops/s\n1,31000000\n2,24500000\n4,22100000\n"

// columns are the indexes of the columns of a file, by our names.
type columns struct {
	index map[string]int
	value string // perSecond, nsPerOp, or eitherOf, which needs a unit in each row
}

func (c columns) has(name string) bool {
	_, ok := c.index[name]
	return ok
}

// readHeader reads the names of the columns, in any order and case. A column
// "cpus" has the counts, unless another has: then it has the CPUs of the machine.
func readHeader(reader *csv.Reader) (c columns, err error) {
	header, err := reader.Read()
	if errors.Is(err, io.EOF) {
		return c, fmt.Errorf("%w: it is empty", ErrForeign)
	}
	if err != nil {
		return c, fmt.Errorf("%w: %w", ErrForeign, err)
	}
	c.index = map[string]int{}
	for i, name := range slices.Backward(header) { // the first of two with one name stands
		name = strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), " ", "_")
		c.index[cmp.Or(otherNames[name], name)] = i
	}
	if c.has("cpus") && !c.has("procs") {
		c.index["procs"] = c.index["cpus"]
		delete(c.index, "cpus")
	}
	for _, value := range []string{eitherOf, nsPerOp, perSecond} {
		if c.has(value) {
			c.value = value
		}
	}
	var missing []string
	if !c.has("procs") {
		missing = append(missing, "no count of CPUs (procs, threads, goroutines or cpus)")
	}
	switch {
	case c.value == "":
		missing = append(missing, "no throughput ("+perSecond+" or "+nsPerOp+")")
	case c.value == eitherOf && !c.has("unit"):
		missing = append(missing, "no unit of "+eitherOf+" ("+perSecond+" or "+nsPerOp+")")
	}
	if len(missing) > 0 {
		return c, fmt.Errorf("%w: the first line has %s. A minimal file, besides the output of go test -bench . -cpu 1,2,4:\n  %s",
			ErrForeign, strings.Join(missing, " and "), strings.ReplaceAll(strings.TrimSpace(MinimalFile), "\n", "\n  "))
	}
	return c, nil
}

// separator returns the most frequent separator of the first line.
func separator(content []byte) rune {
	line, _, _ := bytes.Cut(content, []byte("\n"))
	best := ','
	for _, other := range ";\t" {
		if bytes.Count(line, []byte(string(other))) > bytes.Count(line, []byte(string(best))) {
			best = other
		}
	}
	return best
}

// byteOrderMark begins the files of some spreadsheets.
const byteOrderMark = "\ufeff"

// readCSV reads a file of curves. It skips malformed rows, and returns them; it
// fails if the file has rows and all of them are malformed. Rows of kind other
// are not curves and do not count.
func readCSV(content []byte, name string) ([]Curve, []error, error) {
	content = bytes.TrimPrefix(content, []byte(byteOrderMark))
	reader := csv.NewReader(bytes.NewReader(content))
	reader.Comma = separator(content)
	columns, err := readHeader(reader)
	if err != nil {
		return nil, nil, err
	}
	var rows []Curve
	var skipped []error
	for {
		fields, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if _, malformed := errors.AsType[*csv.ParseError](err); malformed {
			skipped = append(skipped, err)
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		row, err := columns.parse(fields)
		line, _ := reader.FieldPos(0)
		switch {
		case err != nil:
			skipped = append(skipped, fmt.Errorf("line %d: %w", line, err))
		case row.Kind != Other:
			row.Name = cmp.Or(format.Join(" | ", row.Source, row.Machine, row.Version, row.Workload), name)
			rows = append(rows, row)
		}
	}
	if len(rows) == 0 && len(skipped) > 0 {
		return nil, skipped, fmt.Errorf("%w: %w", ErrNoRow, skipped[0])
	}
	return joined(rows, 1), skipped, nil
}

// parse parses a row: a curve with a single measurement, unless it is of kind Other.
func (c columns) parse(fields []string) (row Curve, err error) {
	field := func(name string) string {
		if !c.has(name) {
			return ""
		}
		return strings.TrimSpace(fields[c.index[name]])
	}
	for name, to := range row.texts() {
		*to = field(name)
	}
	switch row.Kind = cmp.Or(row.Kind, Shared); row.Kind {
	case Other:
		return row, nil
	case Shared, Sharded:
	default:
		return row, fmt.Errorf("unknown kind %q (want %s, %s or %s)", row.Kind, Shared, Sharded, Other)
	}
	for name, to := range row.numbers() {
		if text := field(name); text != "" {
			if *to, err = parseCPUs(text); err != nil {
				return row, fmt.Errorf("invalid %s %w", name, err)
			}
		}
	}
	procs, err := parseCPUs(field("procs"))
	if err != nil {
		return row, fmt.Errorf("invalid procs %w", err)
	}
	value, err := strconv.ParseFloat(field(c.value), 64)
	if err != nil || !(value > 0) || math.IsInf(value, 0) || math.IsInf(1e9/value, 0) {
		return row, fmt.Errorf("invalid %s %q (want a positive number, such as 17.82)", c.value, field(c.value))
	}
	unit := c.value
	if unit == eitherOf {
		unit = field("unit")
	}
	switch unit {
	case perSecond:
	case nsPerOp:
		value = 1e9 / value
	default:
		return row, fmt.Errorf("unknown unit %q (want %s or %s)", unit, perSecond, nsPerOp)
	}
	row.Points = []Point{{Procs: procs, X: value}}
	return row, nil
}

// mostCPUs is more than any machine has. It rejects typos.
const mostCPUs = 1 << 16

func parseCPUs(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > mostCPUs {
		return 0, fmt.Errorf("%q (want a number of CPUs, from 1 to %d)", text, mostCPUs)
	}
	return n, nil
}

// oversubscribed marks the names of benchmarks with more Ps than CPUs.
const oversubscribed = "oversubscribed"

// secondsPerOp is the unit into which package benchfmt converts ns/op.
const secondsPerOp = "sec/op"

// readBenchmarks reads the Go benchmark format: a benchmark with at least two
// values of GOMAXPROCS is a curve.
func readBenchmarks(content []byte, name string) ([]Curve, []error, error) {
	var rows []Curve
	var skipped []error
	reader := benchfmt.NewReader(bytes.NewReader(content), name)
	for reader.Scan() {
		switch result := reader.Result().(type) {
		case *benchfmt.SyntaxError:
			skipped = append(skipped, fmt.Errorf("line %d: %s", result.Line, result.Msg))
		case *benchfmt.Result:
			seconds, ok := result.Value(secondsPerOp)
			series, procs := string(result.Name), 1
			if i := strings.LastIndexByte(series, '-'); i >= 0 {
				if n, err := strconv.Atoi(series[i+1:]); err == nil && n > 0 {
					series, procs = series[:i], n
				}
			}
			if !ok || !(seconds > 0) || math.IsInf(1/seconds, 0) || strings.Contains(series, oversubscribed) {
				continue
			}
			machine, system := result.GetConfig("cpu"), format.Join("/", result.GetConfig("goos"), result.GetConfig("goarch"))
			c := Curve{Name: series, Machine: format.Join(" ", machine, system), Version: VersionName(result.GetConfig("go")), Workload: series, Kind: Shared}
			c.CPUs, _ = strconv.Atoi(result.GetConfig("cpus"))
			c.Points = []Point{{Procs: procs, X: 1 / seconds}}
			rows = append(rows, c)
		}
	}
	curves := joined(rows, 2)
	switch err := reader.Err(); {
	case err != nil:
		return nil, nil, err
	case len(curves) == 0:
		return nil, nil, errors.New("no benchmark with two values of GOMAXPROCS: run sluice lab cpu-scaling, or go test -bench . -cpu 1,2,4")
	}
	return curves, skipped, nil
}

// VersionName converts a [runtime.Version], "go1.26.8", to the form of versions in
// curves: "Go 1.26.8".
func VersionName(version string) string { return strings.Replace(version, "go1.", "Go 1.", 1) }
