package doctor

import (
	"math"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/observe"
)

// A scene is an observation under construction: a service as its author would describe
// it, in goroutines, cores and events per second.
type scene struct {
	observe.Observation
	line int
}

func newScene(procs int) *scene {
	s := &scene{}
	s.Sources = observe.Sources{CPU: 5 * time.Second, Samples: 500, Trace: 200 * time.Millisecond, Events: 20_000}
	s.Cores = observe.Cores{Procs: procs, CPUs: procs}
	return s
}

// role adds goroutines with the same job. Its time is completed by its waits.
func (s *scene) role(name string, alive float64, t observe.Time) int {
	s.Roles = append(s.Roles, observe.Role{Name: name, Start: observe.Frame{Function: "main." + name, File: "main.go", Line: 10 * (len(s.Roles) + 1)}, Alive: alive, Time: t})
	return len(s.Roles) - 1
}

func (s *scene) node(kind observe.NodeKind, name string) int {
	s.Nodes = append(s.Nodes, observe.Node{Kind: kind, Name: name})
	return len(s.Nodes) - 1
}

// at returns an operation in the start function of a role, each at its own line.
func (s *scene) at(role int, op observe.Op) observe.Line {
	s.line++
	return observe.Line{Op: op, At: observe.Frame{Function: s.Roles[role].Start.Function, File: "main.go", Line: 100 + s.line}}
}

// wait adds goroutines of a role that wait at a node, and the role that ends their waits: -1 is
// the outside.
func (s *scene) wait(role, node int, op observe.Op, mean, rate float64, by int, with observe.Op) {
	l := s.at(role, op)
	s.waitAt(l, role, node, mean, rate, by, with)
}

func (s *scene) waitAt(l observe.Line, role, node int, mean, rate float64, by int, with observe.Op) {
	s.Nodes[node].Lines = append(s.Nodes[node].Lines, l)
	s.Waits = append(s.Waits, observe.Wait{Role: role, Node: node, Line: l, Known: true, Mean: mean, Rate: rate})
	t := &s.Roles[role].Time
	switch s.Nodes[node].Kind {
	case observe.Mutex:
		t.Lock += mean
	case observe.Limit:
		t.Limit += mean
	case observe.Outside:
		t.Outside += mean
	case observe.Timer:
		t.Sleep += mean
	case observe.Disk:
		t.System += mean
		t.Disk += mean
	default:
		t.Partner += mean
	}
	k := observe.Wake{Wait: len(s.Waits) - 1, Role: by, Rate: rate, Mean: mean}
	if by >= 0 {
		k.By = s.at(by, with)
		s.Nodes[node].Lines = append(s.Nodes[node].Lines, k.By)
	}
	s.Wakes = append(s.Wakes, k)
}

// spend adds CPU time of a role.
func (s *scene) spend(role int, what observe.Category, cores float64, op observe.Op, parks bool) *observe.Spend {
	s.Spent = append(s.Spent, observe.Spend{Role: role, Line: s.at(role, op), What: what, Cores: cores, Samples: int64(cores * 500), Parks: parks})
	s.Cores.Used += cores
	return &s.Spent[len(s.Spent)-1]
}

// diagnose completes the cores and diagnoses the scene.
func (s *scene) diagnose() *Diagnosis {
	c := &s.Cores
	for _, r := range s.Roles {
		c.Running += r.Time.Running + max(0, r.Time.System-r.Time.Disk)
		c.Runnable += r.Time.Runnable
	}
	c.Running = math.Min(c.Running, float64(c.Procs))
	return Diagnose(&s.Observation)
}

const (
	snd = observe.Send
	rcv = observe.Receive
)

type run = observe.Time // of goroutines, besides their waits

// TestShapes diagnoses one service of each shape.
func TestShapes(t *testing.T) {
	for _, c := range []struct {
		name     string
		build    func() *scene
		verdict  Verdict
		channels Involvement
		role     string // "" if any
		first    Name   // "" for no remedy
		low      float64
		high     float64 // of the range that a gain must overlap; 0: no gain
	}{
		{"eight producers, one worker that computes", func() *scene {
			s := newScene(4)
			c := s.node(observe.Channel, "")
			p, w := s.role("producer", 8, run{Running: 0.1}), s.role("worker", 1, run{Running: 0.97})
			s.wait(p, c, snd, 7.9, 20_000, w, rcv)
			s.spend(w, observe.OwnCode, 0.9, "", false)
			s.spend(w, observe.Passing, 0.07, rcv, true)
			s.spend(p, observe.OwnCode, 0.1, "", false)
			return s
		}, Stage, Partly, "worker", MoreReceivers, 3, 4},
		{"a hot channel into a goroutine that copies", func() *scene {
			s := newScene(2)
			c := s.node(observe.Channel, "")
			p, w := s.role("sender", 16, run{Running: 0.9, Runnable: 0.2}), s.role("collector", 1, run{Running: 0.85, Runnable: 0.1})
			s.wait(p, c, snd, 14.5, 300_000, w, rcv)
			s.wait(w, c, rcv, 0.05, 10_000, p, snd)
			s.spend(w, observe.OwnCode, 0.35, "", false)
			s.spend(w, observe.Passing, 0.5, rcv, true)
			s.spend(p, observe.OwnCode, 0.3, "", false)
			s.spend(p, observe.Passing, 0.6, snd, true)
			return s
		}, Channel, Yes, "collector", Batch, 1.5, 3},
		{"a chain of tiny stages", func() *scene {
			s := newScene(2)
			src, st, sink := s.role("source", 1, run{Running: 0.25, Runnable: 0.06}), s.role("stage", 4, run{Running: 1.2, Runnable: 0.2}), s.role("sink", 1, run{Running: 0.25, Runnable: 0.04})
			c := s.node(observe.Channel, "")
			s.wait(src, c, snd, 0.69, 350_000, st, rcv)
			s.wait(st, c, rcv, 1.2, 800_000, st, snd)
			s.wait(st, c, snd, 1.4, 800_000, st, rcv)
			s.wait(sink, c, rcv, 0.71, 350_000, st, snd)
			for _, r := range []int{src, sink} {
				s.spend(r, observe.OwnCode, 0.05, "", false)
				s.spend(r, observe.Passing, 0.2, snd, true)
			}
			s.spend(st, observe.OwnCode, 0.2, "", false)
			s.spend(st, observe.Passing, 1.0, rcv, true)
			return s
		}, Lockstep, Yes, "", Batch, 2, 8},
		{"a sync for each value", func() *scene {
			s := newScene(2)
			c, d := s.node(observe.Channel, ""), s.node(observe.Disk, "")
			h, w := s.role("handler", 32, run{Running: 0.05}), s.role("journal", 1, run{Running: 0.1})
			s.wait(h, c, rcv, 31, 1000, w, snd)
			s.wait(w, d, observe.File, 0.9, 1000, -1, "")
			s.wait(w, c, rcv, 0.01, 10, h, snd)
			s.spend(w, observe.SystemCalls, 0.03, observe.File, false)
			return s
		}, Stage, Partly, "journal", Batch, 4, 20},
		{"one worker that waits outside", func() *scene {
			s := newScene(2)
			c, o := s.node(observe.Channel, ""), s.node(observe.Outside, "")
			f, w := s.role("feeder", 1, run{Running: 0.01}), s.role("worker", 1, run{Running: 0.01})
			s.wait(f, c, snd, 0.99, 400, w, rcv)
			s.wait(w, o, observe.Network, 0.99, 400, -1, "")
			return s
		}, Stage, Partly, "worker", MoreReceivers, 20, 70},
		{"a lock made of a channel", func() *scene {
			s := newScene(2)
			c := s.node(observe.Channel, "")
			b := s.role("box", 32, run{Running: 0.9, Runnable: 0.5})
			s.wait(b, c, snd, 30.6, 200_000, b, rcv)
			s.spend(b, observe.OwnCode, 0.2, "", false)
			s.spend(b, observe.Passing, 0.7, snd, true)
			return s
		}, Channel, Yes, "", UseMutex, 2, 9},
		{"a limit made of a counter and a condition", func() *scene {
			s := newScene(2)
			c, out := s.node(observe.Condition, ""), s.node(observe.Outside, "network")
			r := s.role("unload", 30, run{Running: 0.05})
			s.wait(r, c, observe.CondWait, 26, 320, r, observe.Signal)
			s.wait(r, out, observe.Network, 3.9, 320, -1, "")
			s.spend(r, observe.OwnCode, 0.05, "", false)
			return s
		}, Limit, No, "", RaiseLimit, 2, 10},
		{"a limit inside a library", func() *scene {
			s := newScene(2)
			l, o := s.node(observe.Limit, "database/sql"), s.node(observe.Outside, "")
			h := s.role("handler", 64, run{Running: 0.2})
			s.wait(h, l, observe.Acquire, 55.8, 800, h, observe.Receive)
			s.wait(h, o, observe.Network, 8, 800, -1, "")
			s.Waits[0].In = "database/sql.(*DB).QueryContext"
			return s
		}, Limit, No, "", RaiseLimit, 4, 9},
		{"a lock that no goroutine gets", func() *scene {
			s := newScene(2)
			l, tick := s.node(observe.Mutex, ""), s.node(observe.Timer, "")
			w, r := s.role("settle", 4, run{}), s.role("refresh", 1, run{Running: 0.02})
			s.wait(w, l, observe.Lock, 4, 0, -1, "")
			s.wait(r, tick, observe.Sleep, 0.98, 400, -1, "")
			s.Sources.Trace = 2 * time.Second
			return s
		}, Stuck, No, "settle", Release, 0, 0},
		{"a hot channel whose ends share the cores with others", func() *scene {
			s := newScene(2)
			c := s.node(observe.Channel, "")
			p, w := s.role("listen", 1, run{Running: 0.48, Runnable: 0.5}), s.role("follow", 1, run{Running: 0.6, Runnable: 0.38})
			s.wait(p, c, snd, 0.02, 15_000, w, rcv)
			s.wait(w, c, rcv, 0.02, 15_000, p, snd)
			s.spend(p, observe.Passing, 0.4, snd, false)
			s.spend(w, observe.Passing, 0.35, rcv, false)
			s.spend(w, observe.OwnCode, 0.15, "", false)
			s.Cores.Others, s.Cores.Starved = 2, 0.4
			return s
		}, Channel, Yes, "", Batch, 1.3, 10},
		{"goroutines of requests", func() *scene {
			s := newScene(2)
			c, think := s.node(observe.Channel, ""), s.node(observe.Timer, "")
			u, d, h := s.role("user", 1, run{Running: 0.03}), s.role("serve", 1, run{}), s.role("handle", 0.03, run{Running: 0.027})
			s.Roles[h].Created = 800
			s.wait(u, think, observe.Sleep, 0.96, 800, -1, "")
			s.wait(d, c, rcv, 0.99, 800, u, snd)
			s.wait(h, c, rcv, 0.001, 800, d, snd)
			s.spend(u, observe.OwnCode, 0.1, "", false)
			return s
		}, Load, No, "", "", 0, 0},
		{"a partition with most of the calls", func() *scene {
			s := newScene(2)
			in, out, t := s.node(observe.Channel, ""), s.node(observe.Channel, ""), s.node(observe.Outside, "")
			c, p := s.role("touch", 60, run{}), s.role("partition", 12, run{})
			s.Roles[p].Own = []float64{1, 0.09, 0.09, 0.09}
			s.wait(c, out, rcv, 33, 1100, p, observe.Close)
			s.wait(c, in, snd, 26, 900, p, rcv)
			s.wait(p, in, rcv, 10.7, 230, c, snd)
			s.wait(p, t, observe.Network, 1.3, 1100, -1, "")
			return s
		}, Stage, Partly, "partition", Balance, 2, 12},
		{"a rate that is limited", func() *scene {
			s := newScene(2)
			l := s.node(observe.Limit, "rate.Limiter")
			c := s.role("caller", 4, run{Running: 0.1})
			s.wait(c, l, observe.Acquire, 3.9, 100, -1, "")
			s.Waits[0].In = "golang.org/x/time/rate.(*Limiter).Wait"
			return s
		}, Limit, No, "", RaiseLimit, 0, 0},
		{"one of several subscribers is slow", func() *scene {
			s := newScene(2)
			c, o := s.node(observe.Channel, ""), s.node(observe.Outside, "")
			f, w, q := s.role("publisher", 1, run{Running: 0.02}), s.role("slow", 1, run{Running: 0.03}), s.role("quick", 3, run{Running: 0.02})
			s.wait(f, c, snd, 0.97, 800, w, rcv)
			s.wait(q, c, rcv, 2.95, 2400, f, snd)
			s.wait(w, o, observe.Network, 0.97, 800, -1, "")
			return s
		}, Stage, Partly, "slow", Batch, 2, 30},
		{"a goroutine for each value", func() *scene {
			s := newScene(2)
			c := s.node(observe.Channel, "")
			p, w, k := s.role("start", 1, run{Running: 0.9, Runnable: 0.1}), s.role("each", 200, run{Running: 0.6, Runnable: 190}), s.role("sum", 1, run{Running: 0.4, Runnable: 0.3})
			s.Roles[w].Created = 300_000
			s.wait(w, c, snd, 9, 250_000, k, rcv)
			s.wait(k, c, rcv, 0.3, 40_000, w, snd)
			s.spend(p, observe.Scheduling, 0.8, "", false).Makes = "goroutine"
			s.spend(w, observe.Scheduling, 0.5, "", false)
			s.spend(w, observe.OwnCode, 0.1, "", false)
			s.spend(k, observe.Passing, 0.4, rcv, true)
			return s
		}, Channel, Yes, "", RemoveHop, 2, 20},
		{"round trips between two", func() *scene {
			s := newScene(2)
			in, out := s.node(observe.Channel, ""), s.node(observe.Channel, "")
			a, b := s.role("asker", 1, run{Running: 0.3}), s.role("answerer", 1, run{Running: 0.3})
			s.wait(a, out, rcv, 0.7, 200_000, b, snd)
			s.wait(b, in, rcv, 0.7, 200_000, a, snd)
			s.spend(a, observe.Passing, 0.25, snd, true)
			s.spend(a, observe.OwnCode, 0.06, snd, true)
			s.spend(b, observe.Passing, 0.25, snd, true)
			return s
		}, Lockstep, Yes, "", UseMutex, 1.5, 20},
		{"a channel that wakes one waiter by the next", func() *scene {
			s := newScene(2)
			c := s.node(observe.Channel, "")
			f, w, o := s.role("sender", 4, run{Running: 0.05}), s.role("worker", 1, run{Running: 0.02}), s.node(observe.Outside, "")
			s.wait(f, c, snd, 3.9, 400, w, rcv)
			k := s.Wakes[0] // half of its wake-ups are passed on by a sender
			s.Wakes[0].Mean, s.Wakes[0].Rate = 0.1, 200
			k.Role, k.By, k.Mean, k.Rate = f, s.at(f, snd), 3.8, 200
			s.Wakes = append(s.Wakes, k)
			s.wait(w, o, observe.Network, 0.98, 400, -1, "")
			return s
		}, Stage, Partly, "worker", MoreReceivers, 2, 80},
		{"an idle pool beside a bottleneck", func() *scene {
			s := newScene(4)
			jobs, work := s.node(observe.Channel, ""), s.node(observe.Channel, "")
			src, pool := s.role("source", 1, run{Running: 0.85}), s.role("pool", 100, run{Running: 0.2})
			h, w := s.role("handler", 6, run{Running: 0.1}), s.role("worker", 1, run{Running: 0.99})
			s.wait(pool, jobs, rcv, 99.8, 5000, src, snd)
			s.wait(h, work, snd, 5.9, 5000, w, rcv)
			s.spend(src, observe.OwnCode, 0.8, "", false)
			s.spend(w, observe.OwnCode, 0.95, "", false)
			return s
		}, Stage, Partly, "worker", MoreReceivers, 1.1, 2},
		{"a loop with a default", func() *scene {
			s := newScene(2)
			w := s.role("loop", 1, run{Running: 1})
			s.spend(w, observe.OwnCode, 0.5, "", false)
			s.spend(w, observe.Passing, 0.5, observe.PollReceive, false)
			return s
		}, Polling, Yes, "loop", StopPolling, 0, 0},
		{"a timer in a select, while callers wait for its other values", func() *scene {
			s := newScene(2)
			c, reply := s.node(observe.Channel, ""), s.node(observe.Channel, "")
			p, w := s.role("caller", 20, run{Running: 0.01}), s.role("poller", 3, run{Running: 0.03})
			s.wait(p, reply, rcv, 19.9, 13_000, w, snd)
			s.wait(w, c, observe.Select, 2.8, 630, -1, "")
			s.wait(w, c, observe.Select, 0.15, 40, p, snd)
			s.spend(w, observe.OwnCode, 0.02, "", false)
			return s
		}, Polling, Yes, "poller", StopPolling, 0, 0},
		{"a limit of the rate behind a full queue", func() *scene {
			s := newScene(2)
			c, tokens, tick := s.node(observe.Channel, ""), s.node(observe.Channel, ""), s.node(observe.Timer, "")
			p, w, b := s.role("campaign", 3, run{}), s.role("sender", 4, run{Running: 0.02}), s.role("bucket", 1, run{})
			s.wait(p, c, snd, 3, 300, w, rcv)
			s.wait(w, tokens, rcv, 3.98, 290, b, observe.PollSend)
			s.wait(b, tick, rcv, 1, 100, -1, "")
			s.spend(w, observe.OwnCode, 0.02, "", false)
			return s
		}, Limit, No, "", "", 0, 0},
		{"a lock whose holder waits for the network", func() *scene {
			s := newScene(2)
			l, far := s.node(observe.Mutex, ""), s.node(observe.Outside, "")
			p := s.role("client", 24, run{Running: 0.03})
			s.wait(p, l, observe.Lock, 23, 800, p, observe.Unlock)
			s.wait(p, far, observe.Network, 0.97, 400, -1, "")
			s.spend(p, observe.OwnCode, 0.03, "", false)
			return s
		}, Lock, No, "", Cheaper, 0, 0},
		{"a broadcast to thousands, now and then", func() *scene {
			s := newScene(2)
			c, in, tick := s.node(observe.Channel, ""), s.node(observe.Channel, ""), s.node(observe.Timer, "")
			w, h, src := s.role("writer", 2000, run{Running: 0.09, Runnable: 60}), s.role("hub", 1, run{Running: 0.12}), s.role("source", 1, run{})
			s.wait(w, c, rcv, 1940, 80_000, h, observe.PollSend)
			s.wait(h, in, rcv, 0.88, 40, src, snd)
			s.wait(src, tick, observe.Sleep, 1, 40, -1, "")
			s.spend(h, observe.Passing, 0.1, observe.PollSend, false)
			s.spend(w, observe.Passing, 0.06, rcv, true)
			return s
		}, Load, No, "", "", 0, 0},
		{"a stage that waits outside, with time left", func() *scene {
			s := newScene(2)
			c, far, tick := s.node(observe.Channel, ""), s.node(observe.Outside, ""), s.node(observe.Timer, "")
			w, src := s.role("settle", 1, run{Running: 0.01}), s.role("arrive", 1, run{})
			s.wait(w, far, observe.Network, 0.86, 190, -1, "")
			s.wait(w, c, rcv, 0.13, 20, src, snd)
			s.wait(src, tick, observe.Sleep, 1, 160, -1, "")
			s.spend(w, observe.OwnCode, 0.01, "", false)
			return s
		}, Load, No, "", "", 0, 0},
		{"a service that is fine", func() *scene {
			s := newScene(2)
			c, n := s.node(observe.Channel, ""), s.node(observe.Outside, "")
			h, w := s.role("handler", 20, run{Running: 0.1}), s.role("worker", 4, run{Running: 0.5})
			s.waitAt(observe.Line{Op: observe.Network, At: observe.Frame{Function: "net/http.(*conn).serve"}}, h, n, 19.4, 2000, -1, "")
			s.wait(h, c, rcv, 0.5, 2000, w, snd)
			s.wait(w, c, rcv, 3.5, 2000, h, snd)
			s.spend(w, observe.OwnCode, 0.5, "", false)
			s.spend(h, observe.OwnCode, 0.1, "", false)
			return s
		}, Load, No, "", "", 0, 0},
		{"two that ask each other, with nothing from outside", func() *scene {
			s := newScene(2)
			in, out := s.node(observe.Channel, ""), s.node(observe.Channel, "")
			a, b := s.role("asker", 1, run{Running: 0.5}), s.role("answerer", 1, run{Running: 0.5})
			s.wait(a, out, rcv, 0.5, 2000, b, snd)
			s.wait(b, in, rcv, 0.5, 2000, a, snd)
			s.spend(a, observe.OwnCode, 0.5, "", false)
			s.spend(b, observe.OwnCode, 0.5, "", false)
			return s
		}, Undecided, Unknown, "", "", 0, 0},
		{"a reader of the network that never has to wait for more", func() *scene {
			s := newScene(2)
			w := s.role("ingest", 1, run{Running: 0.13, System: 0.85})
			s.spend(w, observe.SystemCalls, 0.85, observe.Network, false)
			s.spend(w, observe.OwnCode, 0.13, "", false)
			return s
		}, Stage, Partly, "ingest", Batch, 1.3, 8},
		{"goroutines of values that compute and wait for nothing", func() *scene {
			s := newScene(4)
			tick := s.node(observe.Timer, "")
			c, w := s.role("clock", 1, run{}), s.role("each", 0.9, run{Running: 0.9})
			s.Roles[w].Created, s.Roles[w].By = 400, s.Roles[c].Start
			s.wait(c, tick, rcv, 1, 400, -1, "")
			s.spend(w, observe.OwnCode, 0.9, "", false)
			return s
		}, Load, No, "", "", 0, 0},
		{"a pipe into a goroutine that computes", func() *scene {
			s := newScene(4)
			c := s.node(observe.Channel, observe.Pipe)
			p, w := s.role("write", 1, run{Running: 0.1}), s.role("compress", 1, run{Running: 0.98})
			s.wait(p, c, snd, 0.9, 5000, w, rcv)
			s.spend(w, observe.OwnCode, 0.95, "", false)
			s.spend(p, observe.OwnCode, 0.1, "", false)
			return s
		}, Stage, Partly, "compress", Cheaper, 0, 0},
		{"full cores, own code", func() *scene {
			s := newScene(2)
			w := s.role("worker", 8, run{Running: 1.98, Runnable: 5.9})
			s.spend(w, observe.OwnCode, 1.9, "", false)
			s.spend(w, observe.Passing, 0.05, rcv, true)
			return s
		}, Cores, No, "", Cheaper, 0, 0},
		{"allocation", func() *scene {
			s := newScene(2)
			w := s.role("worker", 8, run{Running: 1.8, Runnable: 5.9, Collect: 0.2})
			s.spend(w, observe.OwnCode, 0.1, "", false)
			s.spend(w, observe.Allocating, 1.0, "", false).Makes = "slice"
			s.spend(w, observe.Collecting, 0.8, "", false)
			return s
		}, Memory, No, "worker", Reuse, 0, 0},
		{"idle", func() *scene {
			s := newScene(2)
			c := s.node(observe.Channel, "")
			w := s.role("worker", 150, run{})
			s.waitAt(s.at(w, rcv), w, c, 150, 0, -1, "")
			s.Sources.Events = 500
			return s
		}, Idle, No, "", "", 0, 0},
		{"a shard with most of the work", func() *scene {
			s := newScene(4)
			c := s.node(observe.Channel, "")
			d, w := s.role("dispatch", 1, run{Running: 0.05}), s.role("shard", 8, run{Running: 1.25})
			s.Roles[w].Own = []float64{0.99, 0.05, 0.04, 0.04, 0.04, 0.03, 0.03, 0.03}
			s.wait(d, c, snd, 0.94, 5000, w, rcv)
			s.wait(w, c, rcv, 6.7, 5000, d, snd)
			s.spend(w, observe.OwnCode, 1.2, "", false)
			return s
		}, Stage, Partly, "shard", Balance, 2, 8},
		{"a mailbox used as a lock", func() *scene {
			s := newScene(2)
			in, out := s.node(observe.Channel, ""), s.node(observe.Channel, "")
			h, a := s.role("caller", 32, run{Running: 0.8, Runnable: 0.6}), s.role("actor", 1, run{Running: 0.85, Runnable: 0.1})
			s.wait(h, in, snd, 5, 150_000, a, rcv)
			s.wait(h, out, rcv, 25, 200_000, a, snd)
			s.wait(a, in, rcv, 0.05, 5000, h, snd)
			s.spend(a, observe.OwnCode, 0.1, "", false)
			s.spend(a, observe.Passing, 0.75, snd, true)
			s.spend(h, observe.Passing, 0.7, snd, true)
			s.spend(h, observe.OwnCode, 0.1, "", false)
			return s
		}, Channel, Yes, "actor", UseMutex, 2, 8},
		{"a dispatcher of idle workers' channels", func() *scene {
			s := newScene(2)
			jobs, free, own := s.node(observe.Channel, ""), s.node(observe.Channel, ""), s.node(observe.Channel, "")
			f, d, w := s.role("feed", 4, run{Running: 0.2}), s.role("dispatcher", 1, run{Running: 0.9, Runnable: 0.05}), s.role("worker", 8, run{Running: 0.8})
			s.wait(f, jobs, snd, 3.7, 100_000, d, rcv)
			s.wait(w, own, rcv, 6, 100_000, d, snd)
			s.wait(w, free, snd, 1.2, 50_000, d, rcv)
			s.wait(d, free, rcv, 0.05, 1000, w, snd)
			s.spend(d, observe.OwnCode, 0.05, "", false)
			s.spend(d, observe.Passing, 0.85, snd, true)
			s.spend(w, observe.Passing, 0.4, rcv, true)
			s.spend(w, observe.OwnCode, 0.3, "", false)
			return s
		}, Channel, Yes, "dispatcher", RemoveHop, 1.5, 4},
		{"closed-loop clients of something outside", func() *scene {
			s := newScene(2)
			n := s.node(observe.Outside, "")
			h := s.role("client", 8, run{Running: 0.02})
			s.wait(h, n, observe.Network, 7.98, 800, -1, "")
			s.spend(h, observe.OwnCode, 0.03, "", false)
			return s
		}, Outside, No, "client", "", 0, 0},
		{"clients of something outside that has no more for two", func() *scene {
			s := newScene(2)
			c, n := s.node(observe.Channel, ""), s.node(observe.Outside, "")
			p, w := s.role("source", 1, run{Running: 0.01}), s.role("clerk", 4, run{Running: 0.02})
			s.wait(p, c, snd, 0.98, 300, w, rcv)
			s.wait(w, n, observe.Network, 3.95, 300, -1, "")
			return s
		}, Outside, Partly, "clerk", MoreReceivers, 0, 0},
		{"a write that the other end does not take", func() *scene {
			s := newScene(2)
			c, n := s.node(observe.Channel, ""), s.node(observe.Outside, observe.SlowReader)
			p, w := s.role("source", 6, run{Running: 0.2}), s.role("forward", 1, run{Running: 0.02})
			s.wait(p, c, snd, 5.8, 300, w, rcv)
			s.wait(w, n, observe.Network, 0.95, 200, -1, "")
			return s
		}, Outside, Partly, "forward", MoreReceivers, 0, 0},
		{"a plan for each tick, under a limit that is met for half of the time", func() *scene {
			s := newScene(2)
			g, l, n, t := s.node(observe.Group, ""), s.node(observe.Limit, "errgroup.SetLimit"), s.node(observe.Outside, ""), s.node(observe.Timer, "")
			p, w := s.role("plan", 1, run{Running: 0.01}), s.role("ask", 2, run{Running: 0.02})
			s.Roles[w].Created, s.Roles[w].By = 400, s.Roles[p].Start
			s.wait(p, l, observe.Acquire, 0.49, 370, w, rcv)
			s.wait(p, t, rcv, 0.47, 7, -1, "")
			s.wait(p, g, observe.GroupWait, 0.02, 7, w, observe.GroupDone)
			s.wait(w, n, observe.Network, 1.95, 400, -1, "")
			return s
		}, Load, No, "", "", 0, 0},
		{"sessions that wait for their clients", func() *scene {
			s := newScene(2)
			in, n := s.node(observe.Outside, "new connections"), s.node(observe.Outside, "")
			a, w := s.role("listen", 1, run{}), s.role("attend", 300, run{Running: 0.03})
			l := s.at(a, observe.Network)
			l.In = "net.(*TCPListener).Accept"
			s.waitAt(l, a, in, 1, 0, -1, "")
			s.wait(w, n, observe.Network, 299, 850, -1, "")
			return s
		}, Load, No, "", "", 0, 0},
		{"requests that are refused before they wait", func() *scene {
			s := newScene(2)
			n, t := s.node(observe.Outside, ""), s.node(observe.Timer, "")
			c, w := s.role("arrivals", 1, run{Running: 0.01}), s.role("quote", 2.7, run{Running: 0.06})
			s.Roles[w].Created, s.Roles[w].By = 2000, s.Roles[c].Start
			s.wait(c, t, rcv, 0.98, 500, -1, "")
			s.wait(w, n, observe.Network, 2.6, 310, -1, "")
			return s
		}, Undecided, Unknown, "", "", 0, 0},
		{"values that are given up after a deadline", func() *scene {
			s := newScene(2)
			c, tick, n := s.node(observe.Channel, ""), s.node(observe.Timer, ""), s.node(observe.Outside, "")
			g, p, w := s.role("clock", 1, run{}), s.role("put", 4, run{}), s.role("store", 1, run{Running: 0.01})
			s.Roles[p].Created = 1000
			s.wait(g, tick, observe.Sleep, 0.98, 5, -1, "")
			s.wait(p, c, observe.Select, 4, 945, w, rcv)
			k := len(s.Wakes) - 1
			s.Wakes[k].Rate, s.Wakes[k].Mean = 15, 0.04
			s.Wakes = append(s.Wakes, observe.Wake{Wait: s.Wakes[k].Wait, Role: -1, Rate: 930, Mean: 3.9})
			s.wait(w, c, rcv, 0.88, 5, p, observe.Select)
			s.wait(w, n, observe.Network, 0.1, 70, -1, "")
			return s
		}, Shedding, Yes, "store", Buffer, 2, 10},
		{"goroutines that sleep and may ask again", func() *scene {
			s := newScene(2)
			c, t := s.node(observe.Channel, ""), s.node(observe.Timer, "")
			p, w := s.role("client", 12, run{Running: 0.05}), s.role("worker", 2, run{Running: 0.05})
			s.wait(p, t, observe.Sleep, 11.9, 1400, -1, "")
			s.wait(w, c, rcv, 1.95, 1400, p, snd)
			return s
		}, Undecided, Unknown, "", "", 0, 0},
		{"bursts that are shed", func() *scene {
			s := newScene(2)
			c := s.node(observe.Channel, "")
			tick := s.node(observe.Timer, "")
			g, w := s.role("intake", 1, run{Running: 0.02}), s.role("worker", 1, run{Running: 0.1})
			s.wait(g, tick, observe.Sleep, 0.98, 10, -1, "")
			s.wait(w, c, rcv, 0.9, 100, g, observe.PollSend)
			s.Roles[w].Full = 0.08
			s.spend(w, observe.OwnCode, 0.1, "", false)
			return s
		}, Shedding, Yes, "worker", Buffer, 2, 10},
		{"a context for each receive", func() *scene {
			s := newScene(2)
			c := s.node(observe.Channel, "")
			p, w := s.role("producer", 4, run{Running: 0.4}), s.role("consumer", 1, run{Running: 0.95})
			s.wait(p, c, snd, 3.6, 200_000, w, rcv)
			s.spend(w, observe.Timers, 0.7, "", false).Makes = "context"
			s.spend(w, observe.OwnCode, 0.15, "", false)
			s.spend(w, observe.Passing, 0.1, rcv, true)
			s.spend(p, observe.Passing, 0.3, snd, true)
			return s
		}, Stage, Partly, "consumer", Reuse, 2, 8},
		{"a quota", func() *scene {
			s := newScene(2)
			w := s.role("worker", 8, run{Running: 1.9, Runnable: 6})
			s.spend(w, observe.OwnCode, 0.5, "", false)
			s.Cores.Starved = 0.74
			return s
		}, Cores, No, "", MoreCores, 2, 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := c.build().diagnose()
			if d.Verdict != c.verdict || d.Channels != c.channels {
				t.Errorf("verdict %s, channels %s (%v), want %s, %s: %s", d.Verdict, d.Channels, d.Probability, c.verdict, c.channels, d.Answer)
			}
			if c.role != "" && (d.Bottleneck == nil || d.Bottleneck.Role != c.role) {
				t.Errorf("bottleneck %+v, want role %s", d.Bottleneck, c.role)
			}
			var first Name
			if len(d.Remedies) > 0 {
				first = d.Remedies[0].Name
			}
			if first != c.first {
				t.Errorf("first remedy %q, want %q: %s", first, c.first, d.Next)
			}
			if first == "" {
				return
			}
			g := d.Remedies[0].Gain
			if (g != nil) != (c.high > 0) || g != nil && (g.Low > c.high || g.High < c.low) {
				t.Errorf("gain %+v, want one that overlaps %v to %v", g, c.low, c.high)
			}
			sound(t, d)
			if testing.Verbose() {
				t.Log(d.Answer, d.Probability)
				for _, r := range d.Remedies {
					t.Log("  ", r.Name, r.Change, r.Gain, r.Condition)
				}
			}
		})
	}
}

// sound checks what holds for every answer.
func sound(t *testing.T, d *Diagnosis) {
	t.Helper()
	if len(d.Remedies) > 2 {
		t.Errorf("%d remedies", len(d.Remedies))
	}
	for _, r := range d.Remedies {
		if g := r.Gain; g != nil && !(g.Low >= 1 && g.Low <= g.Likely && g.Likely <= g.High) {
			t.Errorf("%s: gain %+v is not in order", r.Name, g)
		}
	}
	if d.Verdict == Undecided && (len(d.Remedies) > 0 || d.Next == "") {
		t.Errorf("undecided, with %d remedies and next %q", len(d.Remedies), d.Next)
	}
}
