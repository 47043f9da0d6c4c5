package doctor

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/observe"
)

// TestAlone diagnoses what a single source says: it never says more.
func TestAlone(t *testing.T) {
	profile := func(own, passing, memory float64) *scene {
		s := newScene(0)
		s.Sources = observe.Sources{CPU: 5 * time.Second, Samples: 500}
		w := s.role("worker", 4, run{})
		s.spend(w, observe.OwnCode, own, "", false)
		s.spend(w, observe.Passing, passing, rcv, true)
		s.spend(w, observe.Allocating, memory, "", false)
		return s
	}
	for _, c := range []struct {
		name    string
		scene   *scene
		verdict Verdict
		next    string
	}{
		{"a CPU profile that computes", profile(1.6, 0.1, 0.1), Undecided, "trace"},
		{"a CPU profile of a hot channel", profile(0.5, 0.9, 0.1), Channel, ""},
		{"a CPU profile of garbage", profile(0.3, 0.1, 1.2), Memory, ""},
		{"a CPU profile of nothing", profile(0.001, 0, 0), Idle, "load"},
		{"a build that bars it", func() *scene {
			s := profile(0.5, 0.9, 0.1)
			s.Artifacts = []observe.Artifact{{Kind: "race build", Text: "Built with -race", Bars: true}}
			return s
		}(), Undecided, "race build"},
		{"nothing at all", &scene{}, Undecided, "trace"},
	} {
		d := c.scene.diagnose()
		if d.Verdict != c.verdict || !strings.Contains(d.Next, c.next) {
			t.Errorf("%s: %s, next %q (%v): %s", c.name, d.Verdict, d.Next, d.Probability, d.Answer)
		}
		sound(t, d)
	}
}

// TestFewEvents abstains where a verdict would rest on a handful of events.
func TestFewEvents(t *testing.T) {
	s := newScene(2)
	c := s.node(observe.Channel, "")
	p, w := s.role("producer", 2, run{}), s.role("worker", 1, run{Running: 0.8})
	s.wait(p, c, snd, 1.9, 5, w, rcv)
	s.Sources.Events, s.Sources.Samples = 40, 4
	d := s.diagnose()
	if d.Verdict != Undecided || !strings.Contains(d.Answer, "possibly") || len(d.Remedies) != 0 || d.Bottleneck != nil {
		t.Errorf("%s (%v) with %d remedies: %s", d.Verdict, d.Probability, len(d.Remedies), d.Answer)
	}
}

// TestBehind names the role that is busy, and not the one before it, for which most wait.
func TestBehind(t *testing.T) {
	s := newScene(4)
	front, back := s.node(observe.Channel, ""), s.node(observe.Channel, "")
	h, m, w := s.role("handler", 10, run{}), s.role("middle", 1, run{Running: 0.1}), s.role("worker", 1, run{Running: 1})
	s.wait(h, front, snd, 10, 1000, m, rcv)
	s.wait(m, back, snd, 0.9, 1000, w, rcv)
	s.spend(w, observe.OwnCode, 1, "", false)
	d := s.diagnose()
	if d.Bottleneck == nil || d.Bottleneck.Role != "worker" {
		t.Errorf("%s: %+v, want the worker", d.Verdict, d.Bottleneck)
	}
}

// TestSoundAnswers diagnoses observations that no service would make: whatever they hold,
// an answer keeps its promises and is valid JSON.
func TestSoundAnswers(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	ops := []observe.Op{snd, rcv, observe.Select, observe.PollSend, observe.PollReceive, observe.Lock, observe.Acquire, observe.CondWait, observe.GroupWait, observe.Sleep, observe.Network, observe.File, observe.Yield, ""}
	kinds := []observe.NodeKind{observe.Channel, observe.Mutex, observe.Limit, observe.Condition, observe.Group, observe.Outside, observe.Disk, observe.Timer}
	what := []observe.Category{observe.OwnCode, observe.Passing, observe.Scheduling, observe.Locking, observe.Collecting, observe.Allocating, observe.SystemCalls, observe.Timers, observe.Profiling}
	pick := func(n int) int { return random.IntN(n) }
	figure := func() float64 { return []float64{0, 1e-9, 0.01, 0.5, 1, 3, 40, 1e6}[pick(8)] * random.Float64() }
	for range 1000 {
		s := newScene(pick(5))
		s.Cores.Starved, s.Cores.Others = random.Float64(), figure()
		if pick(3) == 0 {
			s.Sources.Trace, s.Sources.Events = 0, 0
		}
		for range 1 + pick(5) {
			r := s.role("role", figure(), run{Running: figure(), Runnable: figure(), System: figure(), Disk: figure(), Outside: figure(), Sleep: figure(), Collect: figure(), Unknown: figure()})
			s.Roles[r].Full, s.Roles[r].Created, s.Roles[r].Own, s.Roles[r].Runtime = random.Float64(), figure(), []float64{random.Float64()}, pick(6) == 0
		}
		for range 1 + pick(4) {
			s.node(kinds[pick(len(kinds))], []string{"", "new connections", "orders"}[pick(3)])
		}
		for range pick(12) {
			s.wait(pick(len(s.Roles)), pick(len(s.Nodes)), ops[pick(len(ops))], figure(), figure(), pick(len(s.Roles)+1)-1, ops[pick(len(ops))])
		}
		for range pick(8) {
			s.spend(pick(len(s.Roles)), what[pick(len(what))], figure(), ops[pick(len(ops))], pick(2) == 0).Makes = []string{"", "context", "goroutine"}[pick(3)]
		}
		d := s.diagnose()
		sound(t, d)
		if _, err := json.Marshal(d); err != nil {
			t.Fatal(err)
		}
		if d.Answer == "" || d.Probability < 0.5 || d.Probability > 0.95 || d.Verdict != Undecided && d.Verdict != Idle && d.Probability < sure {
			t.Fatalf("%s with probability %v: %q", d.Verdict, d.Probability, d.Answer)
		}
		if t.Failed() {
			t.Fatalf("%+v", d)
		}
	}
}

// TestHazards checks that the manual says what each remedy can break, that no remedy is given
// of which nothing is known, and that none is given against its evidence.
func TestHazards(t *testing.T) {
	manual, err := os.ReadFile("../../../../docs/doctor.md")
	for name := range conditions {
		if err == nil && !strings.Contains(string(manual), "`"+string(name)+"`") { // a module has no manual
			t.Errorf("the manual does not say what %q can break", name)
		}
	}
	m := newModel(&newScene(2).Observation)
	unknown := &ruling{part: -1, meet: -1, changes: []change{{name: "restart it", part: -1, blind: true}}}
	if got := m.remedies(unknown); len(got) != 0 {
		t.Errorf("an unknown remedy is given: %+v", got)
	}

	s := newScene(2) // a mailbox whose owner waits outside for each call
	in, reply, out := s.node(observe.Channel, ""), s.node(observe.Channel, ""), s.node(observe.Outside, "")
	h, a := s.role("caller", 8, run{}), s.role("owner", 1, run{Running: 0.1})
	s.wait(h, in, snd, 4, 500, a, rcv)
	s.wait(h, reply, rcv, 4, 500, a, snd)
	s.wait(a, out, observe.Network, 0.9, 500, -1, "")
	m = newModel(&s.Observation)
	if got := m.loosen(&m.meets[in], &ruling{}); len(got) != 0 {
		t.Errorf("%+v: a mutex held during a call", got)
	}
}

// TestGain checks the bounds on models whose gains are known.
func TestGain(t *testing.T) {
	s := newScene(4)
	c, o := s.node(observe.Channel, ""), s.node(observe.Outside, "")
	f, w := s.role("feeder", 1, run{Running: 0.1}), s.role("worker", 1, run{})
	s.wait(f, c, snd, 0.9, 100, w, rcv)
	s.wait(w, o, observe.Network, 1, 100, -1, "")
	m := newModel(&s.Observation)
	// Ten workers are as fast as the feeder, which is busy a tenth of the time.
	g := m.gain(&change{part: w, servers: remains{10, 1000}, tokens: 11})
	if g.High != 10 || g.Low < 5 || g.Low > 10 || !strings.Contains(g.Bound, "feeder") {
		t.Errorf("%+v, want at most 10, by the feeder", g)
	}
	// Four callers that wait for their answers cannot have more than four at once.
	if g := m.gain(&change{part: w, servers: remains{10, 1000}, tokens: 4.4, callers: true}); g.High != 4 {
		t.Errorf("%+v, want at most 4, by the callers", g)
	}
	if g := m.gain(&change{part: -1, blind: true}); g != nil {
		t.Errorf("%+v, want none", g)
	}
	for l, want := range map[float64]float64{0: 0, 0.5: 0.5, 1: 0.618, 9: 0.908} {
		if got := taken(l); math.Abs(got-want) > 0.001 {
			t.Errorf("taken(%v) = %v, want %v", l, got, want)
		}
	}
}
