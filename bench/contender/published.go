package contender

import "fmt"

// A PublishedShrink is the condition under which the published elastic channel
// shrinks its queue.
type PublishedShrink uint8

const (
	// PublishedNoShrink never shrinks.
	PublishedNoShrink PublishedShrink = iota
	// PublishedShrinkHalf copies to half the size whenever less than half is
	// used, without hysteresis: a queue that swings around a power of two
	// copies at each swing.
	PublishedShrinkHalf
	// PublishedShrinkEmpty is meant to shrink when the queue is empty. As
	// published it frees nothing.
	PublishedShrinkEmpty

	// The remaining modes are not part of the study: they complete what its
	// author left open. Everything else is as published.

	// LazyShrinkHalf copies to half the size when less than a quarter is used,
	// so that a queue that swings around a power of two keeps its size.
	LazyShrinkHalf
	// FreeWhenEmpty is PublishedShrinkEmpty as intended: an empty queue returns
	// to its initial size.
	FreeWhenEmpty
)

var publishedShrinkNames = [...]string{"no shrink", "shrink half", "shrink empty", "lazy shrink half", "free when empty"}

func (s PublishedShrink) String() string { return publishedShrinkNames[s] }

// Published is the elastic channel of N. Patavalis, "Elastic channels" (2014),
// written from its description: a goroutine between two built-in channels that
// keeps the excess values in a circular queue. Closing the sending end delivers
// the queued values and then closes the receiving end.
type Published struct {
	// Flushing continues to receive after a receive, and to send after a send, until it would
	// have to wait. The simple algorithm moves one value per select.
	Flushing               bool
	Shrink                 PublishedShrink
	SendBuffer, RecvBuffer int // capacities of the two built-in channels; 128 in the study
	Slots                  int // initial size of the queue, a power of two; 0 in the study
}

// PublishedBuffer is the capacity of both built-in channels in the study.
const PublishedBuffer = 128

// Contender returns p as a contender.
func (p Published) Contender() Contender {
	return Contender{
		Name:  fmt.Sprintf("published %+v", p),
		Bound: UnboundedOnly,
		Make: func(int) Channel {
			in := make(chan uint64, p.SendBuffer)
			return OverEnds(in, p.start(in))
		},
	}
}

// start runs the pump between in and the channel that it returns.
func (p Published) start(in <-chan uint64) <-chan uint64 {
	out := make(chan uint64, p.RecvBuffer)
	pump := &pump{in: in, out: out, flushes: p.Flushing, queue: newPublishedQueue(p.Shrink, p.Slots)}
	go pump.run()
	return out
}

// maxRun is the number of values that the flushing pump receives in a row, so
// that a fast sender cannot keep it from sending.
const maxRun = 1024

// pump belongs to its goroutine. in is nil once it was closed.
type pump struct {
	in      <-chan uint64
	out     chan<- uint64
	queue   publishedQueue
	flushes bool
}

// offer returns the channel and the value that a select may send. While the
// queue is empty the channel is nil, which disables the case.
func (p *pump) offer() (chan<- uint64, uint64) {
	if p.queue.len() == 0 {
		return nil, 0
	}
	return p.out, p.queue.front()
}

func (p *pump) run() {
	defer close(p.out)
	for p.in != nil || p.queue.len() > 0 {
		out, front := p.offer()
		select {
		case v, ok := <-p.in:
			if !ok {
				p.in = nil
				continue
			}
			p.queue.push(v)
			if p.flushes {
				p.flushIn()
			}
		case out <- front:
			p.queue.pop()
			if p.flushes {
				p.flushOut()
			}
		}
	}
}

// flushIn queues the values that can be received without waiting, after a first
// one, and at most maxRun with it. As published it receives one more, which it
// loses.
func (p *pump) flushIn() {
	for range maxRun - 1 {
		select {
		case v, ok := <-p.in:
			if !ok {
				p.in = nil
				return
			}
			p.queue.push(v)
		default:
			return
		}
	}
}

// flushOut sends the values that can be sent without waiting.
func (p *pump) flushOut() {
	for p.queue.len() > 0 {
		select {
		case p.out <- p.queue.front():
			p.queue.pop()
		default:
			return
		}
	}
}

// publishedQueue is the study's circular buffer: its size is a power of two,
// and its indices run freely and wrap.
type publishedQueue struct {
	buf        []uint64
	head, tail uint
	shrink     PublishedShrink
	start      int // size of an empty queue that was freed
}

func newPublishedQueue(shrink PublishedShrink, slots int) publishedQueue {
	return publishedQueue{buf: make([]uint64, slots), shrink: shrink, start: slots}
}

func (q *publishedQueue) len() int { return int(q.tail - q.head) }

func (q *publishedQueue) front() uint64 { return q.buf[q.head&uint(len(q.buf)-1)] }

func (q *publishedQueue) push(v uint64) {
	if q.len() == len(q.buf) {
		q.resize(max(1, 2*len(q.buf)))
	}
	q.buf[q.tail&uint(len(q.buf)-1)] = v
	q.tail++
}

// pop removes the front. PublishedShrinkEmpty needs no case here: as published
// it has no effect.
func (q *publishedQueue) pop() {
	q.head++
	switch size := len(q.buf); q.shrink {
	case PublishedShrinkHalf:
		if size > 1 && q.len() < size/2 {
			q.resize(size / 2)
		}
	case LazyShrinkHalf:
		if size > 1 && q.len() < size/4 {
			q.resize(size / 2)
		}
	case FreeWhenEmpty:
		if q.len() == 0 && size > q.start {
			q.buf = make([]uint64, q.start)
		}
	}
}

func (q *publishedQueue) resize(size int) {
	buf := make([]uint64, size)
	for i := q.head; i != q.tail; i++ {
		buf[i&uint(size-1)] = q.buf[i&uint(len(q.buf)-1)]
	}
	q.buf = buf
}
