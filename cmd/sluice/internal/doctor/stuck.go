package doctor

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/observe"
)

// Goroutines that do not move. A wait is a blockage if it stands, and no goroutine that
// moves could end it:
//
//   - it stands if the same goroutine is at the same place in two dumps, or for minutes;
//   - goroutines move if they run, wait for the outside, or are not where they were in
//     the first dump;
//   - which goroutines could end a wait is not on their stacks: those with functions of
//     the same packages, or, of a lock that no goroutine got for seconds, with
//     functions of its owner. What holds a lock, a slot or a mailbox may wait itself.
//
// The collector proves it, and so does a process that died because all goroutines were
// asleep. A receive, a select or a condition is where a goroutine without work waits:
// neither its length nor a second dump makes a problem of it.

// A blockage is goroutines that wait for what may never come.
type blockage struct {
	Finding
	Probability float64 // that they wait forever, or for far too long
	Longest     time.Duration
	Row         *observe.Standing // the first of the cause
	Explains    int               // goroutines that wait for a lock because of it
	rank        int
}

// Kinds of blockages.
const (
	deadlock  = "deadlock"
	leak      = "leak"
	exhausted = "exhausted pool"
	idlePool  = "idle pool" // or a leak: nothing decides
)

const (
	// What the runtime says is proved; what two dumps say was right for three of four
	// programs with known bugs; and the rest is not worth advice.
	proved, likely, unlikely = 0.97, 0.75, 0.3
	// minute is the resolution of waits in a dump.
	minute = time.Minute
	// crowd is the number of goroutines at one place that is worth a word although
	// nothing is known to be wrong: fewer are in every service.
	crowd = 10
	// maxJudged bounds the rows that are compared with each other: a service has some
	// hundreds, and the largest come first.
	maxJudged = 1 << 10
	// longHold is longer than a lock is held by a goroutine that has a core at times.
	longHold = 2 * time.Second
	// grown is the part by which goroutines at one place increase between two dumps if
	// that is not chance.
	grown = 1.5
)

// rank is how unlikely it is that a goroutine waits for work in an operation. Wait groups
// wait for goroutines that wait for something else.
var rank = map[observe.Op]int{observe.Lock: 4, observe.Acquire: 3, observe.Send: 3, observe.Receive: 1, observe.Select: 1, observe.CondWait: 1}

// A stall is the state of stuck.
type stall struct {
	o      *observe.Observation
	dead   bool
	moving map[string]bool // packages and owners of functions with goroutines that move
	all    int             // rows of the program, other than the main goroutine's
	waits  map[observe.Op]int
	at     map[observe.Line]*spot
	places []*spot
	found  []blockage
}

// A spot is the rows with one operation at one line.
type spot struct {
	observe.Line
	owner   string          // of the lock
	again   bool            // they come from another function of that
	owners  map[string]bool // of the functions of the program on their stacks
	rows    []*observe.Standing
	count   int
	stand   int // of count, at the same place in both dumps, or for minutes
	leaked  int // of count, that nothing can wake, according to the runtime
	before  int
	longest time.Duration
	taken   bool // by a finding
}

// stuck returns what does not move, the most important first.
func stuck(o *observe.Observation) []blockage {
	s := &stall{o: o, dead: strings.Contains(o.Sources.Crash, "all goroutines are asleep"), moving: map[string]bool{}, waits: map[observe.Op]int{}, at: map[observe.Line]*spot{}}
	for i := range min(len(o.Stood), maxJudged) {
		s.add(&o.Stood[i])
	}
	// What explains others comes first: they are not findings of their own.
	slices.SortStableFunc(s.places, func(a, b *spot) int { return rank[b.Op] - rank[a.Op] })
	for _, p := range s.places {
		if p.Op == observe.Lock && !p.taken {
			s.lock(p)
		} else if !p.taken {
			s.wait(p)
		}
	}
	slices.SortStableFunc(s.found, func(a, b blockage) int {
		return cmp.Or(
			cmp.Compare(b.Probability, a.Probability),
			b.rank-a.rank,
			cmp.Compare(b.Longest, a.Longest),
			b.Count+b.Explains-a.Count-a.Explains)
	})
	return s.found
}

// add sorts a row in.
func (s *stall) add(r *observe.Standing) {
	if r.Moves || outward(r) || r.Same >= 0 && (r.Same < r.Before || r.Before == 0) {
		for _, name := range r.Around {
			s.moving[name] = true
		}
	}
	if !r.Main && len(r.Through) > 0 {
		s.all++
		s.waits[r.Op]++
	}
	if r.Moves || r.Forever && r.Op == observe.Select {
		return // a select without cases is meant to wait
	}
	key := observe.Line{Op: r.Op, At: r.At, In: r.In}
	p := s.at[key]
	if p == nil {
		p = &spot{Line: r.Line, owner: observe.Owner(r.At.Function), owners: map[string]bool{}}
		s.at[key], s.places = p, append(s.places, p)
	}
	for _, f := range r.Through {
		owner := observe.Owner(f.Function)
		p.owners[owner], p.again = true, p.again || owner == p.owner && f.Function != p.At.Function
	}
	p.rows = append(p.rows, r)
	p.count += r.Count
	p.leaked += r.Leaked
	p.before += max(0, r.Before)
	p.longest = max(p.longest, r.Longest)
	switch {
	case s.dead:
		p.leaked += r.Count
	case r.Same >= 0:
		p.stand += r.Same
	case r.Longest >= minute:
		p.stand += r.Count
	}
}

// outward reports whether goroutines wait inside a library, as for a response, other than
// for a slot or in a channel of this module.
func outward(r *observe.Standing) bool {
	return inLibrary(r.Line) && len(r.Through) > 0 && (r.Op == observe.Receive || r.Op == observe.Select || r.Op == observe.CondWait)
}

// near reports whether goroutines that move could end the waits at p.
func (s *stall) near(p *spot) bool {
	if o := s.o.Sources; p.Op == observe.Lock && p.stand == p.count && o.Apart >= longHold && o.Trace > 0 { // see model.moves
		return s.moving[p.owner]
	}
	return slices.ContainsFunc(p.rows, func(r *observe.Standing) bool {
		return slices.ContainsFunc(r.Around, func(name string) bool { return s.moving[name] })
	})
}

// certain returns the probability that goroutines at places wait for what does not come,
// because of what one of them waits for.
func (s *stall) certain(places ...*spot) float64 {
	stands, ours, long, near := false, false, false, false
	for _, p := range places {
		if p.leaked > 0 {
			return proved
		}
		stands, long, near = stands || p.stand > 0, long || p.longest >= minute, near || s.near(p)
		ours = ours || len(p.owners) > 0 // how goroutines of a library should wait is not known
	}
	if stands && ours && (long || !near) {
		return likely
	}
	return unlikely
}

// stands reports whether goroutines at p do not move.
func (p *spot) stands() bool { return p.stand+p.leaked > 0 }

// report adds a blockage: the goroutines at p, and those that wait because of them.
func (s *stall) report(kind, missing string, probability float64, p *spot, text string, explained ...*spot) {
	b := blockage{Probability: probability, Longest: p.longest, Row: p.rows[0], rank: rank[p.Op]}
	b.Finding = Finding{Kind: kind, Missing: missing, At: placeOf(p.Line), Count: p.count, Text: format.Clean(p.says() + text)}
	switch {
	case p.leaked > 0:
		b.Evidence = append(b.Evidence, Evidence{fmt.Sprintf("nothing can wake %d of them, according to the runtime", p.leaked), "dumps"})
	case p.stand > 0 && p.before > 0:
		b.Evidence = append(b.Evidence, Evidence{fmt.Sprintf("%d of them stood there in both dumps", p.stand), "dumps"})
	}
	p.taken = true
	for i, e := range explained {
		if e == nil || e == p {
			continue
		}
		e.taken = true
		if e.Op == observe.Lock {
			b.Explains += e.count
			b.rank = rank[observe.Lock] + 1
		}
		b.Longest = max(b.Longest, e.longest)
		if i < 3 {
			b.Evidence = append(b.Evidence, Evidence{format.Clean(e.says()), "dumps"})
		}
	}
	s.found = append(s.found, b)
}

// holder returns the first place whose goroutines hold what those at waiters wait for, and
// wait themselves, or nil.
func (s *stall) holder(waiters ...*spot) *spot {
	for _, q := range s.places {
		if q.stands() && !q.taken && slices.ContainsFunc(waiters, q.holds) {
			return q
		}
	}
	return nil
}

// holds reports whether goroutines at q hold what those at p wait for: a lock or a slot,
// judging from the functions that they are in; or a slot of a limit that is a channel,
// because they have passed its send or, in something that they call after it, the call of a
// function that sends.
func (q *spot) holds(p *spot) bool {
	return slices.ContainsFunc(q.rows, func(r *observe.Standing) bool {
		for i, f := range r.Through {
			passed := func(line observe.Frame) bool {
				return f.Function == line.Function && f.File == line.File && f.Line > line.Line
			}
			if p.Op == observe.Send && (passed(p.At) || i > 1 && passed(p.Caller)) {
				return true
			}
		}
		return q.Op != p.Op && slices.ContainsFunc(r.Holds, func(h observe.Hold) bool {
			return slices.ContainsFunc(p.rows, func(w *observe.Standing) bool { return w.Node == h.Node })
		})
	})
}

// lock judges goroutines that wait for a lock, with those that wait for the same one, or
// for each other's.
func (s *stall) lock(p *spot) {
	var waiters []*spot
	total := 0
	for _, q := range s.places {
		if q.Op == observe.Lock && q.stands() && p.stands() && !q.taken && !strings.Contains(q.In+p.In, "Once") &&
			(p.owner == q.owner || p.owners[q.owner] || q.owners[p.owner]) {
			waiters, total = append(waiters, q), total+q.count
		}
	}
	if len(waiters) == 0 {
		return
	}
	if h := s.holder(waiters...); h != nil {
		s.report(deadlock, missingAt(h), s.certain(append(slices.Clone(waiters), h)...), h,
			fmt.Sprintf(", most likely with a lock of %s: %s for it.", path.Base(p.owner), waiting(float64(total))), waiters...)
		return
	}
	first, missing, text := waiters[0], "unlock", ", and nothing on any stack holds it: a path without Unlock, or a goroutine that locks it twice."
	again := slices.IndexFunc(waiters, func(p *spot) bool { return p.again })
	switch {
	case crossed(waiters) && (again < 0 || waiters[again].In == "sync.(*Mutex).Lock"):
		missing, text = "lock order", ", and each may hold the lock that the other wants."
	case again >= 0:
		first = waiters[again]
		text = ", and the same goroutine is in another function of its owner further out: it may hold the lock already, and a second read lock waits for a writer between the two."
	}
	s.report(deadlock, missing, s.certain(waiters...), first, text, waiters...)
}

// crossed reports whether waiters may hold each other's locks: they wait at two lines of
// one function, or come from a method of another type.
func crossed(waiters []*spot) bool {
	return len(waiters) > 1 && slices.ContainsFunc(waiters, func(p *spot) bool {
		for owner := range p.owners {
			if owner != p.owner && strings.Contains(owner, ".(") {
				return true
			}
		}
		return p.At.Function == waiters[0].At.Function && p.At.Line != waiters[0].At.Line
	})
}

// wait judges a place where goroutines wait for anything but a lock.
func (s *stall) wait(p *spot) {
	kind, missing, probability := leak, missingAt(p), s.certain(p)
	if s.dead {
		kind = deadlock
	}
	var text string
	h := s.holder(p)
	switch {
	case h != nil:
		kind, missing = exhausted, "slot"
		if probability = s.certain(p, h); p.Op == observe.Send && p.generator() { // or a loop at rest
			probability = min(probability, unlikely)
		}
		text = ": what it waits for is held: " + h.says() + "."
	case p.Op == observe.Acquire:
		kind, text = exhausted, ": what holds them is not seen: most likely goroutines that wait here for a second one."
	case p.grows():
		text = fmt.Sprintf(", %d before: none of those has gone on.", p.before)
		if apart := s.o.Sources.Apart; p.Op == observe.Send || apart >= minute || apart > 0 && float64(p.count-p.before) >= crowd*apart.Seconds() {
			probability = max(probability, likely)
		} else if probability < proved {
			probability = unlikely // a pool grows with the load, too, and sessions come
		}
	case p.Op == observe.Send && slices.ContainsFunc(s.places, func(q *spot) bool {
		return q.Op == p.Op && q.owner != p.owner && p.owners[q.owner] && q.owners[p.owner]
	}):
		kind, text = deadlock, ": its receiver waits in turn to send to it."
	case p.Op == observe.Send && p.stand == p.count && s.only(p.Op) && s.all >= 3:
		// One or two may be generators at rest, but not all of a program.
		kind, probability, text = deadlock, max(probability, likely), ": so do all others of the program: none is left that could receive."
	case p.Op == observe.Send && probability < proved && p.generator():
		// One that hands out tokens or numbers waits as long without being asked.
		probability, text = unlikely, ": a generator at rest, or a sender without a receiver."
	case p.Op == observe.Send:
		text = ": no goroutine is seen that would receive."
	case probability == proved:
		text = ": nothing can end the wait."
	case p.stands() && p.stops() && p.Op != observe.Select && !p.rows[0].Main:
		text = ": what it waits for does not end."
	case p.stands() && p.Op == observe.GroupWait && s.only(p.Op) && !p.rows[0].Main:
		text = ", and no goroutine is left that could call Done."
	case p.count >= crowd && p.Op != observe.GroupWait:
		kind, missing, probability, text = idlePool, "", unlikely, ": an idle pool, or a leak: two captures show which."
		if p.before > 0 {
			text = fmt.Sprintf(", and %d before: an idle pool, if the load is the same.", p.before)
		}
	default:
		return
	}
	s.report(kind, missing, probability, p, text, h)
}

// generator reports whether the goroutines at p may be generators: they only send, or one
// does it in a type of its own, and they belong to the program as a whole or to a
// function that still runs.
func (p *spot) generator() bool {
	return !slices.ContainsFunc(p.rows, func(r *observe.Standing) bool {
		return r.Orphans > 0 || slices.ContainsFunc(r.Through, func(f observe.Frame) bool {
			own := f.Function == p.At.Function || p.count == 1 && observe.Owner(f.Function) == p.owner
			return !own && !strings.HasPrefix(f.Function, r.By.Function+".") // the closure of a go statement
		})
	})
}

// only reports whether all goroutines of the program but the main one wait in op or for a
// lock: none is left that could end the waits.
func (s *stall) only(op observe.Op) bool { return s.waits[op]+s.waits[observe.Lock] == s.all }

// grows reports whether the goroutines at p increased, and none left.
func (p *spot) grows() bool {
	return p.count-p.before >= crowd && float64(p.count) >= grown*float64(p.before) &&
		!slices.ContainsFunc(p.rows, func(r *observe.Standing) bool { return r.Before < 0 || r.Same >= 0 && r.Same < r.Before })
}

// stops reports whether the function at p ends something, judging from its name: it
// waits for the end, which is a close.
func (p *spot) stops() bool {
	function, _, _ := strings.Cut(p.At.Function, ".func")
	return slices.Contains([]string{"close", "stop", "shutdown", "join", "terminate"}, strings.ToLower(function[strings.LastIndexByte(function, '.')+1:]))
}

// ends are what would end waits.
var ends = map[observe.Op]string{
	observe.Send: "receiver", observe.Receive: "sender", observe.GroupWait: "done", observe.CondWait: "signal",
	observe.Lock: "unlock", observe.Acquire: "slot", observe.Select: "cancel", observe.Other: "close", // a coroutine
}

// missingAt returns what would end the waits at p.
func missingAt(p *spot) string {
	if p.Op == observe.Receive && p.stops() || len(p.owners) == 0 {
		return "close"
	}
	return ends[p.Op]
}

// says starts a sentence about the goroutines at p: "30 goroutines wait in send at
// main.run (main.go:30) for 5 minutes".
func (p *spot) says() string {
	text := waiting(float64(p.count)) + strings.Replace(" in "+at(p.Line), " in code at", " at", 1)
	if p.longest >= minute {
		text += " for " + format.Plural(int(p.longest/minute), "minute")
	}
	return text
}
