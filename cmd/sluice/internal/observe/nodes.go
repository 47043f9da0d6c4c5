package observe

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// The trace does not name channels and locks. The wake-ups show where goroutines
// meet: a port is one goroutine at one line, and a wake-up connects two ports. The
// connected ports are one channel, lock or limit:
//
//   - a helper or a stage that several channels share is at as many ports as goroutines
//     run it, so that its channels stay apart;
//   - a select is a port for each direction, so that the channel it receives from and the
//     one it sends to stay apart;
//   - channels with the same roles and lines on their sides are one Node: each request's
//     own reply channel.

// A portSide is the direction of a select.
type portSide uint8

const (
	sideAny portSide = iota
	sideSend
	sideReceive
	sideClosed
	sideOutside // it looks like a wait for a partner, and ends with the network
)

// side returns the direction of what s does, by what the other goroutine does.
func side(s, other *spot, ended ending) portSide {
	switch {
	case ended == byOutside && s.node != Outside:
		return sideOutside
	case s.Op != Select:
		return sideAny
	case s.side != sideAny || other == nil:
		return s.side
	case other.side == sideSend:
		return sideReceive
	case other.side == sideReceive:
		return sideSend
	}
	switch other.Op {
	case Send, PollSend:
		return sideReceive
	case Receive, PollReceive:
		return sideSend
	case Close:
		return sideClosed
	}
	return sideAny
}

type portKey struct {
	seat, line int32
	side       portSide
}

// A port is a seat at a line, and the waits there.
type port struct {
	portKey
	op        Op
	name      string // of what it waits at, where that is known
	sum       time.Duration
	open      time.Duration // part of it in waits that did not end
	woken     time.Duration // part of it in waits that other ports ended
	count     int64         // waits that ended
	timeouts  int64         // of these, those that a timer ended
	wakes     int64         // of these, those that other ports ended
	byPartner bool          // it was a partner's, or ended the waits of others
}

// A wakeUp is how often one port ended the waits of another one.
type wakeUp struct {
	sleeper, waker int32
	count          int64
	sum            time.Duration
}

// Bounds of the tables of ports and wake-ups.
const (
	maxPorts = 1 << 18
	maxWakes = 1 << 18
)

// port returns the index of a port, and adds it.
func (t *tracer) port(seat int32, s *spot, side portSide) int32 {
	key := portKey{seat, s.line, side}
	i, added := rowOf(t.portAt, &t.ports, key, maxPorts, port{portKey: key, op: s.Op})
	if added {
		t.union = append(t.union, i)
	}
	t.ports[i].name = cmp.Or(t.ports[i].name, s.name)
	return i
}

// waited adds a wait.
func (p *port) waited(d time.Duration, ended ending) {
	p.sum += d
	switch ended {
	case never:
		p.open += d
		return
	case byTimer:
		p.timeouts++
	case byPartner:
		p.byPartner = true
	}
	p.count++
}

// wake connects two ports.
func (t *tracer) wake(sleeper, waker int32, d time.Duration) {
	i, added := rowOf(t.wakeAt, &t.wakes, [2]int32{sleeper, waker}, maxWakes, wakeUp{sleeper: sleeper, waker: waker})
	if added {
		t.ports[waker].byPartner = true
		t.union.join(sleeper, waker)
	}
	w, p := &t.wakes[i], &t.ports[sleeper]
	if w.sleeper != sleeper || w.waker != waker {
		return // the table is full
	}
	w.count++
	w.sum += d
	p.wakes++
	p.woken += d
}

// kindOf returns what a port waits at, as far as it is known.
func (t *tracer) kindOf(p *port) NodeKind {
	switch {
	case p.side == sideOutside:
		return Outside
	case p.alone() && p.timeouts > 0:
		return Timer
	}
	return cmp.Or(t.lines[p.line].node, Channel)
}

// alone reports whether nothing has shown that a receive or a select waits for a partner.
func (p *port) alone() bool { return (p.op == Receive || p.op == Select) && !p.byPartner }

// part returns the part of a role's time that the waits at a port are; nil for the disk,
// whose times are known already.
func (t *tracer) part(p *port, of *Time) *float64 {
	switch kind := t.kindOf(p); {
	case kind == Disk:
		return nil
	case kind == Outside:
		return &of.Outside
	case kind == Timer:
		return &of.Sleep
	case kind == Mutex:
		return &of.Lock
	case kind == Limit:
		return &of.Limit
	case p.op == Other || p.alone():
		return &of.Unknown
	}
	return &of.Partner
}

// result turns what was added up into rows.
func (t *tracer) result() {
	t.close()
	window := t.last.Sub(t.first)
	o := &t.b.o
	o.Sources.Trace = window
	if window <= 0 {
		return
	}
	t.adopt()
	t.positions()
	t.gather()
	t.rows(t.nodes(), window)
	t.roleRows(window)
	c := &o.Cores
	c.Procs = cmp.Or(c.Procs, t.procs)
	c.Running = -float64(t.away) / float64(window)
	for i := range t.seats { // with those of the observer
		times := &t.seats[i].times
		c.Running += (times.Running + times.System - times.Disk) / float64(window)
		c.Runnable += times.Runnable / float64(window)
	}
	if most := max(c.Procs, t.procs); most > 0 {
		c.Running = min(c.Running, float64(most))
	}
}

// adopt gives a library's goroutines that do nothing but one job of the program to that
// job's role, with what they waited for before it. What waits for the network stays: a
// server between two requests.
func (t *tracer) adopt() {
	jobs := t.b.jobs()
	for i := range t.ports {
		if p := &t.ports[i]; p.op == Network {
			delete(jobs, int(t.seats[p.seat].role))
		}
	}
	for i := range t.seats {
		if job, ok := jobs[int(t.seats[i].role)]; ok {
			t.seats[i].role, t.seats[i].created = int32(job), 0
		}
	}
	for key, i := range t.b.roleOf { // for the CPU profile and the dumps
		if job, ok := jobs[i]; ok {
			t.b.roleOf[key] = job
		}
	}
}

// gather joins ports that are one node although no goroutine has used both: meetings of the
// same roles at the same lines, such as each request's own reply channel; waits that no
// goroutine ended with what the same goroutine, or else its role, meets others at there;
// and what is outside, which is the same for all roles.
func (t *tracer) gather() {
	type end struct {
		role, line int32
		side       portSide
	}
	type use struct{ role, seat, line int32 }
	linked, meets, most := make([]bool, len(t.ports)), map[[2]end]int32{}, map[use]int32{}
	uses := func(p *port) []use {
		role := t.seats[p.seat].role
		return []use{{role, p.seat, p.line}, {role, -1, p.line}}
	}
	for _, w := range t.wakes {
		key := [2]end{}
		for side, i := range []int32{w.sleeper, w.waker} {
			p := &t.ports[i]
			key[side] = end{t.seats[p.seat].role, p.line, p.side}
			linked[i] = true
			for _, use := range uses(p) {
				if j, ok := most[use]; p.side != sideClosed && (!ok || t.ports[j].wakes < p.wakes) {
					most[use] = i
				}
			}
		}
		if i, ok := meets[key]; ok {
			t.union.join(w.sleeper, i)
		}
		meets[key] = w.sleeper
	}
	type thing struct {
		kind NodeKind
		name string
		line int32 // if it has no name
	}
	outside := map[thing]int32{}
	for i := range t.ports {
		p := &t.ports[i]
		for _, use := range uses(p) {
			if j, ok := most[use]; ok && !linked[i] && p.sum > 0 && p.side != sideOutside {
				p.byPartner = true
				t.union.join(int32(i), j)
				break
			}
		}
		// The clock ends the waits for a limit of the rate.
		if kind := t.kindOf(p); kind == Outside || kind == Disk || kind == Timer || kind == Limit && !linked[i] {
			key := thing{kind, p.name, p.line}
			if p.name != "" && kind != Limit {
				key.line = 0
			}
			if j, ok := outside[key]; ok {
				t.union.join(int32(i), j)
			}
			outside[key] = int32(i)
		}
	}
}

// nodes returns the index of each port's node, and adds the nodes.
func (t *tracer) nodes() []int {
	ports, at, of := map[int32][]int32{}, map[int32]int{}, make([]int, len(t.ports))
	for i := range t.ports {
		if t.seats[t.ports[i].seat].role >= 0 { // not of the observer
			root := t.union.find(int32(i))
			ports[root] = append(ports[root], int32(i))
		}
	}
	for i := range t.ports {
		root := t.union.find(int32(i))
		node, ok := at[root]
		if !ok {
			node = -1
			if n := t.node(ports[root]); len(n.Lines) > 0 {
				node = t.b.addNode(n)
			}
			at[root] = node
		}
		of[i] = node
	}
	return of
}

// node describes the node of connected ports.
func (t *tracer) node(ports []int32) Node {
	n := Node{}
	weight, kinds := map[int32]float64{}, map[NodeKind]float64{}
	for _, i := range ports {
		p := &t.ports[i]
		weight[p.line] += float64(p.count) + p.sum.Seconds()
		kinds[t.kindOf(p)] += p.sum.Seconds() + 1e-9
	}
	for _, kind := range []NodeKind{Limit, Mutex, Condition, Group, Channel, Outside, Disk, Timer} {
		if kinds[kind] > kinds[n.Kind] {
			n.Kind = kind
		}
	}
	for _, i := range ports {
		if p := &t.ports[i]; t.lines[p.line].node == n.Kind {
			n.Name = max(n.Name, p.name)
		}
	}
	for _, i := range slices.SortedFunc(maps.Keys(weight), func(a, b int32) int {
		return cmp.Or(cmp.Compare(weight[b], weight[a]), t.lines[a].Line.compare(t.lines[b].Line))
	}) {
		line := t.lines[i]
		if line.At.Function == "" || line.Op == Other {
			continue // of the runtime alone
		}
		n.Lines = append(n.Lines, line.Line)
	}
	return n
}

// rows adds the rows of waits and wake-ups.
func (t *tracer) rows(nodes []int, window time.Duration) {
	type wakeKey struct {
		wait, role, line int32
		op               Op
	}
	o, span := &t.b.o, window.Seconds()
	wakes, row := index[wakeKey]{}, make([]int32, len(t.ports)) // of o.Waits
	wake := func(key wakeKey, by Line, count int64, sum time.Duration) {
		at, _ := rowOf(wakes, &o.Wakes, key, maxPorts+maxWakes, Wake{Wait: int(key.wait), Role: int(key.role), By: by})
		o.Wakes[at].Rate += float64(count) / span
		o.Wakes[at].Mean += sum.Seconds() / span
	}
	for i := range t.ports {
		p := &t.ports[i]
		role := t.seats[p.seat].role
		row[i] = -1
		if p.sum == 0 && p.count == 0 || role < 0 {
			continue
		}
		if to := t.part(p, &t.seats[p.seat].times); to != nil {
			*to += float64(p.sum)
		}
		if t.lines[p.line].At.Function == "" || p.op == Other || nodes[i] < 0 {
			continue // of the runtime alone
		}
		at := int32(t.b.wait(int(role), nodes[i], t.lines[p.line].Line))
		row[i] = at
		w := &o.Waits[at]
		w.Known, w.Mean, w.Rate = true, w.Mean+p.sum.Seconds()/span, w.Rate+float64(p.count)/span
		if p.count > p.wakes { // what no goroutine ended
			wake(wakeKey{at, -1, -1, Other}, Line{}, p.count-p.wakes, p.sum-p.open-p.woken)
		}
	}
	for _, w := range t.wakes {
		if row[w.sleeper] >= 0 {
			waker := &t.ports[w.waker]
			by := t.lines[waker.line].Line
			switch waker.side {
			case sideSend:
				by.Op = Send
			case sideReceive:
				by.Op = Receive
			}
			wake(wakeKey{row[w.sleeper], t.seats[waker.seat].role, waker.line, by.Op}, by, w.count, w.sum)
		}
	}
}

// roleRows adds up the seats of each role.
func (t *tracer) roleRows(window time.Duration) {
	for _, s := range t.seats {
		if s.role < 0 {
			continue
		}
		r := &t.b.o.Roles[s.role]
		r.Time.add(&s.times, 1/float64(window))
		r.Created += float64(s.created) / window.Seconds()
	}
	for i := range t.roles {
		r, from := &t.b.o.Roles[i], &t.roles[i]
		r.Alive = r.Time.sum()
		r.Full = full(from.alive, from.idle, window)
		most := 0
		for line, n := range from.by {
			if n > most || n == most && t.lines[line].At.compare(r.By) < 0 {
				most, r.By = n, t.lines[line].At
			}
		}
	}
	for _, own := range t.shares {
		if r := &t.b.o.Roles[t.seats[own.seat].role]; own.life >= window/2 {
			r.Own = append(r.Own, float64(own.busy)/float64(own.life))
		}
	}
	for i := range t.roles {
		r := &t.b.o.Roles[i]
		slices.SortFunc(r.Own, func(a, b float64) int { return cmp.Compare(b, a) })
		r.Own = slices.Clone(r.Own[:min(len(r.Own), 64)])
	}
}
