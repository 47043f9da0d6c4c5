package segqueue

import "sync"

// A Readiness is the built-in channel that Ready returns. A token is posted after
// each send, and after each receive that leaves a value. There may be a token
// without a value, but never a value without a token or a receive in progress.
type Readiness struct {
	mu     sync.Mutex
	token  chan struct{}
	closed bool
}

// Post stores a token, unless there is one.
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
	if e.SetReadiness(r) {
		r.Close()
	}
	return r.token
}

// SetReadiness makes r the Readiness of e, and reports whether e is closed. A
// goroutine that moves an index after that sees the flag and posts. For values that
// were sent before, SetReadiness posts.
func (e *Engine[T]) SetReadiness(r *Readiness) (shut bool) {
	e.ready.Store(r)
	word := e.send.lock()
	e.send.unlock(word | readyInUse)
	e.recv.unlock(e.recv.lock() | readyInUse)
	if e.Len() > 0 {
		r.Post()
	}
	return word&closed != 0
}
