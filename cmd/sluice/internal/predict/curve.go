package predict

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A Curve is a measured throughput by number of CPUs.
type Curve struct {
	Source   string  `json:"source"` // the publication or the author
	Machine  string  `json:"machine"`
	Version  string  `json:"version"` // of the language, such as "Go 1.24"
	Workload string  `json:"workload"`
	Note     string  `json:"note,omitempty"`
	Kind     Kind    `json:"kind"`
	Design   Design  `json:"design,omitempty"`
	CPUs     int     `json:"cpus,omitempty"`   // of the machine; 0 if unknown
	Domain   int     `json:"domain,omitempty"` // CPUs that share a socket and a last-level cache; 0 if unknown
	Points   []Point `json:"points"`           // ascending, one for each count; none above CPUs
	Above    []int   `json:"above,omitempty"`  // counts above CPUs, which are not points
}

// A Kind is the kind of a row in a file of curves.
type Kind string

const (
	Shared  Kind = "curve"   // one shared resource, by number of CPUs: the basis of bands
	Sharded Kind = "sharded" // a private part for each CPU, for comparison
	Other   Kind = "other"   // not a curve: a latency, a ratio, before and after
)

// The columns of a file of curves, which has a row for each point. Files
// without the last four columns have curves of one shared resource.
var (
	mustHave = []string{"source", "machine", "version", "workload", "procs", "ops_per_s_or_ns", "unit", "note"}
	mayHave  = []string{"kind", "design", "cpus", "domain"}
)

// Units of the column ops_per_s_or_ns.
const (
	perSecond = "ops/s"
	nsPerOp   = "ns/op" // between operations of all goroutines: 1e9 / (ops/s)
)

// Errors of ReadCurves.
var (
	ErrForeign = errors.New("not a file of curves")
	ErrNoRow   = errors.New("no row can be used")
)

// A Skipped is a line of a file that was not used.
type Skipped struct {
	Line int
	Why  error
}

// String describes s for a warning.
func (s Skipped) String() string { return fmt.Sprintf("line %d skipped: %v", s.Line, s.Why) }

//go:embed published.csv
var publishedFile []byte

// Published returns the built-in curves. They are shared: do not modify them.
var Published = sync.OnceValue(func() []Curve {
	curves, skipped, err := ReadCurves(bytes.NewReader(publishedFile))
	if err == nil && len(skipped) > 0 {
		err = errors.New(skipped[0].String())
	}
	if err != nil {
		panic("predict: published.csv: " + err.Error())
	}
	return curves
})

// byteOrderMark begins the files of some spreadsheets.
const byteOrderMark = "\ufeff"

// ReadCurves reads a file of curves. It skips malformed rows, and returns them;
// it fails if the file has rows and all of them are malformed. Rows of kind
// other are not curves and do not count. Counts above the CPUs of their machine
// are separate: threads that share a CPU show no scaling.
func ReadCurves(r io.Reader) (curves []Curve, skipped []Skipped, err error) {
	in := bufio.NewReader(r)
	if mark, _ := in.Peek(len(byteOrderMark)); string(mark) == byteOrderMark {
		_, _ = in.Discard(len(byteOrderMark)) // which Peek has buffered
	}
	reader := csv.NewReader(in)
	column, err := readHeader(reader)
	if err != nil {
		return nil, nil, err
	}
	for {
		fields, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if malformed, ok := errors.AsType[*csv.ParseError](err); ok {
			why := malformed.Err
			if errors.Is(why, csv.ErrFieldCount) {
				why = fmt.Errorf("%d fields (want %d, as in the first line)", len(fields), len(column))
			}
			skipped = append(skipped, Skipped{malformed.StartLine, why})
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		curve, point, err := parseRow(func(name string) string {
			if i, ok := column[name]; ok {
				return strings.TrimSpace(fields[i])
			}
			return ""
		})
		line, _ := reader.FieldPos(0)
		switch {
		case err != nil:
			skipped = append(skipped, Skipped{line, err})
		case curve.Kind != Other:
			curves = addRow(curves, curve, point)
		}
	}
	if len(curves) == 0 && len(skipped) > 0 {
		return nil, skipped, fmt.Errorf("%w: %d of %d: line %d: %w", ErrNoRow, len(skipped), len(skipped), skipped[0].Line, skipped[0].Why)
	}
	for i := range curves {
		if curves[i].Points, err = Medians(curves[i].Points); err != nil {
			return nil, nil, err
		}
	}
	return slices.DeleteFunc(curves, func(c Curve) bool { return len(c.Points) == 0 }), skipped, nil
}

// readHeader returns the index of each column.
func readHeader(reader *csv.Reader) (map[string]int, error) {
	header, err := reader.Read()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: it is empty", ErrForeign)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrForeign, err)
	}
	if len(header) == 1 && strings.Count(header[0], ";") > 1 {
		return nil, fmt.Errorf("%w: its fields are separated by ';' (want ',')", ErrForeign)
	}
	column := map[string]int{}
	for i, name := range header {
		column[strings.TrimSpace(name)] = i
	}
	for _, name := range mustHave {
		if _, ok := column[name]; !ok {
			return nil, fmt.Errorf("%w: the first line has no column %q (want %s)", ErrForeign, name, strings.Join(mustHave, ","))
		}
	}
	return column, nil
}

// addRow adds a row to its curve.
func addRow(curves []Curve, curve Curve, point Point) []Curve {
	i := slices.IndexFunc(curves, curve.same)
	if i < 0 {
		i = len(curves)
		curves = append(curves, curve)
	}
	if c := &curves[i]; curve.CPUs > 0 && point.Procs > curve.CPUs {
		c.Above = append(c.Above, point.Procs)
	} else {
		c.Points = append(c.Points, point)
	}
	return curves
}

// same reports whether c and d are the same curve.
func (c Curve) same(d Curve) bool {
	return c.Source == d.Source && c.Machine == d.Machine && c.Version == d.Version && c.Workload == d.Workload
}

// parseRow parses a row. field returns a field by name.
func parseRow(field func(name string) string) (curve Curve, point Point, err error) {
	curve = Curve{
		Source: field("source"), Machine: field("machine"), Version: field("version"), Workload: field("workload"),
		Note: field("note"), Kind: Kind(field("kind")), Design: Design(field("design")),
	}
	switch curve.Kind {
	case "":
		curve.Kind = Shared
	case Other:
		return curve, point, nil
	case Shared, Sharded:
	default:
		return curve, point, fmt.Errorf("unknown kind %q (want %s, %s or %s)", curve.Kind, Shared, Sharded, Other)
	}
	if curve.Design != "" && !slices.Contains(designs, curve.Design) {
		return curve, point, fmt.Errorf("unknown design %q (want one of %s)", curve.Design, list(designs))
	}
	for name, to := range map[string]*int{"cpus": &curve.CPUs, "domain": &curve.Domain} {
		if text := field(name); text != "" {
			if *to, err = parseCPUs(text); err != nil {
				return curve, point, fmt.Errorf("invalid %s %w", name, err)
			}
		}
	}
	if point.Procs, err = parseCPUs(field("procs")); err != nil {
		return curve, point, fmt.Errorf("invalid procs %w", err)
	}
	value, err := strconv.ParseFloat(field("ops_per_s_or_ns"), 64)
	if err != nil || !(value > 0) || math.IsInf(value, 0) || math.IsInf(1e9/value, 0) {
		return curve, point, fmt.Errorf("invalid ops_per_s_or_ns %q (want a positive number, such as 17.82)", field("ops_per_s_or_ns"))
	}
	switch unit := field("unit"); unit {
	case perSecond:
		point.X = value
	case nsPerOp:
		point.X = 1e9 / value
	default:
		return curve, point, fmt.Errorf("unknown unit %q (want %s or %s)", unit, perSecond, nsPerOp)
	}
	return curve, point, nil
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

// list joins words for a message.
func list[S ~string](words []S) string {
	texts := make([]string, len(words))
	for i, word := range words {
		texts[i] = string(word)
	}
	return strings.Join(texts, ", ")
}
