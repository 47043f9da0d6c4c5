package observe

import (
	"cmp"
	"fmt"
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
// except that what is made decides over the memory that it is made of. Channels and locks
// read the clock for a block profile only.
var clues = []clue{
	{Detector, "", words("__tsan racecall runtime.race __sanitizer")},
	{Asleep, "", words("runtime.kevent runtime.pthread_cond_ runtime.mach_semaphore")},
	{Profiling, "", words("runtime.blockevent runtime.saveblockevent runtime.mutexevent runtime.sigprof runtime.profilealloc runtime.mProf_ " +
		"runtime.(*profBuf) runtime.(*mLockProfile) runtime.trace runtime.cputicks")},
	{Foreign, "", words("runtime.cgocall runtime._ExternalCode")},
	{Collecting, "", words("runtime.gc runtime.bgsweep runtime.bgscavenge runtime.sweepone runtime.deductSweepCredit runtime.deductAssistCredit " +
		"runtime.(*sweepLocked) runtime.(*sweepLocker) runtime.(*mspan).sweep runtime.(*scavenge runtime.markroot runtime.scan " +
		"runtime.wbBufFlush runtime.wbZero runtime.wbMove runtime.bulkBarrier")},
	{Locking, "", words("runtime.adjustsudogs runtime.syncadjustsudogs")},
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

	// Things that are made to be used many times, and cost much more than their use.
	{Making, "compressor", words("compress/flate.NewWriter compress/flate.(*compressor).init compress/lzw.NewWriter " +
		"github.com/klauspost/compress/flate.NewWriter github.com/klauspost/compress/zstd.NewWriter github.com/andybalholm/brotli.NewWriter")},
	{Making, "decompressor", words("compress/flate.NewReader compress/gzip.NewReader compress/zlib.NewReader compress/lzw.NewReader " +
		"github.com/klauspost/compress/flate.NewReader github.com/klauspost/compress/gzip.NewReader github.com/klauspost/compress/zstd.NewReader")},
	{Making, "buffer", words("bufio.NewReader bufio.NewWriter")},
	{Making, "regular expression", words("regexp.compile regexp.Compile regexp.MustCompile")},
	{Making, "template", words("text/template.(*Template).Parse html/template.(*Template).Parse html/template.(*Template).escape")},
	{Making, "codec", words("encoding/gob.(*Encoder).sendTypeDescriptor encoding/gob.(*Decoder).getDecoderEnginePtr encoding/gob.(*Decoder).compileDec")},
	{Making, "cipher", words("crypto/aes.NewCipher crypto/cipher.NewGCM")},
	{Making, "random source", words("math/rand.NewSource math/rand.(*rngSource).Seed")},
	{Making, "location", words("time.LoadLocation")},
}

// parking are functions that a goroutine enters only to wait.
var parking = set("runtime.gopark runtime.goparkunlock runtime.acquireSudog runtime.releaseSudog")

// A spent stack is what a stack of a CPU profile is spent on.
type spent struct {
	what   Category
	makes  string
	parks  bool
	yields bool // of a goroutine that yields
}

func (o Op) channel() bool {
	return o == Send || o == Receive || o == Select || o == PollSend || o == PollReceive || o == Close
}

func anyPrefix(function string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(function, p) })
}

// spentOn returns what s is spent on. p is what it means.
func spentOn(s capture.Stack, p *placed) (out spent) {
	for _, f := range s[:p.at] {
		out.parks = out.parks || parking[f.Function]
		out.yields = out.yields || f.Function == "runtime.gosched_m"
		i := slices.IndexFunc(clues, func(c clue) bool { return anyPrefix(f.Function, c.prefixes) })
		if i < 0 {
			continue
		}
		c := &clues[i]
		if p.Op.channel() && (c.what == Allocating && c.makes == "" || c.what == Scheduling || c.what == Timers) {
			continue // a waiter's record, a waiter that yields, a timer's own channel
		}
		switch c.what {
		default:
			out.what, out.makes = cmp.Or(out.what, c.what), cmp.Or(out.makes, c.makes)
		case Timers, Allocating, Making:
			out.makes = cmp.Or(c.makes, out.makes)
			if out.what != Profiling && out.what != Detector && (out.what != Collecting || c.what == Making) {
				out.what = c.what
			}
		}
	}
	out.what = p.category(s, out.what)
	return out
}

// category decides between what the frames below the line say and what the line does.
func (p *placed) category(s capture.Stack, inner Category) Category {
	program := p.At.Function != ""
	switch {
	case p.own:
		return Profiling
	case inner != "" && (program || inner != SystemCalls):
		return inner
	case p.Op.channel():
		return Passing
	case p.node == Mutex, p.node == Condition, p.node == Group, p.node == Limit:
		return Locking
	case p.Op == Yield:
		return Scheduling
	case program:
		return OwnCode
	case len(s) > 0 && !strings.Contains(s[0].Function, "."):
		return Foreign
	}
	return Scheduling
}

// maxSpent bounds the rows of CPU time.
const maxSpent = 1 << 13

// cpu adds the rows of a CPU profile. Their cores add up to Cores.Used, without those that
// are asleep.
func (b *builder) cpu(p *capture.Profile) {
	type key struct {
		role int
		line Line
		what Category
		make string
	}
	o, rows := &b.o, index[key]{}
	o.Sources.CPU = p.Window
	by, all, narrow := map[Category]float64{}, 0.0, false
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
		all, by[on.what] = all+cores, by[on.what]+cores
		o.Sources.Samples += max(1, s.Count)
		narrow = narrow || slices.ContainsFunc(s.Stack, func(f capture.Frame) bool {
			return strings.HasSuffix(f.File, "_386.s") || strings.HasSuffix(f.File, "_arm.s")
		})
		role := -1
		if !placed.own && (placed.role.Function != "" || placed.At.Function != "" && levelOfFunction(placed.host) >= library) {
			role = b.role(placed)
		}
		if placed.own || placed.At.Function == "" {
			placed.Line = Line{}
		}
		if on.yields {
			placed.Op = Yield
		}
		i, _ := rowOf(rows, &o.Spent, key{role, placed.Line, on.what, on.makes}, maxSpent,
			Spend{Role: role, Line: placed.Line, What: on.what, Makes: on.makes})
		row := &o.Spent[i]
		row.Cores += cores
		row.Samples += max(1, s.Count)
		row.Parks = row.Parks || on.parks
	}
	b.splitSpent()
	o.Cores.Used += all - by[Asleep]
	share := func(part float64) string { return fmt.Sprintf("%.0f%%", 100*part/max(all, 1e-12)) }
	if by[Detector] > 0 {
		for i := range o.Spent { // without symbols, its own code has no names
			if s := &o.Spent[i]; s.What == Foreign && s.At.Function == "" {
				s.What = Detector
			}
		}
		o.artifact("race build", true, "Built with -race: the detector takes %s of the CPU time, and the rest is slower than it would be. Profile a build without it.", share(by[Detector]+by[Foreign]))
	}
	if by[Asleep] > 0 {
		o.artifact("macOS", true, "A profile of macOS counts threads that wait as CPU time: %s of it are waits (golang/go#57722). Profile on Linux.", share(by[Asleep]))
	}
	if narrow {
		o.artifact("32 bit", false, "A 32-bit build: operations on 64-bit numbers take several instructions, and costs differ from a 64-bit build.")
	}
}

// splitSpent shares the time of a function that runs at several places of a pipeline,
// which a CPU profile does not tell apart, as a trace has seen them run.
func (b *builder) splitSpent() {
	places, running := map[string][]int{}, map[string]float64{}
	for i, r := range b.o.Roles {
		places[r.Start.Function] = append(places[r.Start.Function], i)
		running[r.Start.Function] += r.Time.Running
	}
	for i, s := range b.o.Spent {
		if s.Role < 0 {
			continue
		}
		f := b.o.Roles[s.Role].Start.Function
		for _, role := range places[f] {
			part := s
			if part.Role = role; role == s.Role || running[f] == 0 {
				continue
			}
			part.Cores *= b.o.Roles[role].Time.Running / running[f]
			part.Samples = int64(float64(s.Samples) * part.Cores / s.Cores)
			b.o.Spent[i].Cores -= part.Cores
			b.o.Spent[i].Samples -= part.Samples
			b.o.Spent = append(b.o.Spent, part)
		}
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
	seconds := p.Window.Seconds()
	for _, s := range p.Samples {
		at := place(s.Stack)
		if at.own || at.At.Function == "" || s.Value < 0 || s.Count < 0 {
			continue
		}
		role, node := b.role(at), b.node(at)
		if role < 0 || node < 0 {
			continue
		}
		if w := &b.o.Waits[b.wait(role, node, at.Line)]; seconds > 0 {
			w.Known = true
			w.Mean += float64(s.Value) / 1e9 / seconds
			w.Rate += float64(s.Count) / seconds
		}
	}
}

// othersMatter is the part of the machine from which on other processes make figures
// wrong: with a quarter of the cores in other hands, a goroutine that wants one waits.
const othersMatter = 0.25

func (o *Observation) artifact(kind string, bars bool, text string, args ...any) {
	o.Artifacts = append(o.Artifacts, Artifact{Kind: kind, Text: fmt.Sprintf(text, args...), Bars: bars})
}

// artifacts adds what makes figures wrong beside the profile itself.
func (b *builder) artifacts(c *capture.Capture) {
	cores := &b.o.Cores
	if m := c.Machine; m != nil && m.CPUs > 0 && m.Busy > othersMatter*float64(m.CPUs) {
		b.o.artifact("other processes", false, "Other processes used %.1f of the %d CPUs: waits for a core are partly theirs. Observe again on a quiet machine.", m.Busy, m.CPUs)
	}
	if cores.Running > 0 && cores.Used > 0 && !slices.ContainsFunc(b.o.Artifacts, func(a Artifact) bool { return a.Bars }) {
		cores.Starved = max(0, 1-cores.Used/cores.Running)
	}
	rank := []string{"race build", "macOS", "truncated trace", "other processes", "32 bit"}
	slices.SortStableFunc(b.o.Artifacts, func(x, y Artifact) int { return slices.Index(rank, x.Kind) - slices.Index(rank, y.Kind) })
}
