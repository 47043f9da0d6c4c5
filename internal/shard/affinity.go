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
// checkEvery values of a lane. If the hint is wrong several times in a row, because
// the goroutine changes its P more often or shares its entry with many others, then
// each send gets the token.
//
//   - hint & numberMask is the number of the lane; numberMask itself means "get the
//     token".
//   - hint >> numberBits counts how many times in a row the hint was wrong.

const (
	hintBits   = 8
	hints      = 1 << hintBits
	numberBits = 16
	numberMask = 1<<numberBits - 1
	checkEvery = 64 // a power of two
	// maxMisses is how many times in a row a hint may be wrong before each send
	// gets the token.
	maxMisses = 3
	ask       = maxMisses<<numberBits | numberMask
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
// because the lane has no room, because there are fewer lanes by now, or because
// each send gets the token.
func (e *Engine[T]) home(s *set[T], hint *atomic.Uint32) int {
	was := hint.Load()
	if number := was & numberMask; number < uint32(s.active) {
		return int(number)
	}
	number := pNumber(false) % uint32(s.active)
	switch tail, _ := s.shared[number].Tail(); {
	case was != ask:
		hint.Store(number)
	case tail%checkEvery == 0: // try once more with a hint
		hint.Store(number | (maxMisses-1)<<numberBits)
	}
	return int(number)
}

// checkHint is called for one in checkEvery values that a sender sent in l by its
// hint. It adapts the number of lanes, and corrects the hint.
func (e *Engine[T]) checkHint(s *set[T], l *lane[T], hint *atomic.Uint32) {
	was, move := hint.Load(), e.adapt(s, l)
	number := pNumber(move) % uint32(s.active)
	next := number
	if was&numberMask != number {
		if !s.shared[number].hasRoom(e.ampleRoom()) {
			return // the sender left that lane because it was full
		}
		if next |= (was>>numberBits + 1) << numberBits; next>>numberBits >= maxMisses {
			next = ask
		}
	}
	if next != was {
		hint.Store(next)
	}
}
