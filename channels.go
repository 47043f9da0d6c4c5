package sluice

import (
	"cmp"
	"runtime"
	"slices"
	"sync"
	"weak"

	"github.com/sluice-go/sluice/internal/engine"
)

// A Named is a channel that was made with [Options.Name], or that somebody enlisted,
// as [Channels] lists it. It does not keep the channel alive.
type Named struct {
	ID   uint64 // counts named channels from 1 as they are made; names need not be unique
	Name string
	Kind string // "Rendezvous", "Bounded", "Elastic" or "Sharded", or what [Enlist] was told

	look   func() (Stats, bool)
	inside func() (Inside, bool) // nil if it was enlisted
}

// Stats is that of the channel; ok is false if it is garbage by now, and for the
// zero Named. It briefly holds up senders and receivers, as every Stats does.
func (n Named) Stats() (stats Stats, ok bool) {
	if n.look == nil {
		return Stats{}, false
	}
	return n.look()
}

// Channels returns the channels that have a name, in the order in which they were
// made or enlisted, until they are garbage: closed ones too. It looks into none of
// them, and costs one allocation. A channel without a name is never listed, and
// no operation of one that has a name is slower for it: only making it is.
func Channels() []Named { return listed.all() }

// listed are the channels with a name. What is listed is an engine: a Lane, a
// Case or what Ready returned keeps that in use when its kind is garbage.
var listed registry

// A registry holds entries in ascending order of ID. One whose channel is garbage
// stays as a gap, without its look, until half of them are gaps: so leaving costs a
// search, whatever number of channels there is.
type registry struct {
	mu      sync.Mutex
	last    uint64 // ID
	entries []Named
	gaps    int
}

// Enlist lists c under a name as a channel of a kind that is not one of this
// package, so that [Channels], and all who show them, tell of it too: until it is
// garbage, for it is held weakly. Stats may be called at any time by any goroutine.
// An empty name lists nothing, as with [Options.Name]; a nil c panics.
func Enlist[C any, P interface {
	*C
	Stats() Stats
}](name, kind string, c P) {
	if c == nil {
		panic("sluice: Enlist of a nil channel")
	}
	enlist(name, kind, (*C)(c), func(c *C) Stats { return P(c).Stats() }, nil)
}

// enlist holds c weakly in the list, if it has a name. A nil inside cannot be looked at.
func enlist[C any](name, kind string, c *C, stats func(*C) Stats, inside func(*C) Inside) {
	if name == "" {
		return
	}
	held := weak.Make(c)
	n := Named{Name: name, Kind: kind, look: through(held, stats)}
	if inside != nil {
		n.inside = through(held, inside)
	}
	runtime.AddCleanup(c, listed.remove, listed.add(n))
}

// through looks at what held refers to, if that is not garbage.
func through[C, F any](held weak.Pointer[C], look func(*C) F) func() (F, bool) {
	return func() (figures F, ok bool) {
		c := held.Value()
		if c == nil {
			return figures, false
		}
		return look(c), true
	}
}

// named lists e, which is to be the engine of a kind, if config names it.
func named[T, E any, P interface {
	*E
	engine.Engine[T]
}](kind string, config engine.Config[T], e P) engine.Engine[T] {
	enlist(config.Name, kind, (*E)(e),
		func(e *E) Stats { return Stats(P(e).Stats()) },
		func(e *E) Inside { return insideOf(P(e).Snapshot(most)) })
	return e
}

// add lists n, and gives it its ID.
func (r *registry) add(n Named) (id uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last++
	n.ID = r.last
	r.entries = append(r.entries, n)
	return r.last
}

func (r *registry) remove(id uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, found := slices.BinarySearchFunc(r.entries, id, func(n Named, id uint64) int { return cmp.Compare(n.ID, id) })
	if !found || r.entries[at].look == nil {
		return
	}
	r.entries[at] = Named{ID: id}
	if r.gaps++; r.gaps > len(r.entries)/2 {
		r.entries = r.present()
		r.gaps = 0
	}
}

// all returns a copy of what is listed.
func (r *registry) all() []Named {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.present()
}

// present copies the entries but for the gaps. The lock is held.
func (r *registry) present() []Named {
	out := make([]Named, 0, len(r.entries)-r.gaps)
	for _, n := range r.entries {
		if n.look != nil {
			out = append(out, n)
		}
	}
	return out
}
