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

// check returns an error if n CPUs cross a boundary, which is a step in the cost of moving a
// cache line, that the largest measured count does not cross, or if that is unknown.
func (l Limits) check(largest, n int) error {
	for _, boundary := range []struct {
		what, flag       string
		measured, target int
	}{
		{"last-level cache", "-llc", l.Measured.LLC, l.Target.LLC},
		{"socket", "-socket", l.Measured.Socket, l.Target.Socket},
	} {
		crossed := boundary.measured > 0 && largest > boundary.measured
		switch {
		case boundary.target == 0:
			return fmt.Errorf("%w: it is unknown how many CPUs share a %s there. Set %s", ErrNewBoundary, boundary.what, boundary.flag)
		case n > boundary.target && !crossed:
			return fmt.Errorf("%w: %d CPUs are more than the %d that share a %s, and beyond it a value may cost several times as much. If more CPUs of the target share one, set %s",
				ErrNewBoundary, n, boundary.target, boundary.what, boundary.flag)
		}
	}
	return nil
}
