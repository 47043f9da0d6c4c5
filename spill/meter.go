package spill

import "sync/atomic"

// A meter holds the bytes of values in memory below a limit. Its two sides write
// lines of their own: only when what senders last saw of the receivers' side does
// not suffice do they look there again, once a run and not once a value.
//
//   - out <= in <= out + limit: in moves by a CAS that has seen out.
//   - bound <= out + limit: out only grows, so an old bound is a lower one.
//   - A value is counted in before it can be received, and out after it was.
type meter struct {
	limit int64
	_     [56]byte
	in    atomic.Int64 // bytes that were admitted
	bound atomic.Int64 // how far in may go without a look at out
	_     [48]byte
	out   atomic.Int64 // bytes that have left
	_     [56]byte
}

// admit counts n bytes in, if there is room for them now.
func (m *meter) admit(n int64) bool {
	for {
		in := m.in.Load()
		if in+n > m.bound.Load() {
			bound := m.out.Load() + m.limit
			if in+n > bound {
				return false
			}
			m.bound.Store(bound)
		}
		if m.in.CompareAndSwap(in, in+n) {
			return true
		}
	}
}

// release counts n bytes out.
func (m *meter) release(n int64) { m.out.Add(n) }

// held is how many bytes are in memory; while others work, at most too many.
func (m *meter) held() int64 {
	out := m.out.Load()
	return m.in.Load() - out
}
