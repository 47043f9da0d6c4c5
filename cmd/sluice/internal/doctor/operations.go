package doctor

import (
	"cmp"
	"slices"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// An Operation is the cost of one channel operation of the program. A null is
// unknown.
type Operation struct {
	Place
	Weight     float64  `json:"share_of_channel_cost"` // of CPU time, the scheduler's included, and of blocked threads; 0 to 1
	CPU        *float64 `json:"cpu_seconds"`           // in the operation
	Lock       *float64 `json:"lock_cpu_seconds"`      // part of it in the channel's lock
	AfterPark  *float64 `json:"after_park_cpu_seconds"`
	Asleep     *float64 `json:"asleep_p_seconds"` // threads blocked on the channel's lock
	Waited     *float64 `json:"waited_seconds"`   // all goroutines in total, within WaitWindow; so is Parks
	Parks      *int64   `json:"parks"`
	WaitWindow *float64 `json:"wait_window_seconds"` // of the trace or block profile; 0 since the process started
	In         *int     `json:"goroutines_in"`       // in the operation, waiting or not
	Waiting    *int     `json:"goroutines_waiting"`
	Items      *float64 `json:"items_per_second_at_least"` // values whose transfer woke a goroutine
	ParksFrom  string   `json:"after_park_from,omitempty"`
	AsleepFrom string   `json:"asleep_from,omitempty"`

	site    profile.Site
	wake    float64 // CPU seconds spent waking goroutines
	gave    float64 // of a select: CPU seconds passing values to waiting receivers
	took    float64 // of a select: CPU seconds taking values from waiting senders
	created profile.Frame
	root    string
	roots   []string // start functions of goroutines that run it
	longest float64  // seconds, a lower bound
}

// cost returns CPU seconds plus P seconds.
func (o *Operation) cost() float64 { return value(o.CPU) + value(o.AfterPark) + value(o.Asleep) }

// perSite combines the profiles by channel operation.
func (f *facts) perSite() []Operation {
	table := sites{all: []Operation{}, at: make(map[profile.Site]int)}
	c := f.capture
	if c.CPU != nil {
		for _, s := range c.CPU.Sites {
			if o := table.of(s.Site); o != nil {
				o.CPU, o.Lock, o.wake = known(s.Time.Seconds()), known(s.Lock.Seconds()), s.Wake.Seconds()
				o.gave, o.took = s.Gave.Seconds(), s.Took.Seconds()
				o.roots = append(o.roots, s.Roots...)
			}
		}
	}
	if c.Block != nil {
		for _, s := range c.Block.Sites {
			if o := table.of(s.Site); o != nil {
				o.Waited, o.Parks, o.WaitWindow = known(s.Delay.Seconds()), &s.Count, known(c.Block.Window.Seconds())
			}
		}
	}
	if c.Trace != nil {
		for _, s := range c.Trace.Sites {
			if o := table.of(s.Site); o != nil {
				o.Waited, o.Parks, o.WaitWindow = known(s.Waited.Seconds()), &s.Parks, known(c.Trace.Window.Seconds())
			}
		}
		table.items(c.Trace)
	}
	if c.Goroutines != nil {
		table.goroutines(c.Goroutines)
	}
	mutex := table.mutex(c.Mutex)
	f.shareParks(table.all)
	f.shareSleep(table.all, mutex)
	total := 0.0
	for i := range table.all {
		total += table.all[i].cost()
	}
	for i := range table.all {
		if total > 0 {
			table.all[i].Weight = table.all[i].cost() / total
		}
	}
	slices.SortStableFunc(table.all, func(a, b Operation) int {
		return cmp.Or(cmp.Compare(b.cost(), a.cost()), cmp.Compare(value(b.Waited), value(a.Waited)),
			cmp.Compare(deref(b.Waiting), deref(a.Waiting)))
	})
	return table.all
}

func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// sites collects operations by site.
type sites struct {
	all []Operation
	at  map[profile.Site]int
}

// of returns the operation at a site, or nil if it is not a channel operation.
// The pointer is valid until the next call.
func (t *sites) of(s profile.Site) *Operation {
	if !s.Op.Channel() {
		return nil
	}
	i, ok := t.at[s]
	if !ok && s.Op == profile.Receive {
		// Goroutine states do not distinguish a range loop from a receive.
		loop := s
		loop.Op = profile.Range
		i, ok = t.at[loop]
	}
	if !ok {
		i = len(t.all)
		t.at[s] = i
		t.all = append(t.all, Operation{Place: place(s), site: s})
	}
	return &t.all[i]
}

func (t *sites) goroutines(g *profile.Goroutines) {
	for _, s := range g.Sites {
		o := t.of(s.Site)
		if o == nil {
			continue
		}
		if g.InKnown {
			n := deref(o.In) + s.In
			o.In = &n
		}
		if g.StatesKnown {
			n := deref(o.Waiting) + s.Waiting
			o.Waiting = &n
		}
		o.created, o.root, o.longest = s.CreatedBy, s.Root, s.Longest.Seconds()
		if s.Root != "" && !slices.Contains(o.roots, s.Root) {
			o.roots = append(o.roots, s.Root)
		}
	}
}

// items counts the transfers that woke a goroutine, a lower bound of all
// transfers.
func (t *sites) items(trace *profile.Trace) {
	window := trace.Window.Seconds()
	if window <= 0 {
		return
	}
	for _, p := range trace.Pairs {
		for _, s := range []profile.Site{p.Waker, p.Sleeper} {
			if p.Waker.Op == profile.Close {
				continue // a close wakes many goroutines and transfers no value
			}
			if o := t.of(s); o != nil && p.Waker.Op.Channel() && p.Sleeper.Op.Channel() {
				o.Items = known(value(o.Items) + float64(p.Count)/window)
			}
		}
	}
}

// mutex returns the delay at each operation in the mutex profile.
func (t *sites) mutex(m *profile.Contentions) map[profile.Site]float64 {
	if m == nil {
		return nil
	}
	delay := make(map[profile.Site]float64)
	for _, s := range m.Sites {
		if o := t.of(s.Site); o != nil {
			delay[o.site] += s.Delay.Seconds()
		}
	}
	return delay
}

// shareParks attributes the CPU time after parks to operations: by their parks,
// or else to the operations that wake them, which are the other ends of the
// same channels.
func (f *facts) shareParks(all []Operation) {
	if f.parked == 0 {
		return
	}
	weight := func(o *Operation) float64 { return o.wake }
	if slices.ContainsFunc(all, func(o Operation) bool { return deref(o.Parks) > 0 }) {
		weight = func(o *Operation) float64 { return float64(deref(o.Parks)) }
	}
	total := 0.0
	for i := range all {
		total += weight(&all[i])
	}
	for i := range all {
		if w := weight(&all[i]); w > 0 {
			all[i].AfterPark, all[i].ParksFrom = known(f.parked*w/total), f.parkBasis
		}
	}
}

// shareSleep attributes the time asleep in channel locks to operations: by the
// mutex profile, or else by CPU time in the lock.
func (f *facts) shareSleep(all []Operation, mutex map[profile.Site]float64) {
	if f.asleep == nil || *f.asleep < quietLocks {
		return
	}
	from := "by the mutex profile"
	weight := func(o *Operation) float64 { return mutex[o.site] }
	total := 0.0
	for _, delay := range mutex {
		total += delay
	}
	if total == 0 {
		from, weight = "by CPU time in the lock", func(o *Operation) float64 { return value(o.Lock) }
		total = f.lock
	}
	for i := range all {
		if w := weight(&all[i]); w > 0 && total > 0 {
			all[i].Asleep, all[i].AsleepFrom = known(*f.asleep*f.window*w/total), from
		}
	}
}

// weight returns the part of the channels' cost at the operations that ok
// selects.
func (f *facts) weight(ok func(*Operation) bool) float64 {
	sum := 0.0
	for i := range f.operations {
		if ok(&f.operations[i]) {
			sum += f.operations[i].Weight
		}
	}
	return sum
}

// costliest returns the most expensive operation that ok selects, or nil if
// none has a cost.
func (f *facts) costliest(ok func(*Operation) bool) *Operation {
	for i := range f.operations {
		if o := &f.operations[i]; o.Weight > 0 && ok(o) {
			return o
		}
	}
	return nil
}

func isOp(ops ...profile.Op) func(*Operation) bool {
	return func(o *Operation) bool { return slices.Contains(ops, o.Op) }
}

func sends(o *Operation) bool    { return o.Op.Sends() }
func receives(o *Operation) bool { return o.Op.Receives() }
func anyOp(*Operation) bool      { return true }

// count returns the number of goroutines in the operation, and whether it is
// known.
func (o *Operation) count() (int, bool) {
	return max(deref(o.In), deref(o.Waiting)), o.In != nil || o.Waiting != nil
}

func isOneOf(all ...*Operation) func(*Operation) bool {
	return func(o *Operation) bool {
		for _, one := range all {
			if one == o {
				return true
			}
		}
		return false
	}
}

// waits returns the number of waits at an operation: parks, else waiting
// goroutines.
func waits(o *Operation) int64 {
	if o.Parks != nil {
		return *o.Parks
	}
	return int64(deref(o.Waiting))
}
