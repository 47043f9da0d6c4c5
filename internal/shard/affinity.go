package shard

import (
	"sync"
	"sync/atomic"
	"unsafe"
)

// The lane in which a goroutine sends and receives is a hint in a small table. The
// index is derived from the address of the goroutine's stack, so one load finds the
// hint, and two goroutines that share an entry are still correct.
//
// A sender's hint is the number of the lane of its P. Go does not expose Ps, but a
// sync.Pool returns to a P what was last put there, so a token from a pool
// identifies it. Getting the token costs as much as a send, so it happens once in
// checkEvery values of a lane. A goroutine that sends a single value has the stack, and so
// the hint, of one that ended on the same P: the runtime keeps free stacks by P.

const (
	hintBits   = 8
	hints      = 1 << hintBits
	numberBits = 16
	numberMask = 1<<numberBits - 1
	checkEvery = 64 // a power of two
)

// hintIndex returns the index of the calling goroutine in a table of hints. The
// smallest stack has 2 KiB.
func hintIndex() uint32 {
	var local byte
	return uint32(uintptr(unsafe.Pointer(&local))>>11) * 0x9e3779b1 >> (32 - hintBits)
}

// A token identifies a P.
type token struct{ number uint32 }

// tokens is shared by all channels.
var (
	tokens = sync.Pool{New: func() any { return &token{lastToken.Add(1)} }}

	lastToken atomic.Uint32
)

// pNumber returns a number that is usually the same on the same P, and different on
// another one. If move, the P gets a new number.
func pNumber(move bool) uint32 {
	t := tokens.Get().(*token)
	if move {
		t.number = lastToken.Add(1)
	}
	number := t.number
	tokens.Put(t)
	return number
}

// home returns the number of the lane to try first, for a sender whose hint failed:
// because the lane has no room, or because it was removed.
func (e *Engine[T]) home(s *set[T], hint *atomic.Uint32) int {
	number := hint.Load()
	if s.shared[number] == nil {
		number = pNumber(false) % uint32(s.active)
		hint.Store(number)
	}
	return int(number)
}

// checkHint is called for one in checkEvery values that a sender sent in l by its
// hint. It adapts the number of lanes, and corrects the hint, unless the sender has left
// the lane of its P because that was full.
func (e *Engine[T]) checkHint(s *set[T], l *lane[T], hint *atomic.Uint32) {
	number := pNumber(e.adapt(s, l)) % uint32(s.active)
	if hint.Load() != number && s.shared[number].hasRoom(e.ampleRoom()) {
		hint.Store(number)
	}
}
