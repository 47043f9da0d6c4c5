package shard

import (
	"sync"
	"sync/atomic"
	"unsafe"
)

// Where a goroutine sends and receives is a hint, kept in a small table by where
// its stack lies: one load finds it, and two goroutines that share an entry are
// none the worse for it.
//
// A sender's hint is the number of a lane, the one of the P that it runs on. The
// P has no name in Go; but a sync.Pool gives back to a P what was last put back
// there, so a token from a pool stands for it. That costs as much as a send, so
// the token is asked once in settleEvery values of a lane. If the hint turns
// out wrong time and again, the goroutine changes its P more often than that, or
// many share its entry: then each send asks.
//
//   - hint & numberMask is the lane; numberMask itself stands for "ask".
//   - hint >> numberBits counts how often in a row it was found wrong.

const (
	placeBits   = 8
	places      = 1 << placeBits
	numberBits  = 16
	numberMask  = 1<<numberBits - 1
	settleEvery = 64 // a power of two
	// wrongs is how often in a row a hint may be wrong before each send asks.
	wrongs = 3
	ask    = wrongs<<numberBits | numberMask
)

// here is the index of the calling goroutine in a table of places. The smallest
// stack has 2 KiB.
func here() uint32 {
	var here byte
	return uint32(uintptr(unsafe.Pointer(&here))>>11) * 0x9e3779b1 >> (32 - placeBits)
}

// A token stands for a P.
type token struct{ number uint32 }

// tokens are those of all channels: a token has nothing to do with any of them.
var (
	tokens = sync.Pool{New: func() any { return &token{lastToken.Add(1)} }}

	lastToken atomic.Uint32
)

// place returns a number that is the same each time on the same P, and most
// often another one on another P. With move it is a new one from now on.
func place(move bool) uint32 {
	t := tokens.Get().(*token)
	if move {
		t.number = lastToken.Add(1)
	}
	number := t.number
	tokens.Put(t)
	return number
}

// home is the number of the lane to begin with, for a sender whose hint did not
// help: because the lane has no room, because there are fewer lanes by now, or
// because each send is to ask.
func (e *Engine[T]) home(s *set[T], hint *atomic.Uint32) int {
	was := hint.Load()
	if number := was & numberMask; number < uint32(s.active) {
		return int(number)
	}
	number := place(false) % uint32(s.active)
	switch tail, _ := s.shared[number].Tail(); {
	case was != ask:
		hint.Store(number)
	case tail%settleEvery == 0: // once more without
		hint.Store(number | (wrongs-1)<<numberBits)
	}
	return int(number)
}

// settle is called after one in settleEvery values that a sender sent in l by
// its hint: it looks whether there are too few lanes, or too many, and whether
// the hint is right.
func (e *Engine[T]) settle(s *set[T], l *lane[T], hint *atomic.Uint32) {
	was, move := hint.Load(), e.watch(s, l)
	number := place(move) % uint32(s.active)
	next := number
	if was&numberMask != number {
		if !s.shared[number].hasRoom(e.muchRoom()) {
			return // it was left for want of room
		}
		if next |= (was>>numberBits + 1) << numberBits; next>>numberBits >= wrongs {
			next = ask
		}
	}
	if next != was {
		hint.Store(next)
	}
}
