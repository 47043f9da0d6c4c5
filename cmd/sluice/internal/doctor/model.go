package doctor

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/observe"
)

// A model is the service as a network of queues: parts that serve, meetings where they
// wait for each other, and cores that all of them share. The laws read a model, and of the
// observation only what no law needs.
type model struct {
	o     *observe.Observation
	parts []part    // by index of Observation.Roles
	meets []meeting // by index of Observation.Nodes
	waits []wait    // by index of Observation.Waits
	links []link
	cores cores
	spent map[observe.Category]float64 // CPU of the whole process, in cores, without profiling

	blockages []blockage // see blocked
}

// A part is a role in the model. Figures that are not shares are in goroutines.
type part struct {
	*observe.Role
	index int
	made  made    // of what its busy time is
	turns float64 // per second: the most frequent of its waits and wake-ups, a lower bound of its values
	came  float64 // per second: its goroutines that were started, or its server's requests
	trips bool    // what it takes is answered, so that each value waits for its answer

	busy float64 // share of its life in which it served, without waiting for load
	hot  float64 // the same of its busiest goroutine
	load float64 // wait for requests, or pace what they send: the load

	room  float64 // of others, that wait to give it something: senders, lockers
	reply float64 // that have given it something and wait for the answer
	feed  float64 // that have nothing to do until it sends
	same  float64 // of its own, that wait for each other
}

// A wait is a row of Observation.Waits in the model.
type wait struct {
	*observe.Wait
	pushes float64 // part that waited to give a value: for room, a lock, a slot
	asks   bool    // a receive whose answer was asked for before
	load   bool    // a wait for a request or a tick
}

// A link is values that go from one role of the program to another, as far as one of the
// two waited for the other.
type link struct {
	from, to   int
	push       bool // from waited, and to ended the wait
	wait       *wait
	by         observe.Line
	rate, mean float64
}

// A meeting is a node in the model: who is at which side of it.
type meeting struct {
	*observe.Node
	index              int
	senders, receivers []end   // at a lock or a limit: those that acquire, and those that release
	sending, receiving float64 // goroutines that wait to send, and to receive
	same, ended        float64 // part of the waiting that their own role ended, and that any did
	share              float64 // of the life of those that wait here: the largest of a role
	rate               float64 // waits that ended per second: a lower bound of its values
}

// An end is a role at one side of a meeting.
type end struct {
	role          int
	line          observe.Line
	rate, waiting float64 // waits that ended here and that it ended, per second; goroutines
}

// cores is the CPU in the model.
type cores struct {
	have    float64 // GOMAXPROCS, or what the machine has; 0 if unknown
	used    float64 // that the process uses
	queue   float64 // goroutines that wait for one
	full    float64 // share of have that its Ps have in use, from 0 to 1
	lacks   float64 // part of the time that its threads had no core, if that is much
	crowded bool    // other processes have a good part of the machine
}

// newModel makes the model of an observation.
func newModel(o *observe.Observation) *model {
	m := &model{o: o, spent: map[observe.Category]float64{}}
	for _, s := range o.Spent {
		if s.What != observe.Profiling {
			m.spent[category(&s)] += s.Cores
		}
	}
	m.parts = make([]part, len(o.Roles))
	for i := range o.Roles {
		m.parts[i] = part{Role: &o.Roles[i], index: i, made: m.madeOf(i)}
	}
	m.meets = make([]meeting, len(o.Nodes))
	for i := range o.Nodes {
		m.meets[i] = meeting{Node: &o.Nodes[i], index: i}
	}
	m.waits = make([]wait, len(o.Waits))
	for i := range o.Waits {
		m.waits[i] = wait{Wait: &o.Waits[i]}
		if op := o.Waits[i].Op; op == observe.Send || op == observe.Lock || op == observe.Acquire {
			m.waits[i].pushes = 1
		}
	}
	m.schedule()
	m.direct()
	m.meet()
	m.ask()
	m.findLoad()
	for i := range m.parts {
		m.share(&m.parts[i])
	}
	m.holdUp()
	m.trip()
	m.fillCores()
	return m
}

// schedule bounds the scheduler's part of the CPU time: the end of a wait and the start of
// a goroutine take 1 to 10 µs of it. What is more are threads that look for work, which take
// nothing from the program.
func (m *model) schedule() {
	turns := 0.0
	for i := range m.waits {
		turns += m.waits[i].Rate
	}
	for i := range m.parts {
		turns += m.parts[i].Created
	}
	for _, s := range m.o.Spent {
		if s.Role < 0 && s.What == observe.Scheduling {
			m.spent[observe.Scheduling] -= max(0, s.Cores-turns*10e-6)
		}
	}
}

// traced reports whether there is a trace: only a trace shows which role a wait is for.
func (m *model) traced() bool { return m.o.Sources.Trace > 0 && m.o.Sources.Events > 0 }

// fewSamples is the number of CPU samples below which shares are not taken: a share of
// one half then has a standard error of 0.1.
const fewSamples = 25

// madeOf splits the busy time of a role.
func (m *model) madeOf(role int) made {
	t := m.o.Roles[role].Time
	d := made{costMemory: t.Collect, costSystem: max(0, t.System-t.Disk), costDisk: t.Disk, costOutside: t.Outside, costSleep: t.Sleep, costQueue: t.Runnable}
	run := t.Running
	by, all, calls, n := made{}, 0.0, 0.0, int64(0)
	for _, s := range m.o.Spent {
		if s.Role != role || s.What == observe.Profiling {
			continue
		}
		n += s.Samples
		if s.What == observe.SystemCalls {
			calls += s.Cores
			continue
		}
		by[kindOf(category(&s))] += s.Cores
		all += s.Cores
	}
	if !m.traced() {
		run, d[costSystem] = all, calls
	}
	if n < fewSamples || all+calls <= 0 {
		d[costOwn] += run
		return d
	}
	// A trace counts the way into the kernel as running; samples show how much of the
	// time belongs to the call.
	if more := (run+d[costSystem])*calls/(all+calls) - d[costSystem]; more > 0 {
		d[costSystem], run = d[costSystem]+more, max(0, run-more)
	}
	for kind := range costSystem {
		d[kind] += run * by[kind] / max(all, 1e-12)
	}
	return d
}

// direct finds the direction of each wait and of the values: the operation that ended a
// wait shows whether the waiter gave a value or took one. A select may do both.
func (m *model) direct() {
	ended := make([]float64, len(m.waits))
	for _, k := range m.o.Wakes {
		ended[k.Wait] += k.Mean
	}
	for _, k := range m.o.Wakes {
		if w := &m.waits[k.Wait]; w.Op == observe.Select && ended[k.Wait] > 0 && takes(k.By.Op) {
			w.pushes += k.Mean / ended[k.Wait]
		}
	}
	for _, k := range m.o.Wakes {
		w := &m.waits[k.Wait]
		// In a channel of this module, a waiter may pass its wake-up on to the next.
		relayed := k.By.Op == w.Op && w.Op != observe.Select
		if k.Role < 0 || m.parts[k.Role].Runtime || m.parts[w.Role].Runtime || relayed {
			continue
		}
		l := link{k.Role, w.Role, w.pushes >= 0.5, w, k.By, k.Rate, k.Mean}
		if l.push {
			l.from, l.to = l.to, l.from
		}
		m.links = append(m.links, l)
	}
}

// takes reports whether an operation ends the waits of senders.
func takes(op observe.Op) bool { return op == observe.Receive || op == observe.PollReceive }

// waker returns the role that ended the wait of a link.
func (l *link) waker() int {
	if l.push {
		return l.to
	}
	return l.from
}

// idle reports whether the waiter of a link had nothing to do until a value came.
func (l *link) idle() bool { return !l.push && !l.wait.asks && l.wait.Op != observe.CondWait }

// meet collects who is at which side of each node.
func (m *model) meet() {
	for i := range m.waits {
		w := &m.waits[i]
		if w.Node < 0 {
			continue
		}
		g, p := &m.meets[w.Node], &m.parts[w.Role]
		g.rate += w.Rate
		g.sending += w.Mean * w.pushes
		g.receiving += w.Mean * (1 - w.pushes)
		g.share = max(g.share, w.Mean/max(p.Alive-p.Time.Unknown, w.Mean, 1e-9))
		g.join(w.pushes >= 0.5, end{w.Role, w.Line, w.Rate, w.Mean})
	}
	for i := range m.links {
		l := &m.links[i]
		if l.wait.Node < 0 {
			continue
		}
		g := &m.meets[l.wait.Node]
		g.ended += l.mean
		if l.from == l.to {
			g.same += l.mean
		}
		g.join(l.wait.pushes < 0.5, end{l.waker(), l.by, l.rate, 0})
	}
}

// join adds an end, or its figures to the same role's.
func (g *meeting) join(sends bool, e end) {
	side := &g.receivers
	if sends {
		side = &g.senders
	}
	for i := range *side {
		if s := &(*side)[i]; s.role == e.role {
			s.rate += e.rate
			s.waiting += e.waiting
			return
		}
	}
	*side = append(*side, e)
}

func (w *wait) kind(m *model) observe.NodeKind {
	if w.Node < 0 {
		return ""
	}
	return m.meets[w.Node].Kind
}

// excluding reports whether goroutines wait there until others leave.
func excluding(k observe.NodeKind) bool { return k == observe.Limit || k == observe.Mutex }

// ask marks the receives of answers. A goroutine that was started for one request, and
// lives a second or two, waits for an answer and not for work. Other roles ask one that
// they also give values to, directly or through others. If both do, those that ask are
// more.
func (m *model) ask() {
	gives := make(map[int][]int, len(m.parts))
	by := make([]observe.Wake, len(m.waits)) // the wake-ups that ended most of each wait
	for i := range m.links {
		l := &m.links[i]
		if !slices.Contains(gives[l.from], l.to) && l.wait.Op != observe.GroupWait && !m.byChance(l) {
			gives[l.from] = append(gives[l.from], l.to)
		}
	}
	for _, k := range m.o.Wakes {
		if k.Mean > by[k.Wait].Mean {
			by[k.Wait] = k
		}
	}
	for i := range m.waits {
		w, other := &m.waits[i], by[i].Role
		if by[i].Mean == 0 || other < 0 || other == w.Role || w.pushes >= 0.5 {
			continue
		}
		p, q := &m.parts[w.Role], &m.parts[other]
		w.asks = p.Created > 0.5*p.Alive || p.Alive > q.Alive && reaches(gives, w.Role, other, map[int]bool{})
	}
}

// reaches reports whether a way leads from one role to another, past those that were seen.
func reaches(next map[int][]int, from, to int, seen map[int]bool) bool {
	if seen[from] {
		return false
	}
	seen[from] = true
	return slices.ContainsFunc(next[from], func(via int) bool { return via == to || reaches(next, via, to, seen) })
}

// findLoad marks the waits for requests and ticks. A sleep is part of the load if the
// role takes nothing from others and is in no lock: values start there. Otherwise the
// sleep is part of the cost of a value. A read from the network is, if values start there or
// the program has accepted the connection, and it is what the role is for: a client asks in
// a function of its own.
func (m *model) findLoad() {
	fed, locks, gives := make([]bool, len(m.parts)), make([]bool, len(m.parts)), make([]bool, len(m.parts))
	for i := range m.links {
		l := &m.links[i]
		switch {
		case l.wait.Op == observe.GroupWait: // it waits for the end of what it began
		case l.from == l.to || excluding(l.wait.kind(m)):
			locks[l.waker()] = locks[l.waker()] || !m.byChance(l)
		case l.push || !l.wait.asks:
			fed[l.to], gives[l.from] = true, true
		default:
			fed[l.from] = true // it answers: a question that never waited is a value, too
		}
	}
	accepts := slices.ContainsFunc(m.waits, func(w wait) bool { return strings.HasSuffix(w.In, "Listener).Accept") })
	for i := range m.waits {
		w := &m.waits[i]
		p := &m.parts[w.Role]
		if k := w.kind(m); k != observe.Outside && k != observe.Timer {
			continue
		}
		still := w.Rate == 0 // it did not end: no value waited for it
		paced := !fed[w.Role] && !locks[w.Role] && w.kind(m) == observe.Timer
		reads := !fed[w.Role] && w.Op == observe.Network && w.At.Function == p.Start.Function && (accepts || gives[w.Role]) && !observe.Client(w.In)
		name := m.meets[w.Node].Name
		arrives := slices.Contains(observe.Arrivals, name) || observe.Connection(w.In) || name != observe.SlowReader && observe.Connection(w.At.Function)
		if still || paced || reads || arrives {
			w.load = true
			p.load += w.Mean
		}
	}
}

// byChance reports whether goroutines meet at a lock, or others of their role, only now and
// then: a thousandth of their time.
func (m *model) byChance(l *link) bool {
	return (l.from == l.to || excluding(l.wait.kind(m))) && l.mean < 0.001*m.parts[l.wait.Role].Alive
}

// share computes what part of its life a role serves.
func (m *model) share(p *part) {
	p.came = p.Created
	for i := range m.waits {
		switch w := &m.waits[i]; {
		case w.Role == p.index:
			p.turns = max(p.turns, w.Rate)
		case observe.Server(p.Host) && w.At.Function == p.Host:
			p.came = max(p.came, w.Rate)
		}
	}
	for i := range m.links {
		if l := &m.links[i]; l.waker() == p.index {
			p.turns = max(p.turns, l.rate)
		}
	}
	slept := min(p.made[costSleep], p.load)
	p.made[costSleep] -= slept
	p.made[costOutside] = max(0, p.made[costOutside]-(p.load-slept))
	if known := p.Alive - p.Time.Unknown; known > 0 {
		p.busy = min(1, p.made.sum()/known)
	}
	p.hot = p.busy
	if len(p.Own) > 0 && p.busy > 0 {
		naps, _ := m.naps(p) // the wait for a timer in a select is not for a partner
		p.hot = max(p.busy, min(1, p.Own[0]-max(p.load, naps)/p.Alive))
	}
}

// serves returns the share of its life for which the busiest goroutine of a part served:
// while it waits for a core it serves no one, and others wait for the cores.
func (p *part) serves() float64 { return p.hot * (1 - p.made[costQueue]/max(p.made.sum(), 1e-12)) }

// inFlow reports whether a part meets others: what hardly ever waits for others or is
// waited for limits nothing but the cores.
func (p *part) inFlow() bool {
	return !p.Runtime && p.held()+p.same+p.Time.Partner+p.Time.Lock+p.Time.Limit > 0.02
}

// held returns the number of goroutines of other roles that wait for a part.
func (p *part) held() float64 { return p.room + p.reply + p.feed }

// holdUp counts the goroutines that wait for each part.
func (m *model) holdUp() {
	for i := range m.links {
		l := &m.links[i]
		p := &m.parts[l.waker()]
		switch {
		case l.from == l.to:
			p.same += l.mean
		case l.idle():
			p.feed += l.mean
		case l.wait.asks:
			p.reply += l.mean
		default: // at a condition, for room or for values: not known which
			p.room += l.mean
		}
	}
}

// trip marks the parts that answer: values go to them and come back, from the same role,
// and not only now and then. Only those are seen for which one side waits. Which of two
// roles that answer each other asks cannot be seen, and does not matter: no value has others
// to be passed with.
func (m *model) trip() {
	flow := map[[2]int]float64{} // values per second that were seen to go from one role to another
	for i := range m.links {
		if l := &m.links[i]; l.wait.kind(m) == observe.Channel {
			flow[[2]int{l.from, l.to}] += l.rate
		}
	}
	for pair, there := range flow {
		if back := flow[[2]int{pair[1], pair[0]}]; pair[0] != pair[1] && min(there, back) > 0.02*max(there, back) {
			m.parts[pair[0]].trips = true // and the other one, in its turn
		}
	}
}

// fillCores computes how full the cores are. A thread that has no core, because of a quota
// or of other processes, still has its P.
func (m *model) fillCores() {
	c, k := m.o.Cores, &m.cores
	k.have, k.used, k.queue = float64(cmp.Or(c.Procs, c.CPUs)), c.Used, c.Runnable
	running, same := 0.0, false // without the goroutines that serve the observer
	for i := range m.parts {
		p := &m.parts[i]
		running += p.Time.Running + max(0, p.Time.System-p.Time.Disk)
		same = same || !p.Runtime && p.Time.Runnable > p.Alive/2 && p.Time.Runnable >= 1
	}
	if k.used == 0 {
		k.used = running
	}
	if k.have <= 0 {
		return
	}
	k.full = min(1, max(k.used, running)/k.have)
	k.crowded = c.Others > k.have/3
	if k.queue >= 1 && (same || k.used > k.have/4) {
		// Goroutines queue only while all Ps are in use, at least by the scheduler. Less
		// than one is how long wake-ups take; many in mostly idle cores come in bursts,
		// unless the same ones queue most of the time.
		k.full = max(k.full, taken(k.queue))
	}
	// A third of the time without a core is a factor of 1.5: no noise.
	if c.Starved > 1.0/3 {
		k.lacks = min(0.95, c.Starved)
	}
}

// each returns the mean length of a wait; 0 if unknown.
func (g *meeting) each() time.Duration {
	if g.rate <= 0 {
		return 0
	}
	return time.Duration((g.sending + g.receiving) / g.rate * float64(time.Second))
}
