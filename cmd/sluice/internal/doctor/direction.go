package doctor

import "github.com/sluice-go/sluice/cmd/sluice/internal/profile"

// A select shows in a CPU profile which way its values go: it passes one to a
// receiver that waits, or takes one from a sender that waits, each in a function
// of its own. A select of a stage that watches a context does one of the two; a
// goroutine that forwards values in one select does both.

const (
	// directed is the smallest number of CPU samples that show a direction.
	directed = 3
	// oneWay is the ratio of the two above which a select has one direction: it
	// was above 30 in eight selects of pipelines, and at most 5 in four that
	// forward values.
	oneWay = 8
)

// A direction is the way of the values in an operation.
type direction int

const (
	undirected direction = iota // unknown
	sending
	receiving
	bothWays
)

// direction returns which way values go in an operation.
func (f *facts) direction(o *Operation) direction {
	switch {
	case o.Op == profile.Close:
		return undirected
	case o.Op != profile.Select && sends(o):
		return sending
	case o.Op != profile.Select && receives(o):
		return receiving
	case f.capture.CPU == nil || o.gave+o.took < directed*f.period():
		return undirected
	case o.gave >= oneWay*o.took:
		return sending
	case o.took >= oneWay*o.gave:
		return receiving
	case min(o.gave, o.took) >= f.period()/2:
		return bothWays
	}
	return undirected
}

// forwards reports whether a select is known to take values and to pass them on.
func (f *facts) forwards(o *Operation) bool {
	return o.Op == profile.Select && f.direction(o) == bothWays
}

// oneWayOnly reports whether a select is known to send only, or to receive only.
func (f *facts) oneWayOnly(o *Operation) bool {
	d := f.direction(o)
	return o.Op == profile.Select && (d == sending || d == receiving)
}
