package contender

import (
	"container/heap"
	"context"
	"sync"

	"github.com/sluice-go/sluice"
)

// levels is the number of levels of the contenders with priorities. Each value has the level
// value mod levels, so every level has a quarter of them.
const levels = 4

// ranked is a Priority.
type ranked struct {
	ours
	levels [levels]*sluice.Level[uint64]
}

func (k ranked) Send(lo, hi uint64) bool {
	return SendEach(lo, hi, func(v uint64) bool { return k.levels[v%levels].Send(k.ctx, v) == nil })
}

// Priority is sluice.Priority with four levels. Every operation uses ctx.
func Priority(ctx context.Context) Contender {
	c := own("sluice.Priority", Buffered, ctx, nil, func(capacity int, _ Options) Channel {
		p := sluice.NewPriority[uint64](levels, capacity, nil)
		k := ranked{ours: ours{ctx: ctx, c: p}}
		for i := range k.levels {
			k.levels[i] = p.Level(i)
		}
		return k
	})
	c.AnyOrder = true
	return c
}

// A heapQueue is a priority queue as one writes it with the standard library: container/heap
// under a mutex, with a condition for each side.
type heapQueue struct {
	mu                sync.Mutex
	notEmpty, notFull sync.Cond
	items             heapItems
	limit             int
	sent              uint64
	closed            bool
}

type heapItem struct{ level, number, value uint64 }

type heapItems []heapItem

func (h heapItems) Len() int { return len(h) }
func (h heapItems) Less(i, k int) bool {
	return h[i].level < h[k].level || h[i].level == h[k].level && h[i].number < h[k].number
}
func (h heapItems) Swap(i, k int) { h[i], h[k] = h[k], h[i] }
func (h *heapItems) Push(x any)   { *h = append(*h, x.(heapItem)) }
func (h *heapItems) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}

func (q *heapQueue) send(v uint64) bool {
	q.mu.Lock()
	for len(q.items) >= q.limit && !q.closed {
		q.notFull.Wait()
	}
	if q.closed {
		q.mu.Unlock()
		return false
	}
	q.sent++
	heap.Push(&q.items, heapItem{v % levels, q.sent, v})
	q.mu.Unlock()
	q.notEmpty.Signal()
	return true
}

func (q *heapQueue) recv() (uint64, bool) {
	q.mu.Lock()
	for len(q.items) == 0 {
		if q.closed {
			q.mu.Unlock()
			return 0, false
		}
		q.notEmpty.Wait()
	}
	item := heap.Pop(&q.items).(heapItem)
	q.mu.Unlock()
	q.notFull.Signal()
	return item.value, true
}

func (q *heapQueue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.notEmpty.Broadcast()
	q.notFull.Broadcast()
}

// Heap is container/heap under a mutex.
func Heap() Contender {
	return Contender{Name: "container/heap", Bound: Buffered, AnyOrder: true, Make: func(capacity int) Channel {
		q := &heapQueue{limit: capacity}
		q.notEmpty.L, q.notFull.L = &q.mu, &q.mu
		return queueLoops{q}
	}}
}

// queueLoops are the loops over a queue of this package.
type queueLoops struct {
	q interface {
		send(v uint64) bool
		recv() (uint64, bool)
		close()
	}
}

func (k queueLoops) Send(lo, hi uint64) bool {
	return SendEach(lo, hi, func(v uint64) bool { return k.q.send(v) })
}

func (k queueLoops) Recv(most uint64) Tally {
	return RecvEach(most, func() (uint64, bool) { return k.q.recv() })
}

func (k queueLoops) Close() { k.q.close() }
