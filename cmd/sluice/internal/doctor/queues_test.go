package doctor

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
	"github.com/sluice-go/sluice/livepage"
)

// A flowing is a named channel at both ends of a window of ten seconds.
type flowing struct {
	name                  string
	cap                   int // -1 without a limit
	before, after         int // values queued
	sent, received, drops uint64
	senders, receivers    int
	waited                float64 // seconds that receivers waited
	from, to              string  // functions, or ""
}

// queued adds maps with these channels.
func queued(bottleneck string, all ...flowing) part {
	return func(c *profile.Capture) {
		begin := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
		before, after := &livepage.Flow{Time: begin}, &livepage.Flow{Time: begin.Add(watched), Summary: "The service keeps up."}
		for i, q := range all {
			id := uint64(i + 1)
			was := livepage.FlowChannel{ID: id, Name: q.name, Kind: "Bounded", Len: q.before, Sent: 1000, Received: 900, Senders: q.senders, Receivers: q.receivers}
			is := was
			is.Len, is.Sent, is.Received, is.Dropped, is.ReceiversWaited = q.after, 1000+q.sent, 900+q.received, q.drops, q.waited
			if q.cap >= 0 {
				is.Cap, is.Fill = &q.cap, new(float64(q.after)/float64(q.cap))
			}
			before.Channels, after.Channels = append(before.Channels, was), append(after.Channels, is)
			for side, function := range map[string]string{"send": q.from, "receive": q.to} {
				if function == "" {
					continue
				}
				s := livepage.Stage{ID: function, Name: function, Function: "example.com/q." + function, File: "q.go", Line: 5}
				if !slices.Contains(after.Stages, s) {
					after.Stages = append(after.Stages, s)
				}
				after.Edges = append(after.Edges, livepage.Edge{Stage: function, Channel: id, Side: side, Share: 1})
			}
		}
		if bottleneck != "" {
			after.Bottleneck = &livepage.Bottleneck{Stage: after.Stages[0].ID, Channel: 1, Kind: bottleneck, Text: "a and b wait for each other: x is full; y is full."}
		}
		c.FlowBefore, c.Flow = before, after
	}
}

// ours is an operation of this module in a function of the example's package.
func ours(op profile.Op, call, function string) profile.Site {
	s := at(op, function)
	s.Call = call
	return s
}

// someLoad is a service with little CPU time, outside of channels.
var someLoad = cpu(0.8, shares{profile.UserCode: 1})

// in10 is what moves in the window.
func in10(perSecond float64) uint64 { return uint64(perSecond * watched.Seconds()) }

// Queues that grow, drop or stand still are findings, in exact words.
func TestQueues(t *testing.T) {
	sleeping := func(c *profile.Capture) {
		goroutinesAt(profile.GoroutineSite{Site: at(profile.Sleep, "store"), In: 1, Waiting: 1, Root: "example.com/q.store"},
			profile.GoroutineSite{Site: ours(profile.Send, "Send", "put"), In: 4, Waiting: 4, Root: "example.com/q.put"})(c)
	}
	grows := flowing{name: "orders", cap: 50_000, before: 19_000, after: 29_000, sent: in10(4000), received: in10(3000), from: "put", to: "store"}
	waiting := grows
	waiting.waited = 5
	unlimited := grows
	unlimited.cap = -1
	for _, test := range []struct {
		name    string
		parts   []part
		kind    Kind // "" for none of these
		verdict Verdict
		text    string
		remedy  RemedyName
		gain    float64
		place   string
	}{
		{"grows", []part{someLoad, sleeping, queued("", grows)}, GrowingQueue, No,
			"orders grows by 1000/s (19.0 k to 29.0 k values) and is full in 21 s: store, its one receiver, is busy all the time: mostly asleep at q.store (q.go:5).",
			MoreReceivers, 4.0 / 3, "example.com/q.store"},
		{"grows without a limit", []part{someLoad, sleeping, queued("", unlimited)}, GrowingQueue, No, "it has no limit, so memory ends before the queue does", MoreReceivers, 4.0 / 3, "example.com/q.store"},
		{"grows while its receiver waits: a burst", []part{someLoad, sleeping, queued("", waiting)}, "", Undetermined, "", "", 0, ""},
		{"keeps up", []part{someLoad, sleeping, queued("", flowing{name: "orders", cap: 1024, before: 10, after: 70, sent: in10(4000), received: in10(4000), from: "put", to: "store"})}, "", Undetermined, "", "", 0, ""},
		{"drops", []part{someLoad, sleeping, queued("", flowing{name: "ticks", cap: 16, before: 16, after: 16, sent: in10(620), received: in10(310), drops: uint64(3100), from: "put", to: "store"})}, DroppedValues, No,
			"ticks drops 310 values/s, 50% of what is sent: store, its one receiver, is busy all the time", MoreReceivers, 2, "example.com/q.store"},
		{"drops in bursts", []part{someLoad, sleeping, queued("", flowing{name: "ticks", cap: 16, before: 16, after: 16, sent: in10(620), received: in10(310), drops: uint64(3100), waited: 6, from: "put", to: "store"})}, DroppedValues, No,
			"store, its one receiver, waits for values 60% of the time", Buffer, 2, "example.com/q.store"},
		{"drops hardly any", []part{someLoad, queued("", flowing{name: "ticks", cap: 16, sent: in10(1000), received: in10(999), drops: 9, from: "put", to: "store"})}, "", No, "", "", 0, ""},
		{"no receiver", []part{someLoad, sleeping, queued("", flowing{name: "audit", cap: 8, before: 8, after: 8, senders: 4, from: "put"})}, NoReceiver, Yes,
			"No receiver on audit: 4 senders wait, and nothing was received in 10 s.", Cancel, 1, "example.com/q.put"},
		{"stopped receiving", []part{someLoad, sleeping, queued("", flowing{name: "audit", cap: 8, before: 8, after: 8, senders: 4, from: "put", to: "store"})}, NoReceiver, Yes,
			"Store has stopped receiving on audit: 4 senders wait", Cancel, 1, "example.com/q.put"},
		{"backpressure moves", []part{someLoad, sleeping, queued("", flowing{name: "audit", cap: 8, before: 8, after: 8, sent: 30, received: 30, senders: 4, from: "put", to: "store"})}, "", Undetermined, "", "", 0, ""},
		{"a cycle", []part{someLoad, queued("cycle", flowing{name: "x", cap: 8, before: 8, after: 8, senders: 1, from: "a", to: "b"}, flowing{name: "y", cap: 8, before: 8, after: 8, senders: 1, from: "b", to: "a"})}, FullCycle, Yes,
			"Stages wait for each other in a cycle: a and b wait", Elastic, 1, ""},
		{"a cycle that moves", []part{someLoad, queued("cycle", flowing{name: "x", cap: 8, before: 8, after: 8, sent: 5, received: 5, senders: 1, from: "a", to: "b"}, flowing{name: "y", cap: 8, before: 8, after: 8, sent: 5, received: 5, senders: 1, from: "b", to: "a"})}, "", No, "", "", 0, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := diagnose(test.parts...)
			var found *Finding
			for i := range d.Findings {
				if k := d.Findings[i].Kind; k.ofQueue() || k.stuck() {
					found = &d.Findings[i]
					break
				}
			}
			if test.kind == "" {
				if found != nil || d.Verdict != test.verdict {
					t.Errorf("verdict %s, %+v", d.Verdict, found)
				}
				return
			}
			if found == nil || found.Kind != test.kind || d.Verdict != test.verdict || !strings.Contains(found.Text, test.text) {
				t.Fatalf("%s, %q: %+v", d.Verdict, d.Answer, found)
			}
			best := found.Best()
			if best == nil || best.Name != test.remedy || best.Gain.Low > test.gain || best.Gain.High < test.gain {
				t.Errorf("remedies %+v, ruled out %+v; want %s ×%v", found.Remedies, found.RuledOut, test.remedy, test.gain)
			}
			if test.place != "" && (found.At == nil || found.At.Function != test.place) {
				t.Errorf("at %+v, want %s", found.At, test.place)
			}
			if found.Confidence == Low && test.remedy != Buffer || len(found.Evidence) == 0 {
				t.Errorf("confidence %s, evidence %+v", found.Confidence, found.Evidence)
			}
		})
	}
}

// A receiver that computes is not helped by another one if all cores are in use.
func TestNoCoreForReceivers(t *testing.T) {
	grows := flowing{name: "orders", cap: -1, before: 1000, after: 9000, sent: in10(3000), received: in10(2200), from: "put", to: "work"}
	busy := []part{cpu(1.95, shares{profile.UserCode: 1}), staged(stagePart{"work", 1, 0.5, 0}, stagePart{"put", 1, 0.5, 0}), queued("", grows)}
	free := []part{cpu(1.1, shares{profile.UserCode: 1}), staged(stagePart{"work", 1, 0.9, 0}, stagePart{"put", 1, 0.1, 0}), queued("", grows)}
	for _, test := range []struct {
		parts []part
		best  RemedyName
	}{{busy, Limit}, {free, MoreReceivers}} {
		if found := diagnose(test.parts...).found(GrowingQueue); found == nil || found.Best().Name != test.best {
			t.Errorf("%+v, want %s", found, test.best)
		}
	}
}

// A stage with a goroutine for each core that does most of the work is not slow,
// even where senders wait for it. One goroutine is.
func TestStageFillsCores(t *testing.T) {
	full := flowing{name: "open", cap: 64, before: 64, after: 64, sent: in10(100), received: in10(100), senders: 2, to: "work", from: "put"}
	slowest := func(c *profile.Capture) {
		c.Flow.Bottleneck = &livepage.Bottleneck{Stage: "work", Channel: 1, Kind: slow, Text: "work is the slowest stage: open is full, 2 senders wait."}
	}
	for n, want := range map[int]bool{1: true, 2: false} {
		d := diagnose(cpu(1.3, shares{profile.UserCode: 1}), staged(stagePart{"work", n, 0.4, 0.2}, stagePart{"put", 1, 0.1, 0}), queued("", full), slowest)
		found := slices.ContainsFunc(d.Findings, func(f Finding) bool { return f.channel == 1 })
		if found != want {
			t.Errorf("%d goroutines: %q, %+v", n, d.Answer, d.Findings)
		}
	}
}

// Goroutines that wait in a Send for long, or ever more of them, are no leak
// while values pass through their channel.
func TestBackpressureIsNoLeak(t *testing.T) {
	stand := func(site profile.Site) part {
		return func(c *profile.Capture) {
			goroutinesAt(profile.GoroutineSite{Site: site, In: 200, Waiting: 200, Longest: 7 * time.Minute, Earlier: 100, Root: "example.com/q.put"})(c)
			c.Goroutines.GrowthKnown, c.Goroutines.Total, c.Goroutines.Earlier = true, 210, 110
		}
	}
	full := flowing{name: "orders", cap: 64, before: 64, after: 64, sent: in10(100), received: in10(100), senders: 200, from: "put", to: "store"}
	stuck := full
	stuck.sent, stuck.received, stuck.to = 0, 0, "store"
	send := ours(profile.Send, "Send", "put")
	for _, test := range []struct {
		name  string
		parts []part
		leak  Kind
	}{
		{"a channel that moves", []part{someLoad, stand(send), queued("", full)}, ""},
		{"a channel without a name, with CPU time", []part{cpu(0.8, shares{profile.UserCode: 0.9, profile.ChannelWork: 0.1}, on{send, 0.1, 0, 0}), stand(send)}, ""},
		{"a channel that stands still", []part{someLoad, stand(send), queued("", stuck)}, NoReceiver},
		{"a channel without a name that stands still", []part{someLoad, stand(send)}, Leak},
		{"a built-in channel", []part{cpu(0.8, shares{profile.UserCode: 0.9, profile.ChannelWork: 0.1}, on{at(profile.Send, "put"), 0.1, 0, 0}), stand(at(profile.Send, "put")), queued("", full)}, Leak},
	} {
		d := diagnose(test.parts...)
		var kind Kind
		for _, found := range d.Findings {
			if found.Kind.stuck() {
				kind = found.Kind
			}
		}
		if kind != test.leak {
			t.Errorf("%s: found %q, want %q", test.name, kind, test.leak)
		}
	}
}

// The map pairs the ends of a channel. What it does not show is not guessed
// across this module's channels and built-in ones.
func TestPartnersOnMap(t *testing.T) {
	put, get := ours(profile.Send, "Send", "put"), ours(profile.Range, "All", "store")
	native, other := at(profile.Send, "emit"), at(profile.Range, "drain")
	busy := cpu(1, shares{profile.UserCode: 0.6, profile.ChannelWork: 0.4}, on{put, 0.1, 0, 0}, on{get, 0.1, 0, 0}, on{native, 0.1, 0, 0}, on{other, 0.1, 0, 0})
	pairs := func(d *Diagnosis) (text []string) {
		for _, p := range d.Partners {
			text = append(text, strings.ReplaceAll(p.Sender.Function+" "+p.Receiver.Function+" "+string(p.Sure), "example.com/q.", ""))
		}
		slices.Sort(text)
		return text
	}
	q := flowing{name: "orders", cap: 64, sent: 10, received: 10, from: "put", to: "store"}
	for _, test := range []struct {
		parts []part
		want  []string
	}{
		{[]part{busy, queued("", q)}, []string{"emit drain likely", "put store map"}},
		{[]part{busy}, []string{"emit drain likely", "put store likely"}},
	} {
		if got := pairs(diagnose(test.parts...)); !slices.Equal(got, test.want) {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
	woken := func(c *profile.Capture) {
		c.Trace = &profile.Trace{Window: time.Second, Pairs: []profile.Pair{{Waker: put, Sleeper: put, Count: 5}, {Waker: put, Sleeper: get, Count: 3}}}
	}
	if got := pairs(diagnose(busy, woken)); !slices.Equal(got, []string{"put store seen"}) {
		t.Errorf("%q: a sender that wakes the next sender is its partner", got)
	}
}

// Advice about this module's channels names its calls and options, and leaves
// out what is done already.
func TestOurWords(t *testing.T) {
	put, get := ours(profile.Send, "Send", "put"), ours(profile.Range, "All", "store")
	contended := func(send profile.Site) []part {
		return []part{metrics(0.8, 0), cpu(1.2, shares{profile.UserCode: 0.02, profile.ChannelLock: 0.6, profile.ChannelWork: 0.38}, on{send, 0.8, 0.5, 0}, on{get, 0.18, 0.1, 0}),
			mutex(map[profile.Site]float64{send: 5}), goroutinesAt(in(send, 64, 30), in(get, 1, 1))}
	}
	q := flowing{name: "orders", cap: 1024, sent: 1000, received: 1000, from: "put", to: "store"}
	found := diagnose(append(contended(put), queued("", q))...).found(LockContention)
	if found == nil {
		t.Fatal("no lock contention")
	}
	how := map[RemedyName]string{}
	for _, r := range found.Remedies {
		how[r.Name] = r.How
	}
	for name, words := range map[RemedyName]string{Batch: "SendBatch", Shard: "make orders a sluice.Sharded", Promise: "set SingleReceiver in the options of orders: store is the only goroutine"} {
		if !strings.Contains(how[name], words) {
			t.Errorf("%s: %q lacks %q", name, how[name], words)
		}
	}
	batched := put
	batched.Call = "SendBatch"
	found = diagnose(append(contended(batched), queued("", q))...).found(LockContention)
	if found == nil || slices.ContainsFunc(found.Remedies, func(r Remedy) bool { return r.Name == Batch }) {
		t.Errorf("batches for a send of batches: %+v", found)
	}
	native := at(profile.Send, "put")
	found = diagnose(append(contended(native), queued("", q))...).found(LockContention)
	if found == nil || slices.ContainsFunc(found.Remedies, func(r Remedy) bool { return r.Name == Promise || strings.Contains(r.How, "make orders") }) {
		t.Errorf("advice for sluice about a built-in channel: %+v", found)
	}
}

// Counters of a channel that was made meanwhile, or whose counters fell, give no
// rates.
func TestQueueRates(t *testing.T) {
	f := factsOf(queued("", flowing{name: "a", cap: 8, sent: 100, received: 90, from: "put", to: "store"}))
	if len(f.queues) != 1 || f.queues[0].sent != 10 || f.queues[0].received != 9 {
		t.Errorf("%+v", f.queues)
	}
	for name, change := range map[string]func(*profile.Capture){
		"new":  func(c *profile.Capture) { c.FlowBefore.Channels = nil },
		"fell": func(c *profile.Capture) { c.FlowBefore.Channels[0].Received = 5000 },
		"none": func(c *profile.Capture) { c.FlowBefore = nil },
	} {
		f := factsOf(queued("", flowing{name: "a", cap: 8, sent: 100, received: 90}), change)
		if len(f.queues) != 0 {
			t.Errorf("%s: %+v", name, f.queues)
		}
		f = factsOf(queued("", flowing{name: "a", cap: 8, sent: 100, received: 90}), change, func(c *profile.Capture) {
			c.Flow.Over = 5
			c.Flow.Channels[0].SentRate, c.Flow.Channels[0].ReceivedRate, c.Flow.Channels[0].DroppedRate = new(7.0), new(6.0), new(0.0)
		})
		if len(f.queues) != 1 || f.queues[0].sent != 7 || f.queues[0].grows() != 1 || f.queues[0].over != 5 {
			t.Errorf("%s: %+v, want the rates of the service", name, f.queues)
		}
	}
}
