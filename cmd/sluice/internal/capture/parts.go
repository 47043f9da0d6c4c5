package capture

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/livepage"
)

// A kind is what a file holds.
type kind string

const (
	kindCPU   kind = "cpu"
	kindMutex kind = "mutex"
	kindBlock kind = "block"
	kindLeak  kind = "goroutineleak"
	kindDump  kind = "goroutine"
	kindTrace kind = "trace"
	kindFlow  kind = "flow"
)

// A part is what one file holds. The pointer for its kind is set.
type part struct {
	name string
	kind kind
	at   time.Time // when it was taken; zero if unknown

	profile *Profile
	dump    *Dump
	trace   *Trace
	flow    *livepage.Flow
}

// rank orders parts by name.
func (p part) rank() int {
	stem, _, _ := strings.Cut(strings.ToLower(filepath.Base(p.name)), ".")
	switch {
	case strings.HasSuffix(stem, "before"):
		return -1
	case strings.HasSuffix(stem, "after"):
		return 1
	}
	return 0
}

// of returns the parts of a kind, the earliest first. A part without a time has the
// time of the part in front of it by name.
func (r *reader) of(k kind) []part {
	found := r.parts[k]
	slices.SortStableFunc(found, func(a, b part) int { return cmp.Compare(a.rank(), b.rank()) })
	for i := range found {
		if i > 0 && found[i].at.IsZero() {
			found[i].at = found[i-1].at
		}
	}
	slices.SortStableFunc(found, func(a, b part) int { return a.at.Compare(b.at) })
	return found
}

// last returns the last of some parts of a kind, or an empty one. The others are missing.
func (r *reader) last(found []part) (last part) {
	for i, p := range found {
		if last = p; i < len(found)-1 {
			err := fmt.Errorf("one %s file too many for one capture: -compare takes two captures", p.kind)
			r.failed = append(r.failed, &FileError{filepath.Base(p.name), err})
		}
	}
	return last
}

// capture combines the parts.
func (r *reader) capture(target string) (*Capture, error) {
	if len(r.parts) == 0 {
		if len(r.failed) == 1 && !r.folder {
			return nil, r.failed[0]
		}
		err := errors.New("found no profile, goroutines or trace")
		for _, f := range r.failed[:min(len(r.failed), 3)] {
			err = fmt.Errorf("%w; %w", err, f)
		}
		return nil, &FileError{target, err}
	}
	cpu, traces := r.last(r.of(kindCPU)), r.of(kindTrace)
	slices.SortStableFunc(traces, func(a, b part) int { return cmp.Compare(a.trace.Size, b.trace.Size) }) // a capture may have a short one beside it
	c := &Capture{
		Target: target, Start: cpu.at, CPU: cpu.profile, Trace: r.last(traces).trace, Flow: r.last(r.of(kindFlow)).flow,
		Mutex: r.last(r.of(kindMutex)).profile, Block: r.last(r.of(kindBlock)).profile, Leaks: r.last(r.of(kindLeak)).profile,
	}
	for _, p := range r.of(kindDump) {
		p.dump.At = p.at
		c.Dumps = append(c.Dumps, *p.dump)
	}
	if h := r.header; h != nil {
		c.Target, c.Machine, c.Missing = format.Clean(h.Target), h.Machine, slices.Clone(h.Missing)
		c.Start = cmp.Or(c.Start, h.Start)
	}
	for _, f := range r.failed {
		if !errors.Is(f.Err, errNoWaits) { // like most services
			c.Missing = append(c.Missing, Missing{f.Name, f.Err.Error()})
		}
	}
	if more := len(c.Missing) - maxMissing; more > 0 {
		c.Missing = append(c.Missing[:maxMissing], Missing{"others", fmt.Sprintf("%d more parts", more)})
	}
	for i, m := range c.Missing {
		c.Missing[i] = Missing{format.Clean(m.What), format.Clean(m.Reason)}
	}
	return c, nil
}
