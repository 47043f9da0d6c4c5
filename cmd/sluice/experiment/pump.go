package experiment

import "github.com/sluice-go/sluice/bench/contender"

// A variant is the published flushing pump with one thing changed: what its
// author would have tried next. Pump and queue are written as in the contender
// that they are compared with, so that the change is all there is between them.
type variant struct {
	// start is how many slots the queue has from the beginning, a power of two.
	start int
	// halveBelow is the part of the slots in use below which the queue is
	// copied to half its size: 4 means a quarter. 0 never does that.
	halveBelow int
	// freeWhenEmpty frees all but start slots whenever the queue runs empty.
	freeWhenEmpty bool
}

func (v variant) contestant(name string) contestant {
	return contestant{name, contender.Contender{
		Name:  name,
		Bound: contender.UnboundedOnly,
		Make: func(int) contender.Channel {
			in := make(chan uint64, contender.PublishedBuffer)
			out := make(chan uint64, contender.PublishedBuffer)
			p := &variantPump{in: in, out: out, queue: variantQueue{variant: v, buf: make([]uint64, v.start)}}
			go p.run()
			return contender.OverEnds(in, out)
		},
	}, unbounded, false}
}

// inRow is how many values the pump receives without a look at the other side.
const inRow = 1024

// variantPump is owned by its goroutine. in is nil once it was closed.
type variantPump struct {
	in    <-chan uint64
	out   chan<- uint64
	queue variantQueue
}

func (p *variantPump) run() {
	defer close(p.out)
	for p.in != nil || p.queue.len() > 0 {
		var out chan<- uint64
		var front uint64
		if p.queue.len() > 0 {
			out, front = p.out, p.queue.front()
		}
		select {
		case v, ok := <-p.in:
			if !ok {
				p.in = nil
				continue
			}
			p.queue.push(v)
			p.receive()
		case out <- front:
			p.queue.pop()
			p.send()
		}
	}
}

// receive queues what can be received without waiting, after one that was.
func (p *variantPump) receive() {
	for range inRow - 1 {
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

// send sends what can be sent without waiting.
func (p *variantPump) send() {
	for p.queue.len() > 0 {
		select {
		case p.out <- p.queue.front():
			p.queue.pop()
		default:
			return
		}
	}
}

// variantQueue is a ring of power-of-two size with free-running indices.
type variantQueue struct {
	variant
	buf        []uint64
	head, tail uint
}

func (q *variantQueue) len() int { return int(q.tail - q.head) }

func (q *variantQueue) front() uint64 { return q.buf[q.head&uint(len(q.buf)-1)] }

func (q *variantQueue) push(v uint64) {
	if q.len() == len(q.buf) {
		q.resize(max(1, 2*len(q.buf)))
	}
	q.buf[q.tail&uint(len(q.buf)-1)] = v
	q.tail++
}

func (q *variantQueue) pop() {
	q.head++
	switch {
	case q.freeWhenEmpty:
		if q.len() == 0 && len(q.buf) > q.start {
			q.buf = make([]uint64, q.start)
		}
	case q.halveBelow > 0:
		if len(q.buf) > max(1, q.start) && q.len() < len(q.buf)/q.halveBelow {
			q.resize(len(q.buf) / 2)
		}
	}
}

func (q *variantQueue) resize(size int) {
	buf := make([]uint64, size)
	for i := q.head; i != q.tail; i++ {
		buf[i&uint(size-1)] = q.buf[i&uint(len(q.buf)-1)]
	}
	q.buf = buf
}
