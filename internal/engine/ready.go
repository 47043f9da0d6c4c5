package engine

import (
	"sync"
	"sync/atomic"
)

// A Ready is the built-in channel that the method Ready of an engine returns. It has room for
// one token. There may be a token without a value, but never a value without a token or a
// receive in progress, until the channel is closed:
//
//   - An engine calls Post after each send has published its value, and after each receive
//     that leaves a value. Both may be under a lock of the engine or after it.
//   - Chan makes the channel and then looks for values. A send that is before that look has
//     its value found; a later one finds the channel, and posts. The same holds for a receive
//     that leaves a value, and for Close.
//   - When Post returns, the channel has had a token at a moment during the call, with the
//     value published. The goroutine that takes that token polls after that moment, so it finds
//     the value, or another goroutine has taken it. What a receiver of a single value
//     leaves behind, it posts for.
//
// The lock of a token orders Post and Close. It also orders the publication of the value
// before the look at the channel, which a select statement with a default alone does not.
//
// The zero value has no channel: before the first call of Chan, the other methods only load a
// pointer. A Ready must not be copied; see Share.
type Ready struct{ token atomic.Pointer[token] }

type token struct {
	c      chan struct{}
	lock   sync.Mutex
	closed bool
}

// Chan returns the channel, always the same one. The call that makes it then calls begin, which
// ensures that all sends and receives from then on post, and reports whether there is a value,
// and whether the engine is closed. The caller holds no lock that begin takes.
func (r *Ready) Chan(begin func() (hasValue, closed bool)) <-chan struct{} {
	if t := r.token.Load(); t != nil {
		return t.c
	}
	t := &token{c: make(chan struct{}, 1)}
	if !r.token.CompareAndSwap(nil, t) {
		return r.token.Load().c
	}
	hasValue, closed := begin()
	if hasValue {
		t.post()
	}
	if closed {
		t.close()
	}
	return t.c
}

// InUse reports whether Chan was called.
func (r *Ready) InUse() bool { return r.token.Load() != nil }

// Share makes r the same channel as other, of which Chan was called.
func (r *Ready) Share(other *Ready) { r.token.Store(other.token.Load()) }

// Post puts the token into the channel, unless it is there, or the channel is closed.
func (r *Ready) Post() {
	if t := r.token.Load(); t != nil {
		t.post()
	}
}

// Close closes the channel. Only the first call has an effect.
func (r *Ready) Close() {
	if t := r.token.Load(); t != nil {
		t.close()
	}
}

func (t *token) post() {
	t.lock.Lock()
	defer t.lock.Unlock()
	if t.closed {
		return
	}
	select {
	case t.c <- struct{}{}:
	default: // it is there
	}
}

func (t *token) close() {
	t.lock.Lock()
	defer t.lock.Unlock()
	if !t.closed {
		t.closed = true
		close(t.c)
	}
}
