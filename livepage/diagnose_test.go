package livepage

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/inspect"
	"github.com/sluice-go/sluice/internal/flow"
)

// diagnosed returns the diagnosis of a map of edges such as "read -> lines" and
// "lines -> parse". Channels are numbered in the given order, the foreign one is named disk,
// and what leads nowhere else is a stage.
func diagnosed(channels []sighting, edges ...string) (*Bottleneck, string) {
	l, ids := new(look), map[string]uint64{}
	for i, c := range channels {
		c.ID = uint64(i + 1)
		ids[c.Name] = c.ID
		l.seen = append(l.seen, c)
	}
	var stages []Stage
	var names []string
	var list []Edge
	var drawn []flow.Edge
	for _, text := range edges {
		from, to, _ := strings.Cut(text, " -> ")
		e := Edge{Stage: from, Channel: ids[to], Side: flow.Send, Share: 1}
		if ids[from] != 0 {
			e = Edge{Stage: to, Channel: ids[from], Side: flow.Receive, Share: 1}
			if consumer, found := strings.CutPrefix(to, "results: "); found {
				e.Stage, e.Share = consumer, 0
			}
		}
		list, drawn = append(list, e), append(drawn, flow.Edge(e))
		if !slices.Contains(names, e.Stage) {
			names, stages = append(names, e.Stage), append(stages, Stage{ID: e.Stage, Name: e.Stage})
		}
	}
	_, columns := flow.Columns(names, drawn)
	return l.diagnose(stages, list, columns, map[uint64]bool{ids["disk"]: true})
}

// The states of a channel. Rates are 100 values per second.

func empty(name string) sighting {
	c := sighting{Channel: inspect.Channel{Name: name, Kind: "Bounded"}, rates: rates{known: true, sent: 100, received: 100}}
	c.stats.Cap = 64
	return c
}

func starving(name string, receivers int) sighting {
	c := empty(name)
	c.stats.ReceiversWaiting, c.rates.receivers.waiting = receivers, float64(receivers)
	return c
}

func blocked(name string, senders int) sighting {
	c := empty(name)
	c.stats.Len, c.stats.SendersWaiting, c.rates.senders.waiting = 64, senders, float64(senders)
	return c
}

func with(c sighting, change func(c *sighting)) sighting {
	change(&c)
	return c
}

var pipeline = []string{"read -> lines", "lines -> parse", "parse -> events", "events -> write"}

// results is a pipeline whose second stage is workers.Map; another stage receives what it
// makes.
var results = []string{"read -> lines", "lines -> parse", "lines -> results: collect", "collect -> events", "events -> write"}

func TestDiagnose(t *testing.T) {
	for name, test := range map[string]struct {
		channels []sighting
		edges    []string
		kind     string
		stage    string
		want     string
	}{
		"the second stage": {
			[]sighting{blocked("lines", 3), starving("events", 1)}, pipeline, slowStage, "parse",
			"parse is the slowest stage: lines is full, 3 senders wait; events is empty.",
		},
		"the sink": {
			[]sighting{blocked("lines", 3), blocked("events", 1)}, pipeline, slowStage, "write",
			"write is the slowest stage: events is full, 1 sender waits.",
		},
		"the source": {
			[]sighting{starving("lines", 4), starving("events", 1)}, pipeline, slowStage, "read",
			"read sets the pace: lines is empty, 4 receivers wait for it, and no channel is full.",
		},
		"a stage in the middle that does not let its input fill up": {
			[]sighting{empty("lines"), starving("events", 2)}, pipeline, slowStage, "parse",
			"parse sets the pace: events is empty, 2 receivers wait for it, and no channel is full.",
		},
		"nothing": {
			[]sighting{empty("lines"), empty("events")}, pipeline, "", "",
			"No channel is full and no receiver waits long: the service keeps up.",
		},
		"both sides wait now and then": {
			[]sighting{with(empty("lines"), func(c *sighting) { c.stats.Len, c.rates.senders.waiting, c.rates.receivers.waiting = 9, 0.05, 0.05 })}, pipeline[:2], "", "",
			"No channel is full and no receiver waits long: the service keeps up.",
		},
		"idle": {
			[]sighting{with(starving("lines", 1), func(c *sighting) { c.rates.sent, c.rates.received = 0, 0 })}, pipeline[:2], "", "",
			"Nothing moves: no value was sent or received since the last reading.",
		},
		"no channels": {
			nil, nil, "", "",
			"No channel has a name: give one in the options of its constructor.",
		},
		"the first reading": {
			[]sighting{with(blocked("lines", 2), func(c *sighting) {
				c.rates.known, c.rates.senders.waiting, c.rates.sent, c.rates.received = false, 0, 0, 0
			})}, pipeline[:2], slowStage, "parse",
			"parse is the slowest stage: lines is full, 2 senders wait.",
		},
		"a stage that has stopped": {
			[]sighting{with(blocked("lines", 2), func(c *sighting) { c.rates.received, c.stats.OldestSender = 0, 75*time.Second })}, pipeline[:2], stuckStages, "parse",
			"parse has stopped receiving: lines is full, 2 senders wait, the first for 75 s.",
		},
		"a rendezvous": {
			[]sighting{with(blocked("lines", 2), func(c *sighting) { c.stats.Len, c.stats.Cap = 0, 0 })}, pipeline[:2], slowStage, "parse",
			"parse is the slowest stage: lines has no buffer, 2 senders wait.",
		},
		"a sender waits now, but seldom": {
			[]sighting{with(empty("lines"), func(c *sighting) { c.stats.Len, c.stats.SendersWaiting, c.rates.senders.waiting = 30, 1, 0.01 })}, pipeline[:2], "", "",
			"No channel is full and no receiver waits long: the service keeps up.",
		},
		"almost full, without waiting senders": {
			[]sighting{with(empty("lines"), func(c *sighting) { c.stats.Len = 60 })}, pipeline[:2], slowStage, "parse",
			"parse is the slowest stage: lines is 94% full.",
		},
		"drops": {
			[]sighting{with(empty("lines"), func(c *sighting) { c.stats.Len, c.rates.dropped = 64, 12345 }), with(empty("events"), func(c *sighting) { c.stats.Len = 16 })}, pipeline, shedding, "parse",
			"parse is the slowest stage: lines drops 12,345 values/s; events is 25% full.",
		},
		"drops behind a stage do not hold it back": {
			[]sighting{blocked("lines", 1), with(empty("events"), func(c *sighting) { c.rates.dropped = 1 })}, pipeline, slowStage, "parse",
			"parse is the slowest stage: lines is full, 1 sender waits; events is empty. Also, events drops 1 value/s.",
		},
		"drops beside a channel that fills": {
			[]sighting{with(empty("lines"), func(c *sighting) { c.stats.Len = 60 }), with(empty("events"), func(c *sighting) { c.stats.Len, c.rates.dropped = 64, 12345 })},
			[]string{"read -> lines", "read -> events", "lines -> parse", "events -> sample"}, slowStage, "parse",
			"parse is the slowest stage: lines is 94% full. Also, events drops 12,345 values/s.",
		},
		"drops beside a queue that grows": {
			[]sighting{with(empty("lines"), func(c *sighting) {
				c.stats.Len, c.stats.Cap, c.rates.sent, c.stats.OldestValue = 12000, math.MaxInt, 900, 4*time.Second
			}), with(empty("events"), func(c *sighting) { c.rates.dropped = 5 }), with(empty("samples"), func(c *sighting) { c.rates.dropped = 7 })},
			[]string{"read -> lines", "read -> events", "lines -> parse", "events -> sample"}, slowStage, "parse",
			"parse is the slowest stage: lines has 12,000 values, the oldest 4.0 s old. Also, events drops 5 values/s and samples drops 7 values/s.",
		},
		"drops before the first rates": {
			[]sighting{with(empty("lines"), func(c *sighting) { c.stats.Len, c.stats.Dropped, c.rates = 64, 9, rates{} })}, pipeline[:2], "", "",
			"lines has dropped 9 values. The next reading, a second later, tells what moves.",
		},
		"the first reading of a channel that is not full": {
			[]sighting{with(empty("lines"), func(c *sighting) { c.rates = rates{} })}, pipeline[:2], "", "",
			"No channel is full. The next reading, a second later, tells what moves.",
		},
		"a queue that grows": {
			[]sighting{with(empty("lines"), func(c *sighting) {
				c.stats.Len, c.stats.Cap, c.rates.sent, c.stats.OldestValue = 12000, math.MaxInt, 900, 4*time.Second
			})}, pipeline[:2], slowStage, "parse",
			"parse is the slowest stage: lines has 12,000 values, the oldest 4.0 s old.",
		},
		"a queue that shrinks": {
			[]sighting{with(empty("lines"), func(c *sighting) {
				c.stats.Len, c.stats.Cap, c.rates.received, c.stats.OldestValue = 12000, math.MaxInt, 900, 4*time.Second
			})}, pipeline[:2], "", "",
			"No channel is full and no receiver waits long: the service keeps up.",
		},
		"no receiver yet": {
			[]sighting{with(blocked("lines", 3), func(c *sighting) { c.rates.received = 0 })}, pipeline[:1], stuckStages, "",
			"Nothing has been received from lines yet: lines is full, 3 senders wait.",
		},
		"a receiver in a library": {
			[]sighting{with(blocked("lines", 3), func(c *sighting) { c.stats.Received = 9 })}, pipeline[:1], slowStage, "",
			"Only libraries receive from lines: lines is full, 3 senders wait.",
		},
		"a receiver of another kind of channel": {
			[]sighting{with(blocked("disk", 3), func(c *sighting) { c.stats.Received, c.Kind = 9, "spill.Elastic" })}, []string{"read -> disk"}, slowStage, "",
			"Calls of a spill.Elastic are not sampled, so the receiver of disk is not known: disk is full, 3 senders wait.",
		},
		"a known receiver before an unknown one": {
			[]sighting{blocked("lines", 1), blocked("other", 9)}, pipeline[:2], slowStage, "parse",
			"parse is the slowest stage: lines is full, 1 sender waits.",
		},
		"two branches, of which the later one is the cause": {
			[]sighting{blocked("lines", 3), blocked("events", 1), empty("errors")},
			append(slices.Clone(pipeline), "parse -> errors", "lines -> copy", "errors -> log"), slowStage, "write",
			"write is the slowest stage: events is full, 1 sender waits.",
		},
		"one of two outputs is full": {
			[]sighting{blocked("lines", 3), empty("events"), blocked("errors", 1)},
			append(slices.Clone(pipeline), "parse -> errors", "errors -> log"), slowStage, "log",
			"log is the slowest stage: errors is full, 1 sender waits.",
		},
		"a retry loop": {
			[]sighting{blocked("jobs", 2)}, []string{"read -> jobs", "jobs -> work", "work -> jobs"}, slowStage, "work",
			"work is the slowest stage: jobs is full, 2 senders wait.",
		},
		"a cycle": {
			[]sighting{blocked("a", 1), blocked("b", 1)}, []string{"ping -> a", "a -> pong", "pong -> b", "b -> ping"}, stuckStages, "pong",
			"pong and ping wait for each other: a is full, 1 sender waits; b is full, 1 sender waits.",
		},
		"many outputs": {
			[]sighting{blocked("in", 1), empty("a"), empty("b"), empty("c"), empty("d")},
			[]string{"in -> route", "route -> a", "route -> b", "route -> c", "route -> d"}, slowStage, "route",
			"route is the slowest stage: in is full, 1 sender waits; the channels behind it have room.",
		},
		"a closed channel that nobody drains": {
			[]sighting{with(blocked("lines", 0), func(c *sighting) {
				c.stats.Closed, c.rates.sent, c.rates.received, c.stats.OldestValue = true, 0, 0, time.Hour
			}), starving("events", 1)}, pipeline[2:], slowStage, "parse",
			"parse sets the pace: events is empty, 1 receiver waits for it, and no channel is full.",
		},
		"a full channel that nobody uses": {
			[]sighting{with(blocked("lines", 0), func(c *sighting) { c.rates.sent, c.rates.received = 0, 0 }), starving("events", 1)}, pipeline, slowStage, "parse",
			"parse sets the pace: events is empty, 1 receiver waits for it, and no channel is full.",
		},
		"the consumer of results is held back": {
			[]sighting{blocked("lines", 4), blocked("events", 1)}, results, slowStage, "write",
			"write is the slowest stage: events is full, 1 sender waits.",
		},
		"the consumer of results is held back a little": {
			[]sighting{blocked("lines", 4), with(empty("events"), func(c *sighting) { c.stats.Len = 63 })}, results, slowStage, "write",
			"write is the slowest stage: events is 98% full.",
		},
		"workers, or the consumer of their results": {
			[]sighting{blocked("lines", 4), starving("events", 1)}, results, slowStage, "parse",
			"parse or collect is the slowest stage: lines is full, 4 senders wait.",
		},
		"the consumer of results waits for the source": {
			[]sighting{starving("lines", 1), starving("events", 9)}, results, slowStage, "read",
			"read sets the pace: lines is empty, 1 receiver waits for it, and no channel is full.",
		},
		"a cycle by way of a consumer of results": {
			[]sighting{blocked("lines", 1), blocked("events", 1)},
			append(slices.Clone(results), "write -> lines"), stuckStages, "collect",
			"collect and write wait for each other: lines is full, 1 sender waits; events is full, 1 sender waits.",
		},
		"a wait that the average misses": {
			[]sighting{with(empty("lines"), func(c *sighting) { c.stats.ReceiversWaiting = 1 }), starving("events", 1)}, pipeline, "", "",
			"No channel is full and no receiver waits long: the service keeps up.",
		},
		"an average above the number of goroutines": {
			[]sighting{with(blocked("lines", 1), func(c *sighting) { c.rates.senders.waiting = 1.6 })}, pipeline[:2], slowStage, "parse",
			"parse is the slowest stage: lines is full, 1 sender waits.",
		},
		"a closed channel starves no receiver": {
			[]sighting{with(starving("lines", 1), func(c *sighting) { c.stats.Closed = true })}, pipeline[:2], "", "",
			"No channel is full and no receiver waits long: the service keeps up.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, summary := diagnosed(test.channels, test.edges...)
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
		var channels []sighting
		var edges []string
		for i := range stages - 1 {
			c := starving("c"+name(i), 1)
			if i < slow {
				c = blocked("c"+name(i), 1)
			}
			channels = append(channels, c)
			edges = append(edges, name(i)+" -> c"+name(i), "c"+name(i)+" -> "+name(i+1))
		}
		if b, _ := diagnosed(channels, edges...); b == nil || b.Stage != name(slow) || b.Kind != slowStage {
			t.Errorf("stage %s is slow: %+v", name(slow), b)
		}
	}
}
