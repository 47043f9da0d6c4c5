package segqueue

import "sync"

// A Readiness is the channel behind Ready. A token is posted after each send,
// and after each receive that left a value: it may be one too many, never one
// too few.
type Readiness struct {
	mu     sync.Mutex
	token  chan struct{}
	closed bool
}

// Post puts a token down, unless there is one.
func (r *Readiness) Post() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	select {
	case r.token <- struct{}{}:
	default:
	}
}

// Close closes the channel.
func (r *Readiness) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.closed = true
		close(r.token)
	}
}

// NewReadiness returns a Readiness without a token.
func NewReadiness() *Readiness { return &Readiness{token: make(chan struct{}, 1)} }

// Token returns the channel.
func (r *Readiness) Token() <-chan struct{} { return r.token }

// Ready implements engine.Engine.
func (e *Engine[T]) Ready() <-chan struct{} {
	if r := e.ready.Load(); r != nil {
		return r.token
	}
	e.ready.CompareAndSwap(nil, NewReadiness())
	r := e.ready.Load()
	if e.Observe(r) {
		r.Close()
	}
	return r.token
}

// Observe makes r the Readiness of e, and reports whether e is closed. Whoever
// moves an index after this sees the bit and posts; what was sent before is
// posted here.
func (e *Engine[T]) Observe(r *Readiness) (shut bool) {
	e.ready.Store(r)
	word := e.send.lock()
	e.send.unlock(word | observed)
	e.recv.unlock(e.recv.lock() | observed)
	if e.Len() > 0 {
		r.Post()
	}
	return word&closed != 0
}
