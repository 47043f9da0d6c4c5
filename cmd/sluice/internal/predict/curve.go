package predict

import (
	_ "embed"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// A Curve is a measured throughput by number of CPUs.
type Curve struct {
	Name     string  `json:"series,omitempty"` // in its file
	Source   string  `json:"source"`           // the publication or the author
	Machine  string  `json:"machine"`
	Version  string  `json:"version"` // of the language, such as "Go 1.24"
	Workload string  `json:"workload"`
	Note     string  `json:"note,omitempty"`
	Kind     Kind    `json:"kind"`
	Design   string  `json:"design,omitempty"` // how goroutines share the resource
	CPUs     int     `json:"cpus,omitempty"`   // of the machine; 0 if unknown
	Domain   int     `json:"domain,omitempty"` // CPUs that share a socket and a last-level cache; 0 if unknown
	Points   []Point `json:"points"`           // ascending, one for each count
	Above    []int   `json:"above,omitempty"`  // counts above CPUs, which are not points
}

// A Kind is the kind of a row in a file of curves.
type Kind string

const (
	Shared  Kind = "curve"   // one shared resource, by number of CPUs
	Sharded Kind = "sharded" // a private part for each CPU: the lanes of a shared one
	Other   Kind = "other"   // not a curve: a latency, a ratio, before and after
)

// ChannelDesign is the design of Go's channel.
const ChannelDesign = "channel"

//go:embed published.csv
var publishedFile []byte

// Published returns the built-in curves. They are shared: do not modify them.
var Published = sync.OnceValue(func() []Curve {
	curves, skipped, err := readCSV(publishedFile, "published.csv")
	if err = errors.Join(append(skipped, err)...); err != nil {
		panic("predict: published.csv: " + err.Error())
	}
	return limited(curves)
})

// same reports whether c and d are the same curve.
func (c Curve) same(d Curve) bool {
	return c.Source == d.Source && c.Machine == d.Machine && c.Version == d.Version && c.Workload == d.Workload
}

// texts and numbers return the fields of a curve by the names of their columns.
func (c *Curve) texts() map[string]*string {
	return map[string]*string{
		"source": &c.Source, "machine": &c.Machine, "version": &c.Version, "workload": &c.Workload,
		"note": &c.Note, "kind": (*string)(&c.Kind), "design": &c.Design,
	}
}

func (c *Curve) numbers() map[string]*int {
	return map[string]*int{"cpus": &c.CPUs, "domain": &c.Domain}
}

// facts returns what is known of a curve.
func (c Curve) facts() string { return format.Join("; ", c.Workload, c.Machine, c.Version) }

// Limit separates the counts above the CPUs of the measured machine: more
// threads than CPUs test robustness, and are not points of a curve. If the
// number of CPUs is unknown, 0, all counts remain.
func (c *Curve) Limit(cpus int) {
	above := slices.IndexFunc(c.Points, func(p Point) bool { return p.Procs > cpus })
	if cpus == 0 || above < 0 {
		return
	}
	for _, p := range c.Points[above:] {
		c.Above = append(c.Above, p.Procs)
	}
	c.Points = c.Points[:above]
}

// limited returns the curves without counts above their CPUs, and without those
// that have no others.
func limited(curves []Curve) []Curve {
	for i := range curves {
		curves[i].Limit(curves[i].CPUs)
	}
	return slices.DeleteFunc(curves, func(c Curve) bool { return len(c.Points) == 0 })
}

// counts summarizes single measurements: it returns a point for each count of CPUs.
func counts(measured []Point) (all []Point) {
	samples := map[int][]float64{}
	for _, p := range measured {
		samples[p.Procs] = append(samples[p.Procs], p.X)
	}
	for _, procs := range slices.Sorted(maps.Keys(samples)) {
		s := stat.Summarize(samples[procs])
		all = append(all, Point{procs, s.Median, s.Lo, s.Hi, s.N})
	}
	return all
}
