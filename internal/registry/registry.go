// Package registry holds the named channels of the program: those that package inspect
// lists. Kinds of the root package, and channels of other packages, register here.
package registry

import (
	"cmp"
	"runtime"
	"slices"
	"sync"
	"unicode/utf8"
	"weak"

	"github.com/sluice-go/sluice/internal/callsite"
	"github.com/sluice-go/sluice/internal/engine"
)

// An Entry is a named channel. It refers to the channel weakly.
type Entry struct {
	ID   uint64 // counts named channels from 1, in the order of registration
	Name string // at most MaxName bytes, and so is Kind
	Kind string

	// Stats and Snapshot report the state of the channel; ok is false once the channel is
	// garbage. Snapshot is nil for a channel that has only Stats.
	Stats    func() (s engine.Stats, ok bool)
	Snapshot func() (s engine.Snapshot, ok bool)

	Sites *callsite.Sites // nil for a channel that does not sample its callers
}

// Kinds are the kinds of the root package, in lower case.
var Kinds = []string{"rendezvous", "bounded", "elastic", "aged", "sharded", "priority", "delay"}

// MaxList is the maximum length of a list in a Snapshot.
const MaxList = 64

// MaxName is the maximum length of a name in bytes. Each report of a channel repeats its
// name, which may come from outside of the program. A longer name is cut, and ends in "…".
const MaxName = 256

// Short returns text, or its beginning and "…" if it is longer than most bytes.
func Short(text string, most int) string {
	const cut = "…"
	if len(text) <= most {
		return text
	}
	end := most - len(cut)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + cut
}

// Engine registers e, the engine of a kind, if config has a name, and returns it. A Lane, a
// Case, or the channel of Ready keeps the engine in use when its kind is garbage: so the
// engine is registered, not the kind.
func Engine[T, E any, P interface {
	*E
	engine.Engine[T]
}](kind string, config engine.Config[T], e P) engine.Engine[T] {
	add(Entry{Name: config.Name, Kind: kind, Sites: config.Sites}, (*E)(e),
		func(e *E) engine.Stats { return P(e).Stats() },
		func(e *E) engine.Snapshot { return P(e).Snapshot(MaxList) })
	return e
}

// Foreign registers c, a channel that is not a kind of the root package, unless name is empty.
func Foreign[C any](name, kind string, c *C, stats func(*C) engine.Stats, sites *callsite.Sites) {
	add(Entry{Name: name, Kind: kind, Sites: sites}, c, stats, nil)
}

// Channels returns a copy of the entries, in ascending order of ID, closed channels
// included. It allocates once.
func Channels() []Entry {
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.present()
}

func add[C any](e Entry, c *C, stats func(*C) engine.Stats, snapshot func(*C) engine.Snapshot) {
	if e.Name == "" {
		return
	}
	e.Name, e.Kind = Short(e.Name, MaxName), Short(e.Kind, MaxName)
	ref := weak.Make(c)
	e.Stats = through(ref, stats)
	if snapshot != nil {
		e.Snapshot = through(ref, snapshot)
		stats(c) // the first observation of how many values it was sent
	}
	runtime.AddCleanup(c, all.remove, all.add(e))
}

// through calls f with the channel that ref refers to, unless that is garbage.
func through[C, F any](ref weak.Pointer[C], f func(*C) F) func() (F, bool) {
	return func() (result F, ok bool) {
		c := ref.Value()
		if c == nil {
			return result, false
		}
		return f(c), true
	}
}

var all registry

// A registry holds entries in ascending order of ID. The entry of a channel that is
// garbage becomes a gap, without Stats; when more than half of the entries are gaps, they
// are removed. So a removal costs a binary search, however many channels there are.
type registry struct {
	mu      sync.Mutex
	last    uint64 // ID
	entries []Entry
	gaps    int
}

// add appends e and returns its ID.
func (r *registry) add(e Entry) (id uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last++
	e.ID = r.last
	r.entries = append(r.entries, e)
	return r.last
}

func (r *registry) remove(id uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, found := slices.BinarySearchFunc(r.entries, id, func(e Entry, id uint64) int { return cmp.Compare(e.ID, id) })
	if !found || r.entries[at].Stats == nil {
		return
	}
	r.entries[at] = Entry{ID: id}
	if r.gaps++; r.gaps > len(r.entries)/2 {
		r.entries = r.present()
		r.gaps = 0
	}
}

// present copies the entries except for the gaps. The lock is held.
func (r *registry) present() []Entry {
	out := make([]Entry, 0, len(r.entries)-r.gaps)
	for _, e := range r.entries {
		if e.Stats != nil {
			out = append(out, e)
		}
	}
	return out
}
