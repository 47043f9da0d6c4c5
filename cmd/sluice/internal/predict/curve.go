package predict

import (
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

// A Curve is what somebody measured: throughput by number of CPUs.
type Curve struct {
	Source   string  `json:"source"` // where it was published, or who measured it
	Machine  string  `json:"machine"`
	Version  string  `json:"version"` // of the language, such as "Go 1.24"
	Workload string  `json:"workload"`
	Note     string  `json:"note,omitempty"`
	Kind     Kind    `json:"kind"`
	Design   Design  `json:"design,omitempty"`
	CPUs     int     `json:"cpus,omitempty"`   // of the machine, 0 if not known
	Domain   int     `json:"domain,omitempty"` // CPUs that share a socket and a last-level cache, 0 if not known
	Points   []Point `json:"points"`           // ascending, one for each count; none above CPUs
	Above    []int   `json:"above,omitempty"`  // the counts above CPUs, which are no points
}

// A Kind says what a row of a file of curves is.
type Kind string

const (
	Shared  Kind = "curve"   // one shared thing, by number of CPUs: bands come from these
	Sharded Kind = "sharded" // a private part for each CPU, for comparison
	Other   Kind = "other"   // no curve: a latency, a ratio, before and after
)

// The form of a file of curves: a row for each point. Files without the last
// four columns are read as curves of one shared thing.
var (
	mustHave = []string{"source", "machine", "version", "workload", "procs", "ops_per_s_or_ns", "unit", "note"}
	mayHave  = []string{"kind", "design", "cpus", "domain"}
)

// Units of the column ops_per_s_or_ns.
const (
	perSecond = "ops/s"
	nsPerOp   = "ns/op" // from one operation to the next, of whatever goroutine: 1e9 / (ops/s)
)

// ErrForeign is wrapped by the error for a file that is no file of curves.
var ErrForeign = errors.New("no file of curves")

//go:embed published.csv
var publishedFile []byte

// Published returns the curves that the tool brings with it. They are shared:
// do not change them.
var Published = sync.OnceValue(func() []Curve {
	curves, err := ReadCurves(bytes.NewReader(publishedFile))
	if err != nil {
		panic("predict: published.csv: " + err.Error())
	}
	return curves
})

// ReadCurves reads a file of curves. Rows of kind other are no curves and are
// passed over. Counts above the CPUs of their machine are set apart: threads that
// share a CPU say nothing about scaling.
func ReadCurves(r io.Reader) ([]Curve, error) {
	reader := csv.NewReader(r)
	header, err := reader.Read()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrForeign, err)
	}
	column := map[string]int{}
	for i, name := range header {
		column[name] = i
	}
	for _, name := range mustHave {
		if _, ok := column[name]; !ok {
			return nil, fmt.Errorf("%w: its first line has no column %q", ErrForeign, name)
		}
	}
	var curves []Curve
	for {
		fields, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrForeign, err)
		}
		curve, point, err := parseRow(func(name string) string {
			if i, ok := column[name]; ok {
				return strings.TrimSpace(fields[i])
			}
			return ""
		})
		line, _ := reader.FieldPos(0)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		if curve.Kind == Other {
			continue
		}
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
	}
	for i := range curves {
		curves[i].Points, err = Medians(curves[i].Points)
		if err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(curves, func(c Curve) bool { return len(c.Points) == 0 }), nil
}

// same reports whether a row belongs to the curve d.
func (c Curve) same(d Curve) bool {
	return c.Source == d.Source && c.Machine == d.Machine && c.Version == d.Version && c.Workload == d.Workload
}

// parseRow reads a row, whose fields it gets by name.
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
		return curve, point, fmt.Errorf("kind %q is none of %s, %s, %s", curve.Kind, Shared, Sharded, Other)
	}
	if curve.Design != "" && !slices.Contains(designs, curve.Design) {
		return curve, point, fmt.Errorf("design %q is none of %s", curve.Design, list(designs))
	}
	for name, to := range map[string]*int{"cpus": &curve.CPUs, "domain": &curve.Domain} {
		if text := field(name); text != "" {
			if *to, err = strconv.Atoi(text); err != nil || *to < 1 {
				return curve, point, fmt.Errorf("%s %q is no number of CPUs", name, text)
			}
		}
	}
	if point.Procs, err = strconv.Atoi(field("procs")); err != nil || point.Procs < 1 {
		return curve, point, fmt.Errorf("procs %q is no number of CPUs", field("procs"))
	}
	value, err := strconv.ParseFloat(field("ops_per_s_or_ns"), 64)
	if err != nil || !(value > 0) || math.IsInf(value, 0) {
		return curve, point, fmt.Errorf("ops_per_s_or_ns %q is no throughput and no time", field("ops_per_s_or_ns"))
	}
	switch unit := field("unit"); unit {
	case perSecond:
		point.X = value
	case nsPerOp:
		point.X = 1e9 / value
	default:
		return curve, point, fmt.Errorf("unit %q is neither %s nor %s", unit, perSecond, nsPerOp)
	}
	return curve, point, nil
}

// list writes words for a message.
func list[S ~string](words []S) string {
	texts := make([]string, len(words))
	for i, word := range words {
		texts[i] = string(word)
	}
	return strings.Join(texts, ", ")
}
