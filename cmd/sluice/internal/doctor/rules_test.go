package doctor

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// TestRules: each kind is found in a service that has it, with its first remedy
// and a range that includes the measured gain; and not in a similar service
// that lacks one sign.
func TestRules(t *testing.T) {
	poll := at(profile.PollReceive, "poll")
	acquire, release := at(profile.Send, "book"), at(profile.Receive, "book")
	write, read := at(profile.Select, "write"), at(profile.Select, "read")
	with := func(base []part, more ...part) []part { return append(slices.Clone(base), more...) }
	pool := goroutinesAt(in(send, 1, 1), in(receive, 8, 5))
	many := goroutinesAt(in(choose, 1, 0), in(send, 32, 0))
	selects := cpu(1.3, shares{profile.ChannelWork: 0.7, profile.ChannelLock: 0.29, profile.UserCode: 0.01},
		on{choose, 0.89, 0.2, 0}, on{send, 0.1, 0.09, 0})
	shared := cpu(1.6, shares{profile.ChannelWork: 0.25, profile.ChannelLock: 0.7, profile.UserCode: 0.05}, on{write, 0.5, 0.4, 0}, on{read, 0.45, 0.3, 0})
	pumped := cpu(1.1, shares{profile.ChannelWork: 0.3, profile.ChannelLock: 0.17, profile.AfterPark: 0.2, profile.UserCode: 0.33},
		on{choose, 0.33, 0.1, 0.1}, on{send, 0.07, 0.03, 0.03}, on{receive, 0.07, 0.04, 0.03})
	asLock := cpu(1.1, shares{profile.ChannelWork: 0.23, profile.ChannelLock: 0.06, profile.AfterPark: 0.29, profile.UserCode: 0.42},
		on{acquire, 0.1, 0.01, 0}, on{release, 0.19, 0.05, 0.1})
	turns := cpu(1.4, shares{profile.ChannelWork: 0.05, profile.AfterPark: 0.03, profile.UserCode: 0.92}, on{send, 0.03, 0, 0.01}, on{receive, 0.02, 0, 0.01})
	computing := cpu(1.05, shares{profile.UserCode: 0.99, profile.ChannelWork: 0.01}, on{send, 0.01, 0, 0})
	encoder := staged(stagePart{"(*Bus).Put", 8, 0.02, 0.01}, stagePart{"consume", 1, 0.97, 0})
	future := cpu(1, shares{profile.ChannelWork: 0.13, profile.ChannelLock: 0.07, profile.AfterPark: 0.11, profile.Allocating: 0.15, profile.Scheduling: 0.25, profile.UserCode: 0.29},
		on{send, 0.1, 0.04, 0.05}, on{receive, 0.1, 0.03, 0})
	ask, answer := at(profile.Send, "ask"), at(profile.Receive, "ask")
	serve, reply := at(profile.Range, "serve"), at(profile.Send, "serve")
	answer.At.Line, reply.At.Line = answer.At.Line+1, reply.At.Line+1
	asking := cpu(1.05, shares{profile.ChannelWork: 0.28, profile.ChannelLock: 0.1, profile.AfterPark: 0.38, profile.UserCode: 0.24},
		on{answer, 0.11, 0.02, 0.08}, on{serve, 0.1, 0.03, 0.06}, on{ask, 0.1, 0.02, 0.01}, on{reply, 0.07, 0.02, 0.01})
	asked := goroutinesAt(in(ask, 10, 5), in(reply, 1, 1))
	served := func(c *profile.Capture) {
		all := time.Duration(0.28 * float64(c.CPU.Total)) // 0.11 of it its own work
		c.CPU.Users = append(c.CPU.Users, profile.UserTime{Function: reply.At.Function, Self: all / 6, All: all})
	}
	waiting := cpu(0.03, shares{profile.UserCode: 0.5, profile.SystemCalls: 0.5})
	for _, test := range []struct {
		kind     Kind
		parts    []part
		verdict  Verdict
		remedy   RemedyName
		measured float64 // 0 if not measured
		not      RemedyName
		without  []part // a similar service that lacks one sign
	}{
		{LockContention, hotService, Yes, Batch, 16.3, Buffer, pipelineService},
		{TransferCost, pipelineService, Yes, Buffer, 0, Shard, hotService},
		{TinyJobs, with(pipelineService, pool), Yes, Buffer, 0, MoreReceivers, pipelineService},
		{Lockstep, []part{turns, metrics(0, 60_000), goroutinesAt(in(send, 1, 1), in(receive, 1, 1))}, Yes, Buffer, 1.48, LowerGOMAXPROCS,
			[]part{turns, metrics(0, 600), goroutinesAt(in(send, 1, 1), in(receive, 1, 1))}},
		{SharedDone, []part{shared, metrics(0.2, 0), goroutinesAt(in(write, 8, 5), in(read, 8, 1))}, Yes, SeparateDone, 3.3, Shard,
			[]part{shared, metrics(0, 0), goroutinesAt(in(write, 1, 0))}},
		{UsedAsLock, []part{asLock, goroutinesAt(in(acquire, 15, 14))}, Yes, Mutex, 3.6, Batch,
			[]part{asLock, goroutinesAt(in(acquire, 15, 14), in(release, 9, 9))}},
		{RequestResponse, []part{asking, asked, served}, Yes, Mutex, 1.68, Buffer,
			[]part{asking, asked, served, woke(profile.Pair{Waker: ask, Sleeper: reply, Count: 1000})}},
		{ChannelPerValue, []part{future, goroutinesAt(in(receive, 8, 3)), making(0.06, "consume")}, Yes, Batch, 5.5, Buffer, []part{future, making(0.06, "elsewhere")}},
		{RequestResponse, []part{asking, asked, served, making(0.06, "ask")}, Yes, Mutex, 1.68, Buffer, []part{future, making(0.06, "consume")}},
		{LargeSelect, []part{selects, many}, Yes, MergeChannels, 30, Buffer, []part{shared, metrics(0.2, 0), goroutinesAt(in(write, 8, 5), in(read, 8, 1))}},
		{Pump, []part{pumped, goroutinesAt(in(choose, 1, 0))}, Yes, Elastic, 3.5, Shard, []part{selects, many}},
		{Polling, []part{cpu(1.9, shares{profile.ChannelWork: 0.36, profile.UserCode: 0.64}, on{poll, 0.36, 0, 0})}, Yes, Block, 1.98, Buffer,
			[]part{cpu(1.9, shares{profile.ChannelWork: 0.05, profile.UserCode: 0.95}, on{poll, 0.05, 0, 0})}},
		{SlowStage, []part{computing, goroutinesAt(in(send, 8, 6)), encoder}, No, MoreReceivers, 1.99, Buffer,
			[]part{computing, goroutinesAt(in(send, 8, 6)), staged(stagePart{"(*Bus).Put", 8, 0.5, 0.01}, stagePart{"consume", 1, 0.49, 0})}},
		{Downstream, []part{waiting, goroutinesAt(in(send, 4, 4), in(sink, 1, 1))}, No, MoreReceivers, 3.75, Buffer,
			[]part{waiting, goroutinesAt(in(receive, 4, 4), in(sink, 1, 1))}},
		{GarbageCollection, []part{cpu(1.7, shares{profile.Collecting: 0.6, profile.Allocating: 0.27, profile.ChannelWork: 0.01, profile.UserCode: 0.12}, on{send, 0.01, 0, 0}),
			metrics(0.001, 50_000), goroutinesAt(in(send, 1, 1), in(receive, 4, 4))}, No, "", 0, Buffer, pipelineService},
		{CPUBound, []part{cpu(1.99, shares{profile.UserCode: 0.99, profile.ChannelWork: 0.01}, on{send, 0.01, 0, 0})}, No, "", 0, Shard,
			[]part{cpu(1.0, shares{profile.UserCode: 0.99, profile.ChannelWork: 0.01}, on{send, 0.01, 0, 0})}},
		{SystemCallBound, []part{cpu(1.5, shares{profile.UserCode: 0.4, profile.SystemCalls: 0.6})}, No, "", 0, Buffer, pipelineService},
		{SyncMutex, []part{cpu(1.8, shares{profile.UserCode: 0.6, profile.Locking: 0.4}), metrics(13, 0), mutex(map[profile.Site]float64{unlock: 130})},
			No, "", 0, Buffer, hotService},
	} {
		t.Run(string(test.kind), func(t *testing.T) {
			d := diagnose(test.parts...)
			if d.Verdict != test.verdict || d.Findings[0].Kind != test.kind {
				t.Fatalf("verdict %s, first %+v", d.Verdict, d.Findings)
			}
			f := &d.Findings[0]
			best := f.Best()
			switch {
			case best == nil && test.remedy != "", best != nil && best.Name != test.remedy:
				t.Errorf("remedies: %+v", f.Remedies)
			case best != nil && test.measured > 0 && (best.Gain.Low > test.measured || best.Gain.High < test.measured):
				t.Errorf("%s predicted %s, measured ×%v", best.Name, best.Gain, test.measured)
			}
			if !slices.ContainsFunc(f.RuledOut, func(n RuledOut) bool { return n.Name == test.not && n.Why != "" }) {
				t.Errorf("%s is not ruled out: %+v", test.not, f.RuledOut)
			}
			if len(f.Evidence) == 0 {
				t.Error("no evidence")
			}
			if major, _ := split(d.Findings); len(major) > 1 {
				t.Errorf("other findings: %+v", major[1:])
			}
			if n := diagnose(test.without...); n.found(test.kind) != nil {
				t.Errorf("a similar service has it too: %s", n.found(test.kind).Text)
			}
		})
	}
}

// TestEveryRule: each rule has its own kind, a reason, and a test above.
func TestEveryRule(t *testing.T) {
	seen := make(map[Kind]bool)
	for _, r := range rules {
		if r.reason == "" || r.look == nil || seen[r.kind] {
			t.Errorf("rule %q: reason %q, twice: %v", r.kind, r.reason, seen[r.kind])
		}
		seen[r.kind] = true
	}
	for _, r := range rules {
		for _, other := range r.instead {
			if !seen[other] || other == r.kind {
				t.Errorf("rule %q explains unknown kind %q", r.kind, other)
			}
		}
	}
	if len(seen) != 37 {
		t.Errorf("%d rules", len(seen))
	}
}

// TestSeveralFindings: garbage collection first and a contended channel second
// are both reported.
func TestSeveralFindings(t *testing.T) {
	d := diagnose(cpu(1.9, shares{profile.Collecting: 0.6, profile.ChannelWork: 0.05, profile.ChannelLock: 0.3, profile.UserCode: 0.05}, on{send, 0.25, 0.2, 0}, on{receive, 0.1, 0.1, 0}),
		goroutinesAt(in(send, 64, 2)))
	if d.Verdict != Partly || len(d.Findings) != 2 || d.Findings[0].Kind != GarbageCollection || d.Findings[1].Kind != LockContention {
		t.Errorf("verdict %s: %s, %d findings", d.Verdict, d.Answer, len(d.Findings))
	}
}

// TestUnexplained: much CPU time in channels that no rule explains gives no
// verdict.
func TestUnexplained(t *testing.T) {
	d := diagnose(cpu(1.5, shares{profile.ChannelWork: 0.5, profile.UserCode: 0.5}, on{at(profile.PollReceive, "peek"), 0.1, 0, 0}, on{at(profile.Close, "end"), 0.4, 0.05, 0}))
	if d.Verdict != Undetermined || len(d.Findings) != 0 || !strings.Contains(d.Answer, "Channels take 50% of CPU time") {
		t.Errorf("verdict %s: %s, %+v", d.Verdict, d.Answer, d.Findings)
	}
	d = diagnose(cpu(1, shares{profile.ChannelWork: 0.1, profile.UserCode: 0.9}, on{send, 0.1, 0, 0}))
	if d.Verdict != No {
		t.Errorf("little: verdict %s: %s", d.Verdict, d.Answer)
	}
}

// TestRoomForIO: more receivers help a service that waits for I/O, even if the
// number of cores is unknown.
func TestRoomForIO(t *testing.T) {
	d := diagnose(cpu(0.03, shares{profile.UserCode: 1}), goroutinesAt(in(send, 4, 4), in(sink, 1, 1)),
		func(c *profile.Capture) { c.GOMAXPROCS, c.CPUs = 0, 0 })
	if f := d.found(Downstream); f == nil || f.Best().Gain != (Range{2, 4, 5}) {
		t.Errorf("found %+v", f)
	}
}

// TestDropping: a send with default may shed load on purpose, so blocking is
// not suggested.
func TestDropping(t *testing.T) {
	offer := at(profile.PollSend, "offer")
	d := diagnose(cpu(1.2, shares{profile.ChannelWork: 0.3, profile.UserCode: 0.7}, on{offer, 0.3, 0, 0}))
	f := d.found(Dropping)
	if f == nil || d.Verdict != Undetermined || len(f.Remedies) != 0 || !strings.Contains(d.Answer, "drops") {
		t.Errorf("verdict %s: %s, %+v", d.Verdict, d.Answer, f)
	}
}

// TestFewCases: the number of cases is unknown, and may be two, so the lower
// bound is no gain. Selects of many goroutines do not have many cases.
func TestFewCases(t *testing.T) {
	d := diagnose(cpu(1.3, shares{profile.ChannelWork: 0.9, profile.UserCode: 0.1}, on{choose, 0.7, 0.1, 0}, on{send, 0.2, 0, 0}),
		goroutinesAt(in(choose, 1, 0)))
	if f := d.found(LargeSelect); f == nil || f.Best().Gain.Low > 1 {
		t.Errorf("found %+v", d.Findings)
	}
	write, read := at(profile.Select, "write"), at(profile.Select, "read")
	d = diagnose(cpu(1.6, shares{profile.ChannelWork: 0.25, profile.ChannelLock: 0.7, profile.UserCode: 0.05}, on{write, 0.5, 0.4, 0}, on{read, 0.45, 0.3, 0}),
		goroutinesAt(in(write, 4, 0), in(read, 4, 1)))
	if len(d.Findings) != 1 || d.Findings[0].Kind != SharedDone {
		t.Errorf("found %+v", d.Findings)
	}
}

// TestBoundedGain covers the formula at its ends.
func TestBoundedGain(t *testing.T) {
	for _, test := range []struct{ used, share, removable, want float64 }{
		{1, 0, 1, 1}, {0.5, 0, 1, 2}, {1, 0.5, 1, 2}, {0.5, 0.5, 1, 4}, {1, 0.5, 0.5, 4. / 3},
	} {
		got := bounded(test.used, test.share, test.removable)
		near(t, fmt.Sprint(test), &got, test.want)
	}
	if r := between(bounded(0, 1, 1), bounded(0, 1, 1), bounded(0, 1, 1)); r.High != mostGain || r.Low != mostGain {
		t.Errorf("an unlimited gain is %s", r)
	}
	if r := between(4, 1, 1.6); r != (Range{1, 1, 4}) {
		t.Errorf("range of prices in another order: %+v", r)
	}
	if r := between(0.1, 5, 3); r.Low != neverWorse || r.Mid != 5 || r.High != 5 {
		t.Errorf("range %+v", r)
	}
}

// TestLeaks: proof, growth and long waits give different confidence.
func TestLeaks(t *testing.T) {
	stuck := profile.GoroutineSite{Site: send, In: 300, Waiting: 300, Longest: 9 * time.Minute, CreatedBy: profile.Frame{Function: "example.com/q.ask", File: "q.go", Line: 3}}
	grown := func(earlier int) part {
		return func(c *profile.Capture) {
			site := stuck
			site.Earlier, site.Longest = earlier, 0
			c.Goroutines = &profile.Goroutines{StatesKnown: true, InKnown: true, GrowthKnown: true, Apart: watched, Earlier: 1000, Total: 1300 - earlier, Sites: []profile.GoroutineSite{site}}
		}
	}
	proof := func(c *profile.Capture) {
		c.Leaks = &profile.Leaks{Total: 300, Sites: []profile.GoroutineSite{stuck}}
	}
	moved := func(c *profile.Capture) {
		grown(200)(c)
		c.Goroutines.Total = c.Goroutines.Earlier
	}
	short := stuck
	short.Longest = 4 * time.Minute
	never := profile.GoroutineSite{Site: receive, In: 1, Waiting: 1, NilChan: true}
	for _, test := range []struct {
		name string
		part part
		sure Confidence // "" for no leak
	}{
		{"proved", proof, High},
		{"growing", grown(200), Medium},
		{"steady", grown(299), ""},
		{"moved there from elsewhere", moved, ""},
		{"growing a little", grown(260), ""},
		{"long", goroutinesAt(stuck), Low},
		{"not long", goroutinesAt(short), ""},
		{"a nil channel", goroutinesAt(never), High},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := diagnose(cpu(0.01, shares{profile.UserCode: 1}), test.part)
			f := d.found(Leak)
			switch {
			case f == nil && test.sure != "", f != nil && f.Confidence != test.sure:
				t.Errorf("found %+v", f)
			case f != nil && d.Verdict != Yes:
				t.Errorf("verdict %s: %s", d.Verdict, d.Answer)
			case f != nil && test.sure == Low && f.Best() != nil:
				t.Errorf("an idle pool would get %s", f.Best().Name)
			case f != nil && test.sure != Low && f.Best().Gain != (Range{1, 1, 1}):
				t.Errorf("gain %s", f.Best().Gain)
			}
		})
	}
	// Leaked goroutines are not a queue in front of a slow stage.
	d := diagnose(cpu(0.01, shares{profile.UserCode: 1}), grown(200), func(c *profile.Capture) {
		c.Goroutines.Sites = append(c.Goroutines.Sites, in(sink, 3, 3))
	})
	if d.found(Downstream) != nil {
		t.Error("a leak was taken for a queue")
	}
	// Goroutines that moved there are.
	d = diagnose(cpu(0.01, shares{profile.UserCode: 1}), moved, func(c *profile.Capture) {
		c.Goroutines.Sites[0].Op = profile.Send
		c.Goroutines.Sites = append(c.Goroutines.Sites, in(sink, 3, 3))
	})
	if d.found(Downstream) == nil {
		t.Errorf("goroutines that moved are not a queue: %+v", d.Findings)
	}
}

// TestServing: a server that waits for requests is not slow downstream I/O.
func TestServing(t *testing.T) {
	accept := profile.GoroutineSite{Site: profile.Site{Op: profile.IO, At: profile.Frame{Function: "net/http.(*conn).serve"}}, In: 9, Waiting: 9}
	d := diagnose(cpu(0.03, shares{profile.UserCode: 1}), goroutinesAt(in(send, 4, 4), accept))
	if f := d.found(Downstream); f != nil {
		t.Errorf("found %s", f.Text)
	}
}
