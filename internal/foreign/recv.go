// Package foreign lets a Select wait for channels that have no engine of this module:
// channels on disk or on servers, results of a pipeline stage, and the user's own types.
//
// Such a channel offers Ready, which becomes readable when a value can be received, and
// the Try calls. The package turns these into an [engine.Entry].
package foreign

import (
	"sync"

	"github.com/sluice-go/sluice/internal/park"
	"github.com/sluice-go/sluice/internal/selection"
)

// A RecvEntry waits for the Ready channel of a foreign channel.
//
// The contract of Ready: a token is delivered after each send, and after each receive
// that left a value. One token may be too many, none is ever missing.
//
// All Selects that wait for one Ready channel share a watcher: a goroutine that takes the
// tokens and notifies every waiting Select. It runs only while a Select waits.
//
//   - entries[r] is the set of entries that have joined for the Ready channel r; a
//     watcher of r runs if and only if the set exists.
//   - A Select joins before it polls. The poll finds a value that was sent before the
//     join, unless another receiver took it. A later value delivers a later token, and
//     the watcher that takes the token notifies all entries in the set at that moment.
//   - A stopped watcher may still take one token. It notifies the set that exists at that
//     moment, even if that set belongs to another watcher.
//   - At most one of the Selects that a token wakes receives the value; the others wait
//     again. If that Select leaves a value behind, its receive delivers the next token.
//
// So no wake-up is lost among Selects. A goroutine that reads Ready in a native select
// at the same time may lose a token to the watcher, as the comment of OnRecv documents.
//
// When Ready is closed, a receive may still be possible later (a channel on servers drains
// slowly): from then on the entry polls, as a SendEntry does.
type RecvEntry struct {
	ready  <-chan struct{}
	state  *selection.State // guarded by watchers.mu, as are index and closed
	index  int
	closed bool
	poll   SendEntry
	tally  park.Tally
}

// NewRecvEntry returns an entry for the Ready channel of a foreign channel.
func NewRecvEntry(ready <-chan struct{}) *RecvEntry { return &RecvEntry{ready: ready} }

// watchers are the sets of entries by Ready channel.
var watchers = struct {
	mu      sync.Mutex
	entries map[<-chan struct{}]*watcher
}{entries: make(map[<-chan struct{}]*watcher)}

// A watcher is a goroutine that takes the tokens of one Ready channel.
type watcher struct {
	stop    chan struct{}
	entries map[*RecvEntry]struct{}
}

// Join implements [engine.Entry].
func (e *RecvEntry) Join(s *selection.State, index int) {
	watchers.mu.Lock()
	defer watchers.mu.Unlock()
	e.state, e.index = s, index
	if e.closed {
		e.poll.Join(s, index)
		return
	}
	w := watchers.entries[e.ready]
	if w == nil {
		w = &watcher{stop: make(chan struct{}), entries: make(map[*RecvEntry]struct{})}
		watchers.entries[e.ready] = w
		go watch(e.ready, w.stop)
	}
	w.entries[e] = struct{}{}
}

// Leave implements [engine.Entry].
func (e *RecvEntry) Leave() {
	watchers.mu.Lock()
	defer watchers.mu.Unlock()
	e.poll.Leave()
	e.state = nil
	if w := watchers.entries[e.ready]; w != nil {
		delete(w.entries, e)
		if len(w.entries) == 0 {
			delete(watchers.entries, e.ready)
			close(w.stop)
		}
	}
}

// Tally implements [engine.Entry].
func (e *RecvEntry) Tally() *park.Tally { return &e.tally }

// watch takes tokens from ready until ready or stop is closed.
func watch(ready, stop <-chan struct{}) {
	for {
		open, stopped := park.Next(ready, stop)
		if stopped {
			return
		}
		deliver(ready, open)
		if !open {
			return
		}
	}
}

// deliver notifies every entry that has joined for ready. If ready was closed, it removes
// the set, and the entries poll from now on.
func deliver(ready <-chan struct{}, open bool) {
	watchers.mu.Lock()
	defer watchers.mu.Unlock()
	w := watchers.entries[ready]
	if w == nil {
		return
	}
	for e := range w.entries {
		e.closed = !open
		notify(e.state, e.index)
	}
	if !open {
		delete(watchers.entries, ready)
	}
}

// notify makes the Select of s poll its case with the given index, if s still accepts it.
func notify(s *selection.State, index int) {
	if ok, unpark := s.Notify(index); ok && unpark {
		s.Parker().Unpark()
	}
}
