package observe

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/exp/trace"

	"github.com/sluice-go/sluice/cmd/sluice/internal/capture"
)

const (
	// maxTrace bounds a trace in bytes: a minute of a service that does nothing but pass
	// values is 2 GB, and takes minutes to read.
	maxTrace = 512 << 20
	// maxTraced bounds the goroutines that are alive at the same time.
	maxTraced = 1 << 20
	// maxDepth is the number of frames that the runtime records: the outermost frame of
	// a deeper stack is not the start function.
	maxDepth = 128
	// longCall is the time from which on a system call for a file has waited: a copy to or
	// from memory takes 1 to 20 µs, a disk 100 µs and more. The goroutine in a shorter one
	// has kept its P: sysmon takes it away after 20 µs to 10 ms.
	longCall = 100 * time.Microsecond
)

// trace reads an execution trace into the rows of b. The times of each goroutine add up
// to its life within the trace: every interval between two of its transitions goes to
// one role and one part of its Time.
//
//   - The time before a stack is seen belongs to the role that this stack shows: a
//     goroutine of a server runs one handler after the other.
//   - A wait belongs to the role that it is in. The wait of a pool's worker
//     between two jobs belongs to the job; the wait of a server between two requests does
//     not.
func (b *builder) trace(c *capture.Trace) (err error) {
	defer func() { // The decoder may panic on invalid input.
		if r := recover(); r != nil {
			err = fmt.Errorf("invalid execution trace: %v", r)
		}
	}()
	file, err := c.Open()
	if err != nil {
		return err
	}
	defer file.Close()
	limited := &io.LimitedReader{R: file, N: maxTrace}
	events, err := trace.NewReader(bufio.NewReaderSize(limited, 1<<20))
	if err != nil {
		line, _, _ := strings.Cut(err.Error(), "\n")
		return fmt.Errorf("unreadable execution trace: %s", line)
	}
	t := newTracer(b)
	for {
		event, err := events.ReadEvent()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil || len(t.goroutines) > maxTraced {
			if t.transitions == 0 {
				return errors.New("the execution trace is cut off in its first second")
			}
			text := "The trace ends in the middle: what comes after it is unknown. Take it again, with a shorter time."
			if limited.N == 0 {
				text = fmt.Sprintf("Only the first %d MB of the trace were read. Take a shorter one.", maxTrace>>20)
			}
			b.o.artifact("truncated trace", false, "%s", text)
			break
		}
		t.add(&event)
	}
	if t.transitions == 0 {
		return errors.New("the execution trace has no goroutine events")
	}
	t.result()
	return nil
}

// A tracer adds up events. Its tables grow with the number of lines, roles and seats of
// the program, and with its goroutines that are alive, and not with the number of events.
type tracer struct {
	b           *builder
	stacks      map[trace.Stack]*spot // of this generation
	goroutines  map[trace.GoID]*traced
	lines       []placed // of each line, the first
	lineAt      index[Line]
	roles       []tracedRole    // by index of Observation.Roles
	starts      map[int32]int32 // the role of goroutines that a line started
	seats       []seat
	shares      []share
	ports       []port
	portAt      index[portKey]
	union       union // of ports
	wakes       []wakeUp
	wakeAt      index[[2]int32]
	first, last trace.Time
	transitions int
	procs       int           // the largest GOMAXPROCS
	away        time.Duration // in system calls that may wait
}

// A tracedRole is what is known of a role beside its Role.
type tracedRole struct {
	seats  int   // told apart
	shared int32 // the seat of all others; 0 until the first of them
	alive  slots
	idle   slots         // of alive, waits for partners
	by     map[int32]int // lines that started goroutines
}

// A share is a goroutine's life and the part of it that it was busy for.
type share struct {
	seat       int32
	life, busy time.Duration
}

// A seat is one goroutine of a role, or all those that are not told apart. Seats show
// which goroutines meet at a channel whose lines several goroutines run.
type seat struct {
	role    int32
	times   Time // in nanoseconds
	created int64
}

// maxSeats is the number of goroutines of a role that are told apart.
const maxSeats = 64

// discard is the seat of goroutines that serve the observer.
const discard = 0

// A traced is a goroutine while the trace is read. Its times have no role yet.
type traced struct {
	state   trace.GoState
	since   trace.Time    // when it entered that state
	open    trace.Time    // up to which its time belongs to a role
	spot    *spot         // of its wait or system call; nil if unknown
	guess   *spot         // of a goroutine that only a preempted stack has shown
	collect bool          // it waits for the collector
	network bool          // the network ended its last wait, in a library's own goroutine
	created bool          // within the trace
	by      int32         // the line that started it; -1 if unknown
	seat    int32         // -1 if unknown
	home    int32         // its seat in its first role of the program; -1 if unknown
	time    Time          // in nanoseconds, since open, without its known waits
	life    time.Duration // at home
	idle    time.Duration // of it, in waits for partners
}

func newTracer(b *builder) *tracer {
	return &tracer{
		b: b, stacks: map[trace.Stack]*spot{}, goroutines: map[trace.GoID]*traced{}, lineAt: index[Line]{},
		starts: map[int32]int32{}, portAt: index[portKey]{}, wakeAt: index[[2]int32]{}, seats: []seat{{role: -1}},
	}
}

func (t *tracer) add(event *trace.Event) {
	if t.first == 0 {
		t.first = event.Time()
	}
	t.last = event.Time()
	t.b.o.Sources.Events++
	switch event.Kind() {
	case trace.EventSync:
		clear(t.stacks) // stacks of different generations are never equal
	case trace.EventMetric:
		if m := event.Metric(); m.Name == "/sched/gomaxprocs:threads" && m.Value.Kind() == trace.ValueUint64 {
			t.procs = max(t.procs, int(min(m.Value.Uint64(), 1<<14)))
		}
	case trace.EventStateTransition:
		if change := event.StateTransition(); change.Resource.Kind == trace.ResourceGoroutine {
			t.transition(event, &change)
		}
	}
}

// transition processes a change of a goroutine's state.
func (t *tracer) transition(event *trace.Event, change *trace.StateTransition) {
	t.transitions++
	now, id := event.Time(), change.Resource.Goroutine()
	from, to := change.Goroutine()
	g := t.goroutines[id]
	if g == nil {
		g = &traced{state: from, since: now, open: now, by: -1, seat: -1, home: -1}
		t.goroutines[id] = g
		if from == trace.GoUndetermined && to == trace.GoWaiting {
			g.open = t.first
		}
	}
	var s *spot
	if change.Stack != trace.NoStack {
		s = t.spot(change.Stack)
	}
	if from == to { // the state at the start of a generation
		if s != nil && g.spot == nil && to == trace.GoWaiting {
			t.flush(g, s, now)
			g.spot = s
		}
		return
	}
	if from == trace.GoNotExist {
		switch g.created = true; {
		case event.Stack() != trace.NoStack:
			g.by = t.spot(event.Stack()).line
		case event.Goroutine() == trace.NoGoroutine:
			g.by = t.line(&placed{Line: Line{At: Frame{Function: timerCall}}})
		}
	} else {
		t.leave(g, from, event, now)
	}
	if s != nil && from != trace.GoSyscall && (from != trace.GoNotExist || s.role >= 0) { // a library may start with a job
		t.flush(g, s, now)
	}
	g.state, g.since = to, now
	switch to {
	case trace.GoWaiting:
		g.spot, g.collect = s, collecting(change.Reason)
		if from == trace.GoUndetermined {
			g.since = t.first
		}
	case trace.GoSyscall:
		if s != nil || from != trace.GoSyscall {
			g.spot = s
		}
	case trace.GoNotExist:
		t.end(g, now)
		delete(t.goroutines, id)
	}
}

// leave processes the end of a state. event is nil at the end of the trace.
func (t *tracer) leave(g *traced, state trace.GoState, event *trace.Event, now trace.Time) {
	switch d := now.Sub(g.since); state {
	case trace.GoRunning:
		g.time.Running += float64(d)
	case trace.GoRunnable:
		g.time.Runnable += float64(d)
	case trace.GoWaiting:
		t.endWait(g, event, d, now)
	case trace.GoSyscall:
		t.endCall(g, d, now)
	}
}

// flush gives the time up to now to the role that s shows.
func (t *tracer) flush(g *traced, s *spot, now trace.Time) {
	if s.preempted && g.seat < 0 {
		g.guess = s // a stack that shows more may follow
		return
	}
	seat := t.seatOf(g, s)
	if role := t.seats[seat].role; g.by >= 0 && role >= 0 && !t.b.o.Roles[role].Runtime { // a guess may miss the program
		t.starts[g.by] = role
	}
	t.seatAt(g, seat, now)
}

// seatAt moves a goroutine to a seat, with its time up to now.
func (t *tracer) seatAt(g *traced, seat int32, now trace.Time) {
	if seat != g.seat {
		if g.created || g.seat >= 0 {
			t.seats[seat].created++
		}
		if role := t.seats[seat].role; role >= 0 && g.by >= 0 {
			t.roles[role].by[g.by]++
			g.by = -1
		}
		g.seat = seat
	}
	t.settle(g, now)
}

// settle gives the time up to now to the role of g.
func (t *tracer) settle(g *traced, now trace.Time) {
	t.seats[g.seat].times.add(&g.time, 1)
	if role := t.seats[g.seat].role; role >= 0 && now > g.open {
		t.roles[role].alive.add(g.open.Sub(t.first), now.Sub(t.first))
	}
	if g.seat == g.home {
		g.life += now.Sub(g.open)
		g.idle += time.Duration(g.time.Unknown)
	}
	g.time, g.open = Time{}, now
}

// seatOf returns the seat of a goroutine with a stack.
func (t *tracer) seatOf(g *traced, s *spot) int32 {
	role := s.role
	if role < 0 {
		role = s.host
	}
	switch {
	case s.own:
		return discard
	case g.seat > 0 && (s.deep || s.preempted || s.role < 0 && (s.node != Outside || t.b.o.Roles[t.seats[g.seat].role].Runtime)):
		return g.seat
	case role < 0:
		return discard
	case g.home >= 0 && t.seats[g.home].role == role:
		return g.home
	}
	first := g.home < 0 && s.role >= 0
	to := t.seatIn(role, first)
	if first {
		g.home = to
	}
	return to
}

// seatIn returns a seat of a role: one of its own, as long as there are any, or the shared one.
func (t *tracer) seatIn(role int32, own bool) int32 {
	r := &t.roles[role]
	to := &r.shared
	if own && r.seats < maxSeats {
		r.seats++
		to = new(int32)
	}
	if *to == 0 {
		*to = int32(len(t.seats))
		t.seats = append(t.seats, seat{role: role})
	}
	return *to
}

// How a wait ended.
type ending uint8

const (
	byPartner ending = iota
	byTimer
	byOutside // the network, in the end
	never     // it had not ended at the end of the trace
)

// endWait processes the end of a wait, or the end of the trace.
func (t *tracer) endWait(g *traced, event *trace.Event, d time.Duration, now trace.Time) {
	switch {
	case g.spot == nil || g.seat < 0:
		g.time.Unknown += float64(d)
		return
	case g.collect:
		g.time.Collect += float64(d)
		t.settle(g, now)
		return
	}
	ended, waker, by := never, (*spot)(nil), (*traced)(nil)
	if event != nil {
		ended, waker, by = t.endedBy(g, event)
	}
	if by != nil && by.seat < 0 && !waker.preempted {
		t.flush(by, waker, now) // its first stack
	}
	sleeper := t.port(g.seat, g.spot, side(g.spot, waker, ended))
	t.ports[sleeper].waited(d, ended)
	if ended == byPartner && by != nil && by.seat > 0 {
		t.wake(sleeper, t.port(by.seat, waker, side(waker, g.spot, byPartner)), d)
	}
	g.network = ended == byOutside && g.spot.role < 0
	if kind, role := t.kindOf(&t.ports[sleeper]), t.seats[g.seat].role; kind != Disk && kind != Outside && kind != Timer {
		if role >= 0 {
			t.roles[role].idle.add(g.since.Sub(t.first), now.Sub(t.first))
		}
		if g.seat == g.home {
			g.idle += d
		}
	}
	t.settle(g, now)
}

// endedBy returns how a wait ended, and what its waker did, if that is a goroutine.
func (t *tracer) endedBy(g *traced, event *trace.Event) (ended ending, waker *spot, by *traced) {
	s := g.spot
	switch id := event.Goroutine(); {
	case s.node == Outside:
		return byOutside, nil, nil
	case id == trace.NoGoroutine || event.Stack() == trace.NoStack:
		return byTimer, nil, nil // timers and the network wake without a goroutine
	default:
		waker, by = t.spot(event.Stack()), t.goroutines[id]
	}
	if waker.At.Function == "" {
		return byTimer, nil, nil // the collector, which had preempted it
	}
	if waker.Op == Other && s.node == Channel {
		waker = t.closerOf(waker)
	}
	switch {
	case waker.own, waker.context:
		return byTimer, nil, nil
	case s.Op == Acquire && waker.Op == Network: // a new connection
		return byOutside, waker, by
	case (s.library || s.role < 0) && waker.role < 0 && by != nil && by.network && s.node != Mutex && s.node != Limit:
		return byOutside, waker, by // goroutines of a client that read the answers
	}
	return byPartner, waker, by
}

// endCall processes the end of a system call, or the end of the trace.
func (t *tracer) endCall(g *traced, d time.Duration, now trace.Time) {
	s := g.spot
	if s == nil || g.seat < 0 || s.Op == Other { // C may compute
		g.time.Running += float64(d)
		return
	}
	disk, outside := s.node == Disk && (s.name == "sync" || d >= longCall), s.node == Outside && s.name != ""
	if !outside {
		g.time.System += float64(d)
	}
	switch {
	case disk || outside:
		t.ports[t.port(g.seat, s, sideAny)].waited(d, byOutside)
		if disk {
			g.time.Disk += float64(d)
		}
	case d >= longCall:
		t.away += d
	}
	t.settle(g, now)
}

// end processes the end of a goroutine or of the trace, and keeps its own share if it
// has lived long enough to say something about its role.
func (t *tracer) end(g *traced, now trace.Time) {
	if g.seat < 0 && g.guess != nil {
		t.seatAt(g, t.seatOf(g, g.guess), now)
	}
	if role, ok := t.starts[g.by]; g.seat < 0 && ok { // it only computed, like others of that line
		t.seatAt(g, t.seatIn(role, false), now)
	}
	if g.seat < 0 {
		g.seat = discard // nothing has shown what it is
	}
	t.settle(g, now)
	if g.home >= 0 && g.life >= now.Sub(t.first)/2 && len(t.shares) < maxPorts {
		t.shares = append(t.shares, share{g.home, g.life, g.life - g.idle})
	}
}

// close processes the end of the trace.
func (t *tracer) close() {
	for _, id := range slices.Sorted(maps.Keys(t.goroutines)) { // two readings of a trace are equal
		g := t.goroutines[id]
		t.leave(g, g.state, nil, t.last)
		t.end(g, t.last)
	}
}
