package flow

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

// graph returns a map of edges such as "read -> lines" and "lines -> parse". Channels are
// numbered in the given order; what leads nowhere else is a stage.
func graph(channels []Channel, edges ...string) *Flow {
	f := new(Flow)
	ids := map[string]uint64{}
	for i, c := range channels {
		c.ID = uint64(i + 1)
		ids[c.Name] = c.ID
		f.Channels = append(f.Channels, c)
	}
	stages := map[string]bool{}
	for _, text := range edges {
		from, to, _ := strings.Cut(text, " -> ")
		e := Edge{Stage: from, Channel: ids[to], Side: Send, Share: 1}
		if ids[from] != 0 {
			e = Edge{Stage: to, Channel: ids[from], Side: Receive, Share: 1}
			if consumer, found := strings.CutPrefix(to, "results: "); found {
				e.Stage, e.Share = consumer, 0
			}
		}
		f.Edges = append(f.Edges, e)
		if !stages[e.Stage] {
			stages[e.Stage] = true
			f.Stages = append(f.Stages, Stage{ID: e.Stage, Name: e.Stage})
		}
	}
	f.LayOut()
	return f
}

// The states of a channel. Rates are 100 values per second.

func empty(name string) Channel {
	return Channel{Name: name, Kind: "Bounded", Cap: 64, Known: true, Sent: 100, Received: 100}
}

func starving(name string, receivers int) Channel {
	c := empty(name)
	c.Receivers, c.ReceiversMean = receivers, float64(receivers)
	return c
}

func blocked(name string, senders int) Channel {
	c := empty(name)
	c.Len, c.Senders, c.SendersMean = 64, senders, float64(senders)
	return c
}

func with(c Channel, change func(c *Channel)) Channel {
	change(&c)
	return c
}

var pipeline = []string{"read -> lines", "lines -> parse", "parse -> events", "events -> write"}

// results is a pipeline whose second stage is workers.Map; another stage receives what it
// makes.
var results = []string{"read -> lines", "lines -> parse", "lines -> results: collect", "collect -> events", "events -> write"}

func TestDiagnose(t *testing.T) {
	for name, test := range map[string]struct {
		channels []Channel
		edges    []string
		kind     string
		stage    string
		want     string
	}{
		"the second stage": {
			[]Channel{blocked("lines", 3), starving("events", 1)}, pipeline, SlowStage, "parse",
			"parse is the slowest stage: lines is full, 3 senders wait; events is empty.",
		},
		"the sink": {
			[]Channel{blocked("lines", 3), blocked("events", 1)}, pipeline, SlowStage, "write",
			"write is the slowest stage: events is full, 1 sender waits.",
		},
		"the source": {
			[]Channel{starving("lines", 4), starving("events", 1)}, pipeline, SlowStage, "read",
			"read sets the pace: lines is empty, 4 receivers wait for it, and no channel is full.",
		},
		"a stage in the middle that does not let its input fill up": {
			[]Channel{empty("lines"), starving("events", 2)}, pipeline, SlowStage, "parse",
			"parse sets the pace: events is empty, 2 receivers wait for it, and no channel is full.",
		},
		"nothing": {
			[]Channel{empty("lines"), empty("events")}, pipeline, "", "",
			"No channel is full and no receiver waits long: the service keeps up.",
		},
		"both sides wait now and then": {
			[]Channel{with(empty("lines"), func(c *Channel) { c.Len, c.SendersMean, c.ReceiversMean = 9, 0.05, 0.05 })}, pipeline[:2], "", "",
			"No channel is full and no receiver waits long: the service keeps up.",
		},
		"idle": {
			[]Channel{with(starving("lines", 1), func(c *Channel) { c.Sent, c.Received = 0, 0 })}, pipeline[:2], "", "",
			"Nothing moves: no value was sent or received since the last reading.",
		},
		"no channels": {
			nil, nil, "", "",
			"No channel has a name: give one in the options of its constructor.",
		},
		"the first reading": {
			[]Channel{with(blocked("lines", 2), func(c *Channel) { c.Known, c.SendersMean, c.Sent, c.Received = false, 0, 0, 0 })}, pipeline[:2], SlowStage, "parse",
			"parse is the slowest stage: lines is full, 2 senders wait.",
		},
		"a stage that has stopped": {
			[]Channel{with(blocked("lines", 2), func(c *Channel) { c.Received, c.OldestSender = 0, 75*time.Second })}, pipeline[:2], Stuck, "parse",
			"parse has stopped receiving: lines is full, 2 senders wait, the first for 75 s.",
		},
		"a rendezvous": {
			[]Channel{with(blocked("lines", 2), func(c *Channel) { c.Len, c.Cap = 0, 0 })}, pipeline[:2], SlowStage, "parse",
			"parse is the slowest stage: lines has no buffer, 2 senders wait.",
		},
		"a sender waits now, but seldom": {
			[]Channel{with(empty("lines"), func(c *Channel) { c.Len, c.Senders, c.SendersMean = 30, 1, 0.01 })}, pipeline[:2], "", "",
			"No channel is full and no receiver waits long: the service keeps up.",
		},
		"almost full, without waiting senders": {
			[]Channel{with(empty("lines"), func(c *Channel) { c.Len = 60 })}, pipeline[:2], SlowStage, "parse",
			"parse is the slowest stage: lines is 94% full.",
		},
		"drops": {
			[]Channel{with(empty("lines"), func(c *Channel) { c.Len, c.Dropped = 64, 12345 }), with(empty("events"), func(c *Channel) { c.Len = 16 })}, pipeline, Drops, "parse",
			"parse is the slowest stage: lines drops 12,345 values/s; events is 25% full.",
		},
		"drops behind a stage do not hold it back": {
			[]Channel{blocked("lines", 1), with(empty("events"), func(c *Channel) { c.Dropped = 1 })}, pipeline, SlowStage, "parse",
			"parse is the slowest stage: lines is full, 1 sender waits; events is empty.",
		},
		"a queue that grows": {
			[]Channel{with(empty("lines"), func(c *Channel) {
				c.Len, c.Cap, c.Sent, c.OldestValue = 12000, math.MaxInt, 900, 4*time.Second
			})}, pipeline[:2], SlowStage, "parse",
			"parse is the slowest stage: lines has 12,000 values, the oldest 4.0 s old.",
		},
		"a queue that shrinks": {
			[]Channel{with(empty("lines"), func(c *Channel) {
				c.Len, c.Cap, c.Received, c.OldestValue = 12000, math.MaxInt, 900, 4*time.Second
			})}, pipeline[:2], "", "",
			"No channel is full and no receiver waits long: the service keeps up.",
		},
		"an unknown receiver": {
			[]Channel{blocked("lines", 3)}, pipeline[:1], SlowStage, "",
			"No receiver of lines was seen: lines is full, 3 senders wait.",
		},
		"a receiver of another kind of channel": {
			[]Channel{with(blocked("disk", 3), func(c *Channel) { c.Foreign = true })}, pipeline[:1], SlowStage, "",
			"Which function receives from disk is not known: disk is full, 3 senders wait.",
		},
		"a known receiver before an unknown one": {
			[]Channel{blocked("lines", 1), blocked("other", 9)}, pipeline[:2], SlowStage, "parse",
			"parse is the slowest stage: lines is full, 1 sender waits.",
		},
		"two branches, of which the later one is the cause": {
			[]Channel{blocked("lines", 3), blocked("events", 1), empty("errors")},
			append(slices.Clone(pipeline), "parse -> errors", "lines -> copy", "errors -> log"), SlowStage, "write",
			"write is the slowest stage: events is full, 1 sender waits.",
		},
		"one of two outputs is full": {
			[]Channel{blocked("lines", 3), empty("events"), blocked("errors", 1)},
			append(slices.Clone(pipeline), "parse -> errors", "errors -> log"), SlowStage, "log",
			"log is the slowest stage: errors is full, 1 sender waits.",
		},
		"a retry loop": {
			[]Channel{blocked("jobs", 2)}, []string{"read -> jobs", "jobs -> work", "work -> jobs"}, SlowStage, "work",
			"work is the slowest stage: jobs is full, 2 senders wait.",
		},
		"a cycle": {
			[]Channel{blocked("a", 1), blocked("b", 1)}, []string{"ping -> a", "a -> pong", "pong -> b", "b -> ping"}, Stuck, "pong",
			"pong and ping wait for each other: a is full, 1 sender waits; b is full, 1 sender waits.",
		},
		"many outputs": {
			[]Channel{blocked("in", 1), empty("a"), empty("b"), empty("c"), empty("d")},
			[]string{"in -> route", "route -> a", "route -> b", "route -> c", "route -> d"}, SlowStage, "route",
			"route is the slowest stage: in is full, 1 sender waits; the channels behind it have room.",
		},
		"a closed channel that nobody drains": {
			[]Channel{with(blocked("lines", 0), func(c *Channel) { c.Closed, c.Sent, c.Received, c.OldestValue = true, 0, 0, time.Hour }), starving("events", 1)}, pipeline[2:], SlowStage, "parse",
			"parse sets the pace: events is empty, 1 receiver waits for it, and no channel is full.",
		},
		"a full channel that nobody uses": {
			[]Channel{with(blocked("lines", 0), func(c *Channel) { c.Sent, c.Received = 0, 0 }), starving("events", 1)}, pipeline, SlowStage, "parse",
			"parse sets the pace: events is empty, 1 receiver waits for it, and no channel is full.",
		},
		"the consumer of results is held back": {
			[]Channel{blocked("lines", 4), blocked("events", 1)}, results, SlowStage, "write",
			"write is the slowest stage: events is full, 1 sender waits.",
		},
		"the consumer of results is held back a little": {
			[]Channel{blocked("lines", 4), with(empty("events"), func(c *Channel) { c.Len = 63 })}, results, SlowStage, "write",
			"write is the slowest stage: events is 98% full.",
		},
		"workers, or the consumer of their results": {
			[]Channel{blocked("lines", 4), starving("events", 1)}, results, SlowStage, "parse",
			"parse or collect is the slowest stage: lines is full, 4 senders wait.",
		},
		"the consumer of results waits for the source": {
			[]Channel{starving("lines", 1), starving("events", 9)}, results, SlowStage, "read",
			"read sets the pace: lines is empty, 1 receiver waits for it, and no channel is full.",
		},
		"a cycle by way of a consumer of results": {
			[]Channel{blocked("lines", 1), blocked("events", 1)},
			append(slices.Clone(results), "write -> lines"), Stuck, "collect",
			"collect and write wait for each other: lines is full, 1 sender waits; events is full, 1 sender waits.",
		},
		"a wait that the average misses": {
			[]Channel{with(empty("lines"), func(c *Channel) { c.Receivers = 1 }), starving("events", 1)}, pipeline, "", "",
			"No channel is full and no receiver waits long: the service keeps up.",
		},
		"an average above the number of goroutines": {
			[]Channel{with(blocked("lines", 1), func(c *Channel) { c.SendersMean = 1.6 })}, pipeline[:2], SlowStage, "parse",
			"parse is the slowest stage: lines is full, 1 sender waits.",
		},
		"a closed channel starves no receiver": {
			[]Channel{with(starving("lines", 1), func(c *Channel) { c.Closed = true })}, pipeline[:2], "", "",
			"No channel is full and no receiver waits long: the service keeps up.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, summary := graph(test.channels, test.edges...).Diagnose()
			if summary != test.want {
				t.Errorf("%q, want %q", summary, test.want)
			}
			switch {
			case b == nil && test.kind != "":
				t.Errorf("no bottleneck, want %s %s", test.kind, test.stage)
			case b != nil && (b.Kind != test.kind || b.Stage != test.stage || b.Text != summary):
				t.Errorf("%+v, want %s %q", *b, test.kind, test.stage)
			}
		})
	}
}

// The bottleneck of a pipeline is found wherever it is.
func TestDiagnoseEachStage(t *testing.T) {
	const stages = 10
	name := func(i int) string { return string(rune('a' + i)) }
	for slow := 1; slow < stages; slow++ {
		var channels []Channel
		var edges []string
		for i := range stages - 1 {
			c := starving("c"+name(i), 1)
			if i < slow {
				c = blocked("c"+name(i), 1)
			}
			channels = append(channels, c)
			edges = append(edges, name(i)+" -> c"+name(i), "c"+name(i)+" -> "+name(i+1))
		}
		if b, _ := graph(channels, edges...).Diagnose(); b == nil || b.Stage != name(slow) || b.Kind != SlowStage {
			t.Errorf("stage %s is slow: %+v", name(slow), b)
		}
	}
}

func TestLayout(t *testing.T) {
	channels := func(names string) (list []Channel) {
		for _, name := range strings.Fields(names) {
			list = append(list, empty(name))
		}
		return list
	}
	for name, test := range map[string]struct {
		f    *Flow
		want string
	}{
		"a pipeline": {graph(channels("lines events"), pipeline...), "events 1, lines 0, parse 1, read 0, write 2"},
		"a short cut": {
			graph(channels("lines events"), append(slices.Clone(pipeline), "lines -> write")...),
			"events 1, lines 0, parse 1, read 0, write 2",
		},
		"a cycle behind a source": {
			graph(channels("jobs retries"), "retries -> retry", "jobs -> work", "work -> retries", "retry -> jobs", "read -> jobs"),
			"jobs 2, read 0, retries 1, retry 2, work 1",
		},
		"a channel without a sender": {
			graph(channels("lines events"), "lines -> parse", "parse -> events", "events -> write"),
			"events 1, lines 0, parse 1, write 2",
		},
		"a loop": {graph(channels("jobs"), "work -> jobs", "jobs -> work"), "jobs 0, work 0"},
	} {
		var got []string
		for _, s := range test.f.Stages {
			got = append(got, s.Name+" "+string(rune('0'+s.Column)))
		}
		for _, c := range test.f.Channels {
			got = append(got, c.Name+" "+string(rune('0'+c.Column)))
		}
		if slices.Sort(got); strings.Join(got, ", ") != test.want {
			t.Errorf("%s: %s, want %s", name, strings.Join(got, ", "), test.want)
		}
	}
}
