package predict

import "fmt"

// A Topology is the layout of the CPUs of a machine; 0 is unknown.
type Topology struct {
	CPUs   int `json:"cpus,omitempty"`
	LLC    int `json:"llc,omitempty"`    // CPUs behind one last-level cache
	Socket int `json:"socket,omitempty"` // CPUs in one socket
}

// Limits has the layout of the measured machine and of the target, which may be
// the same.
type Limits struct {
	Measured Topology `json:"measured"`
	Target   Topology `json:"target"`
}

// A boundary is a step in the cost of moving a cache line.
type boundary struct {
	what, flag       string
	measured, target int
}

// crossed reports whether the largest measured count is beyond the boundary.
func (b boundary) crossed(largest int) bool { return b.measured > 0 && largest > b.measured }

func (l Limits) boundaries() []boundary {
	return []boundary{
		{"last-level cache", "-llc", l.Measured.LLC, l.Target.LLC},
		{"socket", "-socket", l.Measured.Socket, l.Target.Socket},
	}
}

// check returns an error if n CPUs cross a boundary that the largest measured
// count does not cross, or if that is unknown.
func (l Limits) check(largest int, n float64) error {
	for _, b := range l.boundaries() {
		switch {
		case b.target == 0:
			return fmt.Errorf("%w: it is unknown how many CPUs share a %s there. Set %s", ErrNewBoundary, b.what, b.flag)
		case n > float64(b.target) && !b.crossed(largest):
			return fmt.Errorf("%w: %v CPUs are more than the %d that share a %s, and beyond it a value may cost several times as much. If more CPUs of the target share one, set %s",
				ErrNewBoundary, n, b.target, b.what, b.flag)
		}
	}
	return nil
}
