package priority

import "github.com/sluice-go/sluice/internal/park"

// The call sites of a channel with a name: see package callsite. A goroutine that parks
// takes a sample, and so does the first send, and the first receive, of all and after
// each call of Stats.

const (
	probeSend = 1 << iota
	probeRecv
)

// watch makes e sample call sites, if it has a name.
func (e *Engine[T]) watch() {
	sites := e.config.Sites
	if sites == nil {
		return
	}
	for i := range e.levels {
		e.levels[i].senders.Tally().Watch(&sites.Send)
	}
	e.receivers.Tally().Watch(&sites.Receive)
	e.receivers.Time()
	e.probeNext()
}

// probeNext makes the next send and the next receive take a sample. The lock is held.
func (e *Engine[T]) probeNext() {
	if e.config.Sites != nil {
		e.probes = probeSend | probeRecv
		e.refresh()
	}
}

// probe takes a sample if bit is set, and clears it. The caller does not hold the lock: a
// sample takes microseconds.
func (e *Engine[T]) probe(bit uint8) {
	if e.config.Sites == nil {
		return
	}
	e.acquire()
	due := e.probes&bit != 0
	e.probes &^= bit
	e.refresh()
	e.lock.Unlock()
	if !due {
		return
	}
	side := &e.config.Sites.Send
	if bit == probeRecv {
		side = &e.config.Sites.Receive
	}
	side.Probe(park.Now())
}
