package doctor

import (
	"fmt"
	"math"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// A goroutine that receives a value and writes it to a stream with a system call
// can write with one call all values that wait, if any do, or those that arrive
// within a moment, if many do. A datagram is a message of its own: a server that
// answers each query by itself has nothing to collect.

const (
	// writeShare is the smallest part of all CPU time in the system calls of the
	// goroutines that receive: a broker had 0.18 to 0.23 and gained ×1.46, the
	// members of two chats 0.74 and 0.76 and gained ×3.8.
	writeShare = 0.15
	// callTime is the time of a small write to a socket, in seconds: 4.8 µs were
	// measured, and more where it wakes the peer. rareWakeups is the number of
	// parks for each such call up to which values wait for their receivers: two
	// chats and a broker had 0.05 to 0.32, a multiplexer whose values each wake
	// its writer 1.
	callTime, rareWakeups = 5e-6, 0.35
	// fewParks is added to the parks in a short trace, which may have missed some.
	fewParks = 3
	// linger is the delay that a value may be given, in seconds, and lingerValues
	// the smallest number of values that arrive at a writer meanwhile: 4.6 did at a
	// multiplexer, which gained ×1.63 with this delay; 0.2 at a DNS server.
	linger, lingerValues = 100e-6, 2
	// streamed is the smallest part of the system calls in writes to streams.
	streamed = 0.60
	// wireCores is the largest part of the cores in use by one end of a connection
	// whose other end has the rest, wireShare the share of CPU time in its channels
	// up to which they are its smaller part, and wireCalls the smallest cost of its
	// system calls as a part of theirs. Clients of three protocols had 0.33 to 0.46,
	// 0.16 to 0.38 and 0.6 to 3.7, and gained ×0.94 to ×1.15 without a goroutine or
	// a channel in between; a relay that gained had 0.36 of the last.
	wireCores, wireShare, wireCalls = 0.50, 0.40, 0.50
	// fullCore is the part of a core from which a stage of one goroutine never
	// waits for values, and fullCalls the smallest part of its channels' cost in its
	// system calls where they are what its senders wait for: a log had 0.95 and 2.
	fullCore, fullCalls = 0.85, 1.2
	// callsWorst and callsBest are the parts of their system calls that remain:
	// a chat that wrote all messages in the channel as one used ×3.8 less CPU
	// time for each.
	callsWorst, callsBest = 0.50, 0.03
)

// A writer is a stage whose goroutines receive values and write them to streams.
type writer struct {
	root   string
	system float64 // CPU seconds in system calls
	in     *Operation
	parks  float64 // per second, of its receive
	from   profile.Kind
	gather float64 // values per writer that arrive within the linger; 0 if values wait anyway
	full   bool    // its one goroutine takes a core, and all goroutines that send are in the send
}

// writer returns the stage that can write several values with one call, or nil.
func (f *facts) writer() *writer {
	if f.channel == 0 || f.window == 0 || f.capture.CPU == nil {
		return nil
	}
	streams := f.streamWrites()
	for _, s := range f.capture.CPU.Stages {
		w := &writer{root: s.Root, system: s.System.Seconds()}
		w.in = f.costliest(func(o *Operation) bool { // a select that never meets a waiting sender has no direction
			n, _ := o.count()
			return (n > 0 || f.fills(s, o)) && len(o.roots) == 1 && o.roots[0] == s.Root && (receives(o) || o.Op == profile.Select && f.direction(o) != sending)
		})
		if w.system < writeShare*f.cpu || w.in == nil || w.in.Weight < smallSite || streams < streamed*w.system {
			continue
		}
		if w.full = f.fills(s, w.in); w.full {
			w.from = profile.KindGoroutine
			return w
		}
		if w.parks, w.from = f.parksPerSecond(w.in); w.from == "" {
			continue
		}
		if w.parks*callTime <= rareWakeups*w.system/f.window {
			return w
		}
		n, _ := f.users(w.in)
		if w.gather = linger * w.parks / float64(max(1, n)); w.gather >= lingerValues && w.from != profile.KindMetrics {
			return w
		}
	}
	return nil
}

// fills reports whether a stage of one goroutine takes a core, most of it for its
// system calls, while all goroutines that send to it are in the send: then it
// never waits for values.
func (f *facts) fills(s profile.CPUStage, in *Operation) bool {
	if n, counted := f.users(in); !counted || n != 1 || deref(in.Waiting) > 0 ||
		(s.Work+s.Channel).Seconds() < fullCore*f.window || s.System.Seconds() < fullCalls*s.Channel.Seconds() {
		return false
	}
	_, other := f.otherEnds(in)
	for _, o := range other {
		all, counted := f.users(o)
		if there, _ := o.count(); !counted || there < max(backedUp, all) || !sends(o) && f.direction(o) != sending {
			return false
		}
	}
	return len(other) > 0
}

// fullerCalls returns the throughput of a writer that takes a core, if its system
// calls write several values: its senders have the other cores.
func (f *facts) fullerCalls(w *writer) Range {
	busy := 0.0
	for _, s := range f.capture.CPU.Stages {
		if s.Root == w.root {
			busy += (s.Work + s.Channel).Seconds()
		}
	}
	low, high := busy/(busy-w.system*(1-callsWorst)), busy/(busy-w.system*(1-callsBest))
	return between(low, math.Sqrt(low*high), high)
}

// overWire reports whether the service is one end of connections over which its
// values go with system calls, and the other end has the cores that it does not
// use: then a channel less on its way makes no value faster.
func (f *facts) overWire() bool {
	if f.light || f.isStarved() && !f.squeezed || f.procs == 0 || f.channel == 0 || f.capture.CPU == nil || f.cores > wireCores*float64(f.procs) || f.channelCPU() >= wireShare {
		return false
	}
	spent := f.streamWrites()
	for _, u := range f.capture.CPU.Users {
		if u.Function == "net.(*netFD).Read" {
			spent += u.All.Seconds()
		}
	}
	return spent >= wireCalls*f.channelCPU()*f.cpu
}

// streamWrites returns the CPU seconds of writes to streams of package net, and to
// files.
func (f *facts) streamWrites() float64 {
	spent := 0.0
	for _, u := range f.capture.CPU.Users {
		switch u.Function {
		case "net.(*netFD).Write", "net.(*netFD).writeBuffers", "os.(*File).Write":
			spent += u.All.Seconds()
		}
	}
	return spent
}

// parksPerSecond returns how often goroutines park in an operation, and what shows
// it, or "". The wake-ups of the whole service are an upper bound.
func (f *facts) parksPerSecond(o *Operation) (rate float64, from profile.Kind) {
	count := func(t *profile.Trace) (parks float64) {
		for _, s := range t.Sites {
			if s.At == o.site.At {
				parks += float64(s.Parks)
			}
		}
		return parks
	}
	if t := f.capture.Trace; t != nil && t.Window > 0 {
		return count(t) / t.Window.Seconds(), profile.KindTrace
	}
	if t := f.capture.Glimpse; t != nil && t.Window > 0 {
		return (count(t) + fewParks) / t.Window.Seconds(), profile.KindGlimpse
	}
	if f.wakeups != nil {
		return *f.wakeups, f.wakeupsFrom
	}
	return 0, ""
}

// writeSeveral adds the remedy of larger calls to a finding about system calls.
func (f *facts) writeSeveral(found *Finding) {
	w := f.writer()
	if w == nil {
		return
	}
	found.At = &w.in.Place
	found.addEvidence(profile.KindCPU, fmt.Sprintf("%s of CPU time is in system calls of the goroutines that receive in the %s", format.Percent(w.system/f.cpu), w.in))
	how := "receive all values that are in the channel, and write them with one call (net.Buffers, or a bufio.Writer that is " +
		"flushed when the channel is empty), if several may share a message"
	worst := callsWorst
	switch {
	case w.full:
		found.addEvidence(w.from, "all goroutines that send to it are in the send: several values wait in the channel")
	case w.gather == 0:
		found.addEvidence(w.from, fmt.Sprintf("they wait for values at most %s times per second, fewer than there are calls: several values wait in the channel", format.Count(w.parks)))
	default:
		worst = max(worst, 1/w.gather)
		found.addEvidence(w.from, fmt.Sprintf("they wait for nearly every value, and %s values arrive at each of them in %s", format.Number(w.gather), format.Seconds(linger)))
		how = fmt.Sprintf("collect the values that arrive within %s or less, and write them with one call (a bufio.Writer and a timer, or batch.NewSender with that linger): "+
			"each value may be late by that time, because no more than one waits in the channel now", format.Seconds(linger))
	}
	now := f.load(0)
	engaged := now.own + now.channels
	l := load{channels: min(engaged, w.system/f.cpu*f.loadUnit())}
	l.own = engaged - l.channels
	l.gone = coldWork * l.own // each call has work of the program around it
	l.sched = l.gone
	if w.full {
		found.Remedies = append(found.Remedies, Remedy{Batch, how, f.fullerCalls(w), "the system calls' part of the core that the writer takes"})
		return
	}
	of := *f
	of.avail = engaged // a connection is no faster for more cores
	found.Remedies = append(found.Remedies, Remedy{Batch, how, of.gain(l, stay{worst, callsBest}, w.root), byLoad})
}
