package workpool

import (
	"math/bits"
	"sync/atomic"
)

// A board has a bit for each of many parts that may hold something, so that who
// looks for it reads a word for 64 of them. A part whose bit is down holds
// nothing, or its owner is about to raise the bit: owners fill first and raise
// then, and who lowers a bit looks into the part after that.
type board []atomic.Uint64

func newBoard(parts int) board { return make(board, (parts+63)/64) }

// raise sets the bit of a part that has something. While it stays set this is
// one load: a busy part does not write to the line that all others read.
func (b board) raise(part int) {
	word, bit := &b[part/64], uint64(1)<<(part%64)
	if word.Load()&bit == 0 {
		word.Or(bit)
	}
}

// lower clears the bit of a part. The caller looks into it afterwards.
func (b board) lower(part int) { b[part/64].And(^(uint64(1) << (part % 64))) }

// each calls visit with the parts whose bit is up, from part first on and around,
// until that returns true, and reports whether it did.
func (b board) each(first int, visit func(part int) bool) bool {
	start, from := first/64, uint(first%64)
	for i := range len(b) + 1 {
		at := (start + i) % len(b)
		word := b[at].Load()
		switch i {
		case 0:
			word &= ^uint64(0) << from
		case len(b):
			word &= 1<<from - 1
		}
		for ; word != 0; word &= word - 1 {
			if visit(at*64 + bits.TrailingZeros64(word)) {
				return true
			}
		}
	}
	return false
}
