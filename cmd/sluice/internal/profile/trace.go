package profile

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"golang.org/x/exp/trace"
)

// maxTrace is the size limit of a trace, in bytes. Only one generation of it,
// about a second, is in memory at a time.
const maxTrace = 1 << 30

// eventsPerCheck is the number of events between two checks of the time: a few
// milliseconds.
const eventsPerCheck = 1 << 14

// readTrace reads an execution trace until due, if that is not zero, and returns
// GOMAXPROCS if the trace has it. A trace takes longer to read than to take.
func readTrace(r io.Reader, due time.Time) (t *Trace, procs int, err error) {
	// The decoder may panic on invalid input.
	defer func() {
		if r := recover(); r != nil {
			t, procs, err = nil, 0, fmt.Errorf("invalid execution trace: %v", r)
		}
	}()
	limited := &io.LimitedReader{R: r, N: maxTrace}
	events, err := trace.NewReader(limited)
	if err != nil {
		return nil, 0, fmt.Errorf("unreadable execution trace: %s", firstLine(err.Error()))
	}
	tally := traceTally{
		trace:      &Trace{},
		goroutines: map[trace.GoID]*traced{},
		stacks:     map[trace.Stack]placed{},
		pairs:      map[[2]Site]int64{},
		sites:      map[Site]*TraceSite{},
		stages:     map[string]*Stage{},
	}
	for n := 0; ; n++ {
		if n%eventsPerCheck == eventsPerCheck-1 && !due.IsZero() && time.Now().After(due) {
			tally.trace.Truncated = true
			break
		}
		event, err := events.ReadEvent()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			if limited.N == 0 {
				return nil, 0, fmt.Errorf("larger than %d MB", maxTrace>>20)
			}
			if tally.transitions == 0 {
				return nil, 0, errTruncated
			}
			tally.trace.Truncated = true
			break
		}
		tally.add(event)
	}
	if tally.transitions == 0 && tally.procs == 0 {
		return nil, 0, errors.New("the execution trace has no goroutine events")
	}
	return tally.result(), tally.procs, nil
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// A traceTally adds up events.
type traceTally struct {
	trace       *Trace
	goroutines  map[trace.GoID]*traced
	stacks      map[trace.Stack]placed // of this generation; there are few distinct ones
	pairs       map[[2]Site]int64
	sites       map[Site]*TraceSite
	stages      map[string]*Stage
	transitions int
	first, last trace.Time
	procs       int
}

// A traced is a goroutine while the trace is read.
type traced struct {
	state trace.GoState
	since trace.Time
	site  Site // where it waits; zero if the wait began before the trace
	root  string
	host  string // see placed
	own   bool   // it waits in a handler that serves profiles
	waits bool   // it is in a system call that may wait for a disk, at site
	sync  bool   // that is a sync of a file

	running, runnable, waiting time.Duration
}

// start records the start function that a stack shows. Only stacks inside of a
// function of the program show what a goroutine of this module calls.
func (g *traced) start(p placed) {
	if p.root != "" && (g.root == "" || p.root != p.host) {
		g.root, g.host = p.root, p.host
	}
}

// spend adds the time in the current state.
func (g *traced) spend(until trace.Time) {
	d := until.Sub(g.since)
	switch g.state {
	case trace.GoRunning:
		g.running += d
	case trace.GoSyscall:
		if g.blocked(until) {
			g.waiting += d
		} else {
			g.running += d
		}
	case trace.GoRunnable:
		g.runnable += d
	case trace.GoWaiting:
		g.waiting += d
	}
}

// called adds the wait of g in a system call.
func (t *traceTally) called(g *traced, until trace.Time) {
	site := t.site(g.site)
	site.Waited += until.Sub(g.since)
	site.Sync = g.sync
}

// blockedCall is the time from which on a system call for a file waits: a write to
// memory takes 1 to 20 µs, a sync to a disk 100 µs and more.
const blockedCall = 100 * time.Microsecond

// blocked reports whether the system call that g is in waits for a disk or another
// process: the scheduler counts it as running as long as no other goroutine needs its
// P. One for a socket never waits: if it takes long, its thread had no core.
func (g *traced) blocked(until trace.Time) bool {
	return g.waits && until.Sub(g.since) >= blockedCall
}

func (t *traceTally) add(event trace.Event) {
	if t.first == 0 {
		t.first = event.Time()
	}
	t.last = event.Time()
	switch event.Kind() {
	case trace.EventSync:
		// Stacks of different generations are never equal, and keep their
		// generation in memory.
		clear(t.stacks)
	case trace.EventMetric:
		if m := event.Metric(); m.Name == metricGOMAXPROCS && m.Value.Kind() == trace.ValueUint64 {
			t.procs = int(min(m.Value.Uint64(), maxCores))
		}
	case trace.EventStateTransition:
		if change := event.StateTransition(); change.Resource.Kind == trace.ResourceGoroutine {
			t.transition(event, change)
		}
	}
}

// transition processes a change of a goroutine's state.
func (t *traceTally) transition(event trace.Event, change trace.StateTransition) {
	t.transitions++
	id := change.Resource.Goroutine()
	from, to := change.Goroutine()
	g := t.goroutines[id]
	if g == nil {
		g = &traced{state: from, since: event.Time()}
		t.goroutines[id] = g
	} else {
		g.spend(event.Time())
	}
	if change.Stack != trace.NoStack && from != trace.GoNotExist {
		g.start(t.place(change.Stack))
	}
	switch {
	case from == trace.GoSyscall && g.blocked(event.Time()): // no park: it keeps its P while nobody needs it
		t.called(g, event.Time())
	case to == trace.GoSyscall && from != trace.GoSyscall && change.Stack != trace.NoStack:
		p := t.place(change.Stack)
		g.site, g.waits, g.sync = p.site, p.file, p.sync
	case from == trace.GoNotExist && change.Stack != trace.NoStack:
		g.start(t.place(change.Stack)) // the stack at the start
	case from.Executing() && to == trace.GoWaiting:
		g.site = t.waiting(change)
		g.own = t.place(change.Stack).site.At.Function == ownSite
		if !g.own {
			t.site(g.site).Parks++
		}
	case from == trace.GoWaiting && to == trace.GoRunnable:
		t.woken(event, g)
	}
	if to == trace.GoNotExist {
		t.finish(g)
		delete(t.goroutines, id)
		return
	}
	g.state, g.since = to, event.Time()
}

// waiting returns the operation in which a goroutine parks. An operation that
// allocates may have to assist the collector and wait for it, which is not a
// wait for the other side.
func (t *traceTally) waiting(change trace.StateTransition) Site {
	site := t.place(change.Stack).site
	switch {
	case strings.HasPrefix(change.Reason, collecting):
		site.Op = Other
	case site.Op == Other:
		site.Op = reasons[change.Reason]
	}
	return site
}

// collecting is the prefix of reasons for waits for the garbage collector.
const collecting = "GC "

// reasons are the trace's names of wait reasons, for stacks without an
// operation.
var reasons = map[string]Op{
	"chan send": Send, "chan receive": Receive, "select": Select, "forever": Forever,
	"sleep": Sleep, "network": IO,
}

// woken records the end of a wait, and the operation that ended it.
func (t *traceTally) woken(event trace.Event, g *traced) {
	known := g.site.At.Function != ""
	if g.own {
		return
	}
	if known {
		t.site(g.site).Waited += event.Time().Sub(g.since)
	}
	// Timers and the network poller wake without a goroutine.
	if event.Goroutine() == trace.NoGoroutine || event.Stack() == trace.NoStack {
		return
	}
	waker := t.place(event.Stack()).site
	if waker.At.Function == ownSite {
		return
	}
	t.trace.Wakeups++
	if known && waker.At.Function != "" {
		t.pairs[[2]Site{waker, g.site}]++
	}
}

func (t *traceTally) site(s Site) *TraceSite {
	site := t.sites[s]
	if site == nil {
		site = &TraceSite{Site: s}
		t.sites[s] = site
	}
	return site
}

// ownSite is the function of stacks that serve profiles and traces.
const ownSite = "serving profiles"

// place is place(s) with a cache.
func (t *traceTally) place(s trace.Stack) placed {
	if p, ok := t.stacks[s]; ok {
		return p
	}
	var frames stack
	for f := range s.Frames() {
		if len(frames) == maxFrames {
			break
		}
		frames = append(frames, Frame{Function: plain(f.Func), File: f.File, Line: lineOf(int64(min(f.Line, math.MaxInt64)))})
	}
	p := place(frames)
	p.file, p.sync = p.ofFile(frames), syncing(frames)
	p.below = nil
	if own(frames) {
		p.site, p.file = Site{At: Frame{Function: ownSite}}, false
	}
	t.stacks[s] = p
	return p
}

// finish adds a goroutine that ended, or that exists at the end of the trace.
func (t *traceTally) finish(g *traced) {
	if g.own {
		return
	}
	t.trace.Running += g.running
	t.trace.Runnable += g.runnable
	root := cmp.Or(g.root, "?")
	stage := t.stages[root]
	if stage == nil {
		stage = &Stage{Root: root, host: g.host}
		t.stages[root] = stage
	}
	stage.Count++
	stage.Running += g.running
	stage.Runnable += g.runnable
	stage.Waiting += g.waiting
}

func (t *traceTally) result() *Trace {
	for _, g := range t.goroutines {
		g.spend(t.last)
		switch {
		case g.own || g.site.At.Function == "":
		case g.state == trace.GoWaiting:
			site := t.site(g.site)
			site.Still++
			site.Waited += t.last.Sub(g.since)
		case g.state == trace.GoSyscall && g.blocked(t.last):
			t.called(g, t.last)
		}
		t.finish(g)
	}
	t.trace.Window = t.last.Sub(t.first)
	for sites, count := range t.pairs {
		t.trace.Pairs = append(t.trace.Pairs, Pair{Waker: sites[0], Sleeper: sites[1], Count: count})
	}
	slices.SortFunc(t.trace.Pairs, func(a, b Pair) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), a.Waker.compare(b.Waker), a.Sleeper.compare(b.Sleeper))
	})
	for _, site := range t.sites {
		if site.At.Function != "" {
			t.trace.Sites = append(t.trace.Sites, *site)
		}
	}
	slices.SortFunc(t.trace.Sites, func(a, b TraceSite) int {
		return cmp.Or(cmp.Compare(b.Waited, a.Waited), a.Site.compare(b.Site))
	})
	for _, stage := range t.stages {
		t.trace.Stages = append(t.trace.Stages, *stage)
	}
	slices.SortFunc(t.trace.Stages, func(a, b Stage) int {
		return cmp.Or(cmp.Compare(b.Running, a.Running), cmp.Compare(a.Root, b.Root))
	})
	return t.trace
}
