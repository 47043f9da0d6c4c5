package observe

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/capture"
)

// A clue assigns stacks to a category by the beginnings of a function's name.
type clue struct {
	what     Category
	makes    string
	prefixes []string
}

// clues are tried on each frame below the program's line; the innermost match decides,
// except that a timer or a context decides over what it is made of. Channels and locks
// read the clock for a block profile only.
var clues = []clue{
	{Profiling, "", words("runtime.blockevent runtime.saveblockevent runtime.mutexevent runtime.sigprof runtime.profilealloc runtime.mProf_ " +
		"runtime.(*profBuf) runtime.(*mLockProfile) runtime.trace runtime.cputicks")},
	{Foreign, "", words("runtime.kevent runtime.pthread_cond_wait runtime.pthread_cond_timedwait runtime.mach_semaphore runtime.cgocall runtime._ExternalCode")},
	{Collecting, "", words("runtime.gc runtime.bgsweep runtime.bgscavenge runtime.sweepone runtime.deductSweepCredit runtime.deductAssistCredit " +
		"runtime.(*sweepLocked) runtime.(*sweepLocker) runtime.(*mspan).sweep runtime.(*scavenge runtime.markroot runtime.scan " +
		"runtime.wbBufFlush runtime.wbZero runtime.wbMove runtime.bulkBarrier")},
	{Locking, StackCopy, words("runtime.adjustsudogs runtime.syncadjustsudogs")},
	{Allocating, "slice", words("runtime.makeslice runtime.growslice")},
	{Allocating, "channel", words("runtime.makechan")},
	{Allocating, "map", words("runtime.makemap internal/runtime/maps.NewMap internal/runtime/maps.(*table).grow internal/runtime/maps.(*table).rehash")},
	{Allocating, "", words("runtime.malloc runtime.newobject runtime.newarray")},
	{Scheduling, "", words("runtime.(*timers).check runtime.(*timers).wakeTime runtime.Gosched runtime.goexit0 time.Sleep")},
	{Scheduling, "goroutine", words("runtime.newproc")},
	{Timers, "timer", words("time.NewTimer time.NewTicker time.After time.newTimer")}, // and AfterFunc
	{Timers, "context", words("context.With context.(* context.propagateCancel")},
	{Timers, "", words("time.(*Timer) time.(*Ticker) time.resetTimer time.stopTimer time.sendTime time.goFunc runtime.(*timer runtime.runtimer")},
	{SystemCalls, "", words("syscall. internal/runtime/syscall internal/poll. runtime.entersyscall runtime.exitsyscall runtime.reentersyscall runtime.netpoll")},
}

// onThread are the categories of stacks without a line of the program, by frames of
// threads between goroutines.
var onThread = set("runtime.park_m runtime.schedule runtime.findRunnable runtime.goexit0 runtime.goschedImpl runtime.gosched_m runtime.gopreempt_m " +
	"runtime.sysmon runtime.mstart runtime.mstart0 runtime.mstart1 runtime.mcall runtime.startm runtime.stopm runtime.wakep runtime.exitsyscall0 runtime.retake")

// channelCode are the functions in which a channel operation spends its own time: a lock
// directly below one of them is the channel's.
var channelCode = set("runtime.chansend runtime.chansend1 runtime.chanrecv runtime.chanrecv1 runtime.chanrecv2 runtime.send runtime.recv runtime.selectgo " +
	"runtime.sellock runtime.selunlock runtime.selectnbsend runtime.selectnbrecv runtime.closechan runtime.chanparkcommit runtime.selparkcommit")

var runtimeLocks = set("runtime.lock runtime.lockWithRank runtime.lock2 runtime.unlock runtime.unlockWithRank runtime.unlock2")

// parking are functions that a goroutine enters only to wait.
var parking = set("runtime.gopark runtime.goparkunlock runtime.acquireSudog runtime.releaseSudog")

// A spent stack is what a stack of a CPU profile is spent on.
type spent struct {
	what      Category
	makes     string
	parks     bool
	afterPark bool // the thread looks for work after a goroutine has parked
	yields    bool // of a goroutine that yields
	detector  bool
	darwin    bool
	narrow    bool // of a 32-bit processor
}

func (o Op) channel() bool {
	return o == Send || o == Receive || o == Select || o == PollSend || o == PollReceive || o == Close
}

func anyPrefix(function string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(function, p) })
}

// detectors are the functions of the race detector and of other sanitizers.
var detectors = words("__tsan racecall runtime.race __sanitizer")

// spentOn returns what s is spent on. p is what it means.
func spentOn(s capture.Stack, p *placed) (out spent) {
	s = s[:min(len(s), maxFrames)]
	below := s[:p.at]
	for i, f := range s {
		name := f.Function
		out.detector = out.detector || anyPrefix(name, detectors)
		out.darwin = out.darwin || i == 0 && (name == "runtime.kevent" || strings.HasPrefix(name, "runtime.pthread_cond_"))
		out.afterPark = out.afterPark || name == "runtime.park_m"
		out.yields = out.yields || name == "runtime.gosched_m"
		out.narrow = out.narrow || strings.HasSuffix(f.File, "_386.s") || strings.HasSuffix(f.File, "_arm.s")
	}
	inner := Category("")
	for _, f := range below {
		out.parks = out.parks || parking[f.Function]
		i := slices.IndexFunc(clues, func(c clue) bool { return anyPrefix(f.Function, c.prefixes) })
		if i < 0 {
			continue
		}
		c := &clues[i]
		if p.Op.channel() && (c.what == Allocating && c.makes == "" || c.what == Scheduling || c.what == Timers) {
			continue // a waiter's record, a waiter that yields, a timer's own channel
		}
		if out.makes = cmp.Or(out.makes, c.makes); c.what == Timers {
			out.makes = cmp.Or(c.makes, out.makes)
		}
		if inner == "" || c.what == Timers && inner != Profiling && inner != Collecting {
			inner = c.what
		}
	}
	if out.what = p.category(s, below, inner); out.detector {
		out.what = Detector
	}
	return out
}

// category decides between what the frames below the line say and what the line does.
func (p *placed) category(s, below capture.Stack, inner Category) Category {
	program := p.At.Function != ""
	switch {
	case p.own:
		return Profiling
	case inner != "" && (program || inner != SystemCalls):
		return inner
	case p.Op.channel() && p.inChannelLock(below):
		return ChannelLock
	case p.Op.channel():
		return Passing
	case p.node == Mutex, p.node == Condition, p.node == Group, p.node == Limit:
		return Locking
	case p.Op == Yield:
		return Scheduling
	case program:
		return OwnCode
	}
	onGo := slices.ContainsFunc(s, func(f capture.Frame) bool { return onThread[f.Function] })
	if !onGo && len(s) > 0 && !strings.Contains(s[0].Function, ".") {
		return Foreign
	}
	return Scheduling
}

// inChannelLock reports whether below, the frames in a channel operation, is in the lock
// of that channel. A lock further down, such as the scheduler's in a wake-up, is not.
func (p *placed) inChannelLock(below capture.Stack) bool {
	for i, f := range below {
		switch function := plain(f.Function); {
		case strings.HasPrefix(function, Module+"/internal/spin."):
			if strings.Contains(function, "Lock).") || strings.Contains(function, "(*Gate).") {
				return true
			}
		case strings.HasSuffix(function, "segqueue.(*side).lock"), strings.HasSuffix(function, "segqueue.(*side).lockTaken"):
			return true
		case channelCode[function] && !strings.HasPrefix(p.In, "sluice."):
			return i > 0 && runtimeLocks[below[i-1].Function]
		}
	}
	return false
}

// maxSpent bounds the rows of CPU time.
const maxSpent = 1 << 13

// cpu adds the rows of a CPU profile. Their cores add up to Cores.Used, waits that macOS
// counts aside.
func (b *builder) cpu(p *capture.Profile) {
	type key struct {
		role int
		line Line
		what Category
		make string
	}
	o, rows := &b.o, index[key]{}
	o.Sources.CPU = p.Window
	after, detector, darwin, narrow := 0.0, 0.0, 0.0, false
	for _, s := range p.Samples {
		if s.Value <= 0 {
			continue
		}
		placed := place(s.Stack)
		on := spentOn(s.Stack, &placed)
		cores := 0.0
		if p.Window > 0 {
			cores = float64(s.Value) / float64(p.Window)
		}
		o.Sources.Samples += max(1, s.Count)
		if on.detector {
			detector += cores
		}
		if on.darwin {
			darwin += cores
		} else {
			o.Cores.Used += cores
		}
		narrow = narrow || on.narrow
		if placed.Op == Select {
			b.passed(placed.Line, s.Stack[:placed.at])
		}
		role := -1
		if !placed.own && (placed.role.Function != "" || placed.At.Function != "" && levelOfFunction(placed.host) >= library) {
			role = b.role(placed)
		} else if on.afterPark && on.what == Scheduling {
			after += cores
		}
		if placed.own || placed.At.Function == "" {
			placed.Line = Line{}
		}
		if on.yields {
			placed.Op = Yield
		}
		i, added := rows.of(key{role, placed.Line, on.what, on.makes}, maxSpent)
		if added {
			o.Spent = append(o.Spent, Spend{Role: role, Line: placed.Line, What: on.what, Makes: on.makes})
		}
		row := &o.Spent[i]
		row.Cores += cores
		row.Samples += max(1, s.Count)
		row.Parks = row.Parks || on.parks
	}
	b.splitSpent()
	b.shareParks(after)
	if detector > 0 {
		for i := range o.Spent { // without symbols, its own code has no names
			if s := &o.Spent[i]; s.What == Foreign && s.At.Function == "" {
				s.What = Detector
				detector += s.Cores
			}
		}
		b.artifact("race build", "Built with -race: the detector takes %s of the CPU time, and the rest is slower than it would be. Profile a build without it.", detector)
	}
	if darwin > 0 {
		b.artifact("macOS", "A profile of macOS counts threads that wait as CPU time: %s of it are waits (golang/go#57722). Profile on Linux.", darwin)
	}
	if narrow {
		o.Artifacts = append(o.Artifacts, Artifact{Kind: "32 bit", Text: "A 32-bit build: operations on 64-bit numbers take several instructions, and costs differ from a 64-bit build."})
	}
}

// passes counts how often a CPU profile has seen a select pass a value to a receiver that
// waited, and take one from a sender that waited.
type passes struct{ gave, took int }

func (b *builder) passed(l Line, below capture.Stack) {
	p := b.passes[l]
	for _, f := range below {
		switch f.Function {
		case "runtime.send":
			p.gave++
		case "runtime.recv":
			p.took++
		}
	}
	b.passes[l] = p
}

// directSelects finds which of two selects sends where one wakes the other: the trace
// shows that only if one of the two is not a select.
func (b *builder) directSelects() {
	for i := range b.o.Wakes {
		k := &b.o.Wakes[i]
		p := b.passes[k.By]
		switch { // four to one leaves room for a select that does both
		case k.By.Op != Select || b.o.Waits[k.Wait].Op != Select:
		case p.took > 4*p.gave:
			k.By.Op = Receive
		case p.gave > 4*p.took:
			k.By.Op = Send
		}
	}
}

// artifact adds an artifact that takes part of the CPU time.
func (b *builder) artifact(kind, text string, cores float64) {
	all := 0.0
	for _, s := range b.o.Spent {
		all += s.Cores
	}
	share := "part"
	if all > 0 {
		share = fmt.Sprintf("%.0f%%", 100*cores/all)
	}
	b.o.Artifacts = append(b.o.Artifacts, Artifact{Kind: kind, Text: fmt.Sprintf(text, share), Bars: true})
}

// splitSpent shares the time of a function that runs at several places of a pipeline,
// which a CPU profile does not tell apart, as a trace has seen them run.
func (b *builder) splitSpent() {
	running := map[string]map[int]float64{}
	for i, r := range b.o.Roles {
		if running[r.Start.Function] == nil {
			running[r.Start.Function] = map[int]float64{}
		}
		running[r.Start.Function][i] = r.Time.Running
	}
	for i := range b.o.Spent {
		if s := &b.o.Spent[i]; s.Role >= 0 {
			b.share(i, s.Cores, *s, running[b.o.Roles[s.Role].Start.Function])
		}
	}
}

// shareParks gives the time for which threads look for work after a goroutine has parked
// to the roles that park, where a trace has counted how often each does.
func (b *builder) shareParks(cores float64) {
	parks := map[int]float64{}
	for _, w := range b.o.Waits {
		parks[w.Role] += w.Rate
	}
	i := slices.IndexFunc(b.o.Spent, func(s Spend) bool {
		return s.Role == -1 && s.What == Scheduling && s.Op == Other && s.At.Function == ""
	})
	if i >= 0 && cores > 0 {
		b.share(i, min(cores, b.o.Spent[i].Cores), Spend{What: Scheduling, Parks: true}, parks)
	}
}

// share moves cores of the row at i to rows like part, one for each role, in proportion.
func (b *builder) share(i int, cores float64, part Spend, by map[int]float64) {
	all, from := 0.0, b.o.Spent[i]
	roles := slices.Sorted(maps.Keys(by))
	for _, role := range roles {
		all += by[role]
	}
	if all <= 0 || from.Cores <= 0 || len(roles) == 1 && roles[0] == from.Role {
		return
	}
	for _, role := range roles {
		part.Role, part.Cores = role, cores*by[role]/all
		part.Samples = int64(float64(from.Samples)*part.Cores/from.Cores + 0.5)
		part.Samples = min(part.Samples, b.o.Spent[i].Samples)
		if role == from.Role {
			continue
		}
		b.o.Spent[i].Cores -= part.Cores
		b.o.Spent[i].Samples -= part.Samples
		b.o.Spent = append(b.o.Spent, part)
	}
}

// contentions adds the waits of a block profile or, without one, of a mutex profile, which
// has the same waits for locks at the lines that ended them. Both know no wake-ups. With a
// trace they would be counted twice.
func (b *builder) contentions(c *capture.Capture, traced bool) {
	p := cmp.Or(c.Block, c.Mutex)
	if traced || p == nil {
		return
	}
	type key struct {
		role, node int
		line       Line
	}
	rows, seconds := index[key]{}, p.Window.Seconds()
	for _, s := range p.Samples {
		placed := place(s.Stack)
		if placed.own || placed.At.Function == "" || placed.node == "" || s.Value < 0 || s.Count < 0 || runtimeLock(s.Stack) {
			continue
		}
		k := key{b.role(placed), b.node(placed), placed.Line}
		if k.role < 0 || k.node < 0 {
			continue
		}
		i, added := rows.of(k, maxPorts)
		if added {
			b.o.Waits = append(b.o.Waits, Wait{Role: k.role, Node: k.node, Line: k.line, Known: seconds > 0})
		}
		if seconds > 0 {
			b.o.Waits[i].Mean += float64(s.Value) / 1e9 / seconds
			b.o.Waits[i].Rate += float64(s.Count) / seconds
		}
	}
}

// runtimeLock reports whether a stack of a mutex profile ends in a lock of the runtime
// that is not a channel's.
func runtimeLock(s capture.Stack) bool {
	return len(s) > 1 && runtimeLocks[s[0].Function] && !channelCode[s[1].Function]
}

// othersMatter is the part of the machine from which on other processes make figures
// wrong: with a quarter of the cores in other hands, a goroutine that wants one waits.
const othersMatter = 0.25

// artifacts adds what makes figures wrong beside the profile itself.
func (b *builder) artifacts(c *capture.Capture) {
	cores := &b.o.Cores
	if m := c.Machine; m != nil && m.CPUs > 0 && m.Busy > othersMatter*float64(m.CPUs) {
		b.o.Artifacts = append(b.o.Artifacts, Artifact{Kind: "other processes", Text: fmt.Sprintf(
			"Other processes used %.1f of the %d CPUs: waits for a core are partly theirs. Observe again on a quiet machine.", m.Busy, m.CPUs)})
	}
	if cores.Running > 0 && cores.Used > 0 && !slices.ContainsFunc(b.o.Artifacts, func(a Artifact) bool { return a.Bars }) {
		cores.Starved = max(0, 1-cores.Used/cores.Running)
	}
	rank := map[string]int{"race build": 0, "macOS": 1, "truncated trace": 2, "other processes": 3, "32 bit": 4}
	slices.SortStableFunc(b.o.Artifacts, func(x, y Artifact) int { return cmp.Compare(rank[x.Kind], rank[y.Kind]) })
}
