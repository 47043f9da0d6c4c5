package workpool

import (
	"math/bits"
	"sync/atomic"

	"github.com/sluice-go/sluice/internal/waitq"
)

// A Window carries results from workers to one consumer in the order of their
// numbers. It has a slot for each of as many consecutive numbers as it is wide.
//
//   - The slots of base, base+1, … are those of the numbers that the consumer has
//     yet to take; only jobs with these numbers are received (Room). So no two
//     jobs have one slot.
//   - A slot is its job's worker's until that stores its ready bit, which
//     publishes the result; then it is the consumer's, until that moves base
//     past it, which gives it to the worker of a later job.
//   - The consumer waits for the slot of base alone: it joins its line and looks
//     at that slot once more. A worker stores the bit first, and looks then whether
//     somebody waits, and for its slot. base does not move while somebody waits.
type Window[U any] struct {
	width    uint64
	slots    []slot[U] // at least width, a power of two
	base     atomic.Uint64
	consumer waitq.Queue
	ended    atomic.Bool
	run      []Result[U] // what was taken last
}

// A Result is what became of a job.
type Result[U any] struct {
	Value U
	Err   error
}

type slot[U any] struct {
	ready  atomic.Bool
	result Result[U]
}

// runSize is how many results the consumer takes from a window at once.
const runSize = 64

// NewWindow returns a window of that width.
func NewWindow[U any](width int) *Window[U] {
	return &Window[U]{width: uint64(width), slots: make([]slot[U], 1<<bits.Len(uint(width-1)))}
}

func (w *Window[U]) at(seq uint64) *slot[U] { return &w.slots[seq&uint64(len(w.slots)-1)] }

// Room returns how many jobs may be received from number next on.
func (w *Window[U]) Room(next uint64) int {
	return int(w.base.Load() + w.width - next)
}

// Put puts the result of job seq into its slot. It never waits.
func (w *Window[U]) Put(seq uint64, r Result[U]) {
	s := w.at(seq)
	s.result = r
	s.ready.Swap(true) // publishes the result, before the look for who waits
	if w.consumer.Waiting() && w.base.Load() == seq {
		w.consumer.Wake()
	}
}

// End says that all workers have ended.
func (w *Window[U]) End() {
	w.ended.Store(true)
	w.consumer.WakeAll()
}

// Take waits for the next results and returns them; Room has grown then. The slice
// is the caller's until the next call. It returns none when all workers have ended
// and the next result will never come.
func (w *Window[U]) Take() []Result[U] {
	clear(w.run)
	w.run = w.run[:0]
	for {
		ended := w.ended.Load() // before the look: nothing is put after the end
		base := w.base.Load()
		for s := w.at(base); len(w.run) < runSize && s.ready.Load(); s = w.at(base) {
			w.run = append(w.run, s.result)
			s.result = Result[U]{}
			s.ready.Store(false)
			base++
		}
		if len(w.run) > 0 {
			w.base.Swap(base) // before the look for who waits for room
			return w.run
		}
		if ended {
			return nil
		}
		var stay waitq.Wait
		stay.Join(&w.consumer, nil)
		if !w.ended.Load() && !w.at(base).ready.Load() {
			stay.Step()
		}
		stay.Leave() // nobody waits beside it
	}
}
