package workpool

import (
	"sync/atomic"

	"github.com/sluice-go/sluice/internal/spin"
	"github.com/sluice-go/sluice/internal/waitq"
)

// boxSize is how many results wait in a box.
const boxSize = 128

// Boxes carry results from workers to one consumer, in no particular order. Each
// worker has a box of its own: a slice behind a lock that only the consumer
// contends for. A result can be taken as soon as it is put, whatever its worker
// does next; the consumer takes all that a box holds by exchanging its slice,
// so that results come in runs exactly while it is busy.
//
//   - A worker puts first and raises its bit on the board then; the consumer
//     lowers the bit and empties the box then. So no result stays unseen.
//   - The consumer joins its line, and looks at the board once more before it
//     parks; a worker looks at the line after it has raised its bit.
//   - A worker whose box is full joins the line of the box and looks once more;
//     the consumer empties the box first and looks at that line then.
//   - End and Abandon set their word first, and wake everybody then.
type Boxes[U any] struct {
	boxes    []box[U]
	board    board
	consumer waitq.Queue
	next     int // where the consumer looks first
	spare    []U // exchanged for a full one
	ended    atomic.Bool
	dropped  atomic.Bool // nobody consumes any more
}

type box[U any] struct {
	lock   spin.Lock
	values []U
	putter waitq.Queue
	_      [64]byte
}

// NewBoxes returns a box for each worker.
func NewBoxes[U any](workers int) *Boxes[U] {
	return &Boxes[U]{boxes: make([]box[U], workers), board: newBoard(workers)}
}

// Put puts a result of a worker into its box, and waits while that is full.
func (b *Boxes[U]) Put(worker int, u U) {
	box := &b.boxes[worker]
	for !box.put(u) {
		var stay waitq.Wait
		stay.Join(&box.putter, nil)
		if box.full() && !b.dropped.Load() {
			stay.Step()
		}
		stay.Leave() // nobody waits beside it
		if b.dropped.Load() {
			return
		}
	}
	b.board.raise(worker)
	if b.consumer.Waiting() {
		b.consumer.Wake()
	}
}

func (b *box[U]) put(u U) bool {
	b.lock.Lock()
	defer b.lock.Unlock()
	if len(b.values) == boxSize {
		return false
	}
	b.values = append(b.values, u)
	return true
}

func (b *box[U]) full() bool {
	b.lock.Lock()
	defer b.lock.Unlock()
	return len(b.values) == boxSize
}

// End says that all workers have ended.
func (b *Boxes[U]) End() {
	b.ended.Store(true)
	b.consumer.WakeAll()
}

// Abandon says that the consumer takes nothing more.
func (b *Boxes[U]) Abandon() {
	b.dropped.Store(true)
	for i := range b.boxes {
		b.boxes[i].putter.WakeAll()
	}
}

// Take waits for results and returns those of one worker. The slice is the
// caller's until the next call. It returns none when all workers have ended and
// all boxes are empty.
func (b *Boxes[U]) Take() []U {
	clear(b.spare) // what was yielded is not kept alive
	for {
		ended := b.ended.Load() // before the look: nothing is put after the end
		if b.board.each(b.next, b.empty) {
			return b.spare
		}
		if ended {
			return nil
		}
		var stay waitq.Wait
		stay.Join(&b.consumer, nil)
		if !b.ended.Load() && !b.board.each(0, func(int) bool { return true }) {
			stay.Step()
		}
		stay.Leave() // nobody waits beside it
	}
}

// empty takes what is in a worker's box, and reports whether that is anything.
func (b *Boxes[U]) empty(worker int) bool {
	box := &b.boxes[worker]
	b.board.lower(worker)
	box.lock.Lock()
	box.values, b.spare = b.spare[:0], box.values
	box.lock.Unlock()
	if box.putter.Waiting() {
		box.putter.Wake()
	}
	b.next = (worker + 1) % len(b.boxes)
	return len(b.spare) > 0
}
