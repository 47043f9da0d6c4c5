package doctor

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// ExhaustedPool is the finding that goroutines wait for connections, objects or
// tokens which others like them hold.
const ExhaustedPool Kind = "exhausted pool"

const (
	// poolQueue is the smallest number of goroutines that wait for a pool: one
	// or two wait now and then in any pool of the right size.
	poolQueue = 3
	// poolWorst, poolUsual and poolBest are the parts of the gain if all of
	// the goroutines held one at the same time: twice to eight times the
	// objects gave 0.5 of it, as far as the downstream service and the cores
	// allow.
	poolWorst, poolUsual, poolBest = 0.35, 0.6, 1.1
)

var poolRules = []rule{{
	kind: ExhaustedPool, look: exhaustedPool, instead: []Kind{Downstream, RequestResponse, TransferCost},
	reason: "44 of 48 goroutines wait in Acquire for 4 connections, whose holders wait for a database: 32 " +
		"connections ×6.4, more slots ×1.0; 37 of 40 for a semaphore of 3: 24 slots ×8.0",
}}

// A heldPool is a channel whose waiters are of the same stage as those that hold
// what it carries.
type heldPool struct {
	o       *Operation
	holders int                    // goroutines that hold one
	at      *profile.GoroutineSite // where most of them wait
	sure    bool                   // not by the names of functions alone
}

// exhaustedPool needs no CPU shares: goroutine states show that the holders wait
// for something outside.
// Where the service leaves half of the cores to others, what the holders wait for
// has these: a client of a store with ten connections for 64 requests had 0.4, and
// ×1.29 with 64.
func exhaustedPool(f *facts) *Finding {
	g := f.capture.Goroutines
	if g == nil || !g.StatesKnown {
		return nil
	}
	busy := f.avail > 0 && f.cores > 0 && f.cores >= busyCores*f.reachable()
	if busy && f.cores > wireCores*float64(f.procs) {
		return nil
	}
	var most *heldPool
	for i := range f.operations {
		o := &f.operations[i]
		if p := f.poolAt(o); p != nil && (most == nil || deref(o.Waiting) > deref(most.o.Waiting)) {
			most = p
		}
	}
	if most == nil || busy && (!most.sure || most.holders < poolQueue) { // what the holders wait for has the other cores
		return nil
	}
	o, waiting := most.o, deref(most.o.Waiting)
	found := f.outside(o, most.at)
	found.Evidence, found.holders = nil, most.holders
	found.leads = f.light // CPU costs limit nothing then
	found.Text = fmt.Sprintf("Exhausted pool: %d goroutines wait in the %s, while %s hold what they wait for, most of them at %s.",
		waiting, o, format.Plural(most.holders, "other goroutine"), most.at.At)
	found.addEvidence(profile.KindGoroutineText, fmt.Sprintf("%d goroutines wait to acquire, and %d that were started by the same function wait elsewhere, %d of them in %s",
		waiting, most.holders, most.at.Count(), most.at.Site))
	if f.capture.CPU != nil {
		found.addEvidence(profile.KindCPU, fmt.Sprintf("only %s cores in use", format.Number(f.cores)))
	}
	if !most.sure {
		found.Confidence = Low
		found.decides(f, "whether the goroutines that wait are woken by those that release")
	}
	all := float64(waiting+most.holders) / float64(most.holders)
	if f.avail > 0 && f.cores > 0 {
		all = min(all, 1/f.used())
	}
	found.Remedies = []Remedy{
		{LargerPool, fmt.Sprintf("more connections, objects or tokens than the %d in use", most.holders),
			between(max(1, all*poolWorst), all*poolUsual, all*poolBest), "the goroutines that could hold one at the same time, and the idle cores"},
		{HoldShorter, fmt.Sprintf("acquire later and release earlier, so that less happens in between than the wait at %s", most.at.At), Range{}, ""},
	}
	found.RuledOut = []RuledOut{
		{Buffer, "more slots hold no more objects; where the capacity itself is the limit, that is a larger pool."},
		{Batch, "channels cost almost nothing here."},
	}
	return found
}

// poolAt returns the pool that goroutines wait for in an operation, or nil.
func (f *facts) poolAt(o *Operation) *heldPool {
	if deref(o.Waiting) < poolQueue || o.Op != profile.Send && o.Op != profile.Receive && o.Op != profile.Select || f.grows(o.site) {
		return nil
	}
	p := &heldPool{o: o}
	for i := range f.capture.Goroutines.Sites {
		s := &f.capture.Goroutines.Sites[i]
		if s.Site == o.site || s.Root == "" || !slices.Contains(o.roots, s.Root) || !outsideWait(*s) {
			continue
		}
		p.holders += s.Count()
		if p.at == nil || s.Count() > p.at.Count() {
			p.at = s
		}
	}
	if p.at == nil || p.holders*2 > deref(o.Waiting)*3 || p.holders < backedUp && f.cores >= downstreamCores {
		return nil // one that is outside at one moment may compute at others
	}
	use := f.purpose(o)
	switch named := acquires(o.Function); {
	case use.use == tokens:
		p.sure = true
	case use.use == values && len(f.pairs()) > 0, o.site.Caller.Function == "" && !sends(o):
		return nil // a goroutine of a pool of workers waits for jobs in its own loop
	case named:
		p.sure = use.use != values
	case !sends(o) || f.receivedElsewhere(o):
		return nil
	}
	return p
}

// receivedElsewhere reports whether goroutines of another stage wait, or wait
// outside: one of them may be the receiver.
func (f *facts) receivedElsewhere(o *Operation) bool {
	for _, s := range f.capture.Goroutines.Sites {
		if s.Root != "" && !slices.Contains(o.roots, s.Root) && !ofRuntime(s.Root) && s.Root != "main.main" &&
			!serving(s) && sameRepository(s.Root, o.Function) && s.Count() > 0 {
			return true
		}
	}
	return false
}

// outsideWait reports whether goroutines wait for something outside the
// process. Connections of a server that wait for requests do not.
func outsideWait(s profile.GoroutineSite) bool {
	switch {
	case s.Count() == 0, strings.HasPrefix(s.At.Function, "net/http.(*conn)"), strings.HasPrefix(s.At.Function, "net/http.(*connReader)"):
		return false
	case s.Op == profile.IO, s.Op == profile.Sleep:
		return true
	}
	return s.Op == profile.Select && strings.HasPrefix(s.At.Function, "net/http.") // the client waits for a response
}

// lockedPool adds the remedy to a finding about a mutex that goroutines wait for
// in the function that gives them a worker, while the workers of that package wait
// outside: the queue is for a worker. 32 goroutines that asked for 16 workers had
// ×3.9 with 64, and ×1.3 with a condition variable instead of a loop.
func (f *facts) lockedPool(found *Finding, q *profile.GoroutineSite) {
	if q == nil || !acquires(q.At.Function) || q.Count() < poolQueue {
		return
	}
	for i := range f.capture.Goroutines.Sites {
		s := &f.capture.Goroutines.Sites[i]
		if s.Root == q.Root || s.Count() < backedUp || !outsideWait(*s) || (profile.Frame{Function: s.Root}).Package() != q.At.Package() {
			continue
		}
		found.outside, found.holders = s, s.Count()
		found.addEvidence(profile.KindGoroutineText, fmt.Sprintf("meanwhile, %d of the goroutines of %s wait at %s", s.Count(), profile.Frame{Function: s.Root}, s.At))
		found.Remedies = []Remedy{{LargerPool, fmt.Sprintf("more workers than the %d that wait there; and wait for one in a sync.Cond or a channel, if the mutex is locked in a loop", s.Count()), Range{}, ""}}
		return
	}
}

// acquiring are names of functions that take something which the caller gives
// back.
var acquiring = regexp.MustCompile(`^([Tt]ry)?([Aa]cquire|[Bb]orrow|[Cc]heck_?[Oo]ut|[Ll]ease|[Rr]eserve|[Ee]nter|[Oo]btain|[Gg]rab|[Tt]ake|[Gg]et)([A-Z_0-9]|$)`)

// acquires reports whether a function takes an object of a pool, judging by its
// name.
func acquires(function string) bool {
	name := function[strings.LastIndexByte(function, '.')+1:]
	return acquiring.MatchString(name) || function == "database/sql.(*DB).conn"
}
