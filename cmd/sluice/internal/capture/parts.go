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

// stem returns the path without extensions.
func (p *part) stem() string {
	base, _, _ := strings.Cut(filepath.Base(p.name), ".")
	return filepath.Join(filepath.Dir(p.name), strings.ToLower(base))
}

// of returns the parts of a kind, the earliest first. Names decide for those without a
// time: they stay behind the parts that are in front of them by name.
func (r *reader) of(k kind) []*part {
	var found []*part
	for i := range r.parts {
		if r.parts[i].kind == k {
			found = append(found, &r.parts[i])
		}
	}
	rank := func(p *part) int {
		switch {
		case strings.HasSuffix(p.stem(), "before"):
			return -1
		case strings.HasSuffix(p.stem(), "after"):
			return 1
		}
		return 0
	}
	slices.SortStableFunc(found, func(a, b *part) int { return cmp.Compare(rank(a), rank(b)) })
	var latest time.Time
	order := map[*part]time.Time{}
	for _, p := range found {
		if p.at.After(latest) {
			latest = p.at
		}
		if order[p] = p.at; p.at.IsZero() {
			order[p] = latest
		}
	}
	slices.SortStableFunc(found, func(a, b *part) int { return order[a].Compare(order[b]) })
	return found
}

// last returns the last of some parts of a kind, or an empty one. The others are missing.
func (r *reader) last(found []*part) *part {
	if len(found) == 0 {
		return &part{}
	}
	last := len(found) - 1
	for _, p := range found[:last] {
		r.fail(filepath.Base(p.name), fmt.Errorf("one %s file too many for one capture: -compare takes two captures", p.kind))
	}
	return found[last]
}

// capture combines the parts.
func (r *reader) capture(target string) (*Capture, error) {
	if len(r.parts) == 0 && len(r.failed) == 1 && !r.folder {
		return nil, r.failed[0]
	}
	if len(r.parts) == 0 {
		err := errors.New("found no profile, goroutines or trace")
		for _, f := range r.failed[:min(len(r.failed), 3)] {
			err = fmt.Errorf("%w; %w", err, f)
		}
		return nil, &FileError{target, err}
	}
	cpu, traces := r.last(r.of(kindCPU)), r.of(kindTrace)
	slices.SortStableFunc(traces, func(a, b *part) int { return cmp.Compare(a.trace.Size, b.trace.Size) }) // a capture may have a short one beside it
	c := &Capture{
		Target: target, Start: cpu.at, CPU: cpu.profile, Dumps: r.dumps(),
		Mutex: r.waits(kindMutex), Block: r.waits(kindBlock), Leaks: r.last(r.of(kindLeak)).profile,
		Trace: r.last(traces).trace, Flow: r.last(r.of(kindFlow)).flow,
	}
	if h := r.header; h != nil {
		c.Target, c.Machine, c.Missing = format.Clean(h.Target), h.Machine, slices.Clone(h.Missing)
		if c.Start.IsZero() {
			c.Start = h.Start
		}
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

// waits returns the difference of the first and the last contention profile, or a single
// one.
func (r *reader) waits(k kind) *Profile {
	found := r.of(k)
	if len(found) < 2 {
		return r.last(found).profile
	}
	before, after := found[0], r.last(found[1:])
	if after.profile.events() < before.profile.events()/2 { // counters do not shrink but by rounding
		r.fail(filepath.Base(before.name), fmt.Errorf("higher counters than in %s, which is later: the process restarted in between", filepath.Base(after.name)))
		return after.profile
	}
	d := after.profile.since(before.profile)
	if !before.at.IsZero() && !after.at.IsZero() {
		d.Window = after.at.Sub(before.at)
	}
	return d
}

// dumps returns all dumps, the earliest first. A text has the time of the profile with
// the same name, which was fetched at the same moment.
func (r *reader) dumps() (all []Dump) {
	moments := map[string]time.Time{}
	for _, p := range r.of(kindDump) {
		if !p.at.IsZero() {
			moments[p.stem()] = p.at
		}
	}
	for _, p := range r.of(kindDump) {
		if p.at.IsZero() {
			p.at = moments[p.stem()]
		}
	}
	for _, p := range r.of(kindDump) {
		p.dump.At = p.at
		all = append(all, *p.dump)
	}
	return all
}
