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

type ranked struct {
	ctx    context.Context
	c      *sluice.Priority[uint64]
	levels [levels]*sluice.Level[uint64]
}

func (k ranked) SendRange(lo, hi uint64) {
	for v := lo; v < hi; v++ {
		if k.levels[v%levels].Send(k.ctx, v) != nil {
			return
		}
	}
}

func (k ranked) Drain() Tally {
	var t Tally
	for {
		v, err := k.c.Recv(k.ctx)
		if err != nil {
			return t
		}
		t.Add(v)
	}
}

func (k ranked) SendRangeBatch(lo, hi uint64, size int) {
	batch := make([]uint64, size)
	for i := 0; lo < hi; i++ {
		batch = batch[:min(uint64(size), hi-lo)]
		fill(batch, lo)
		lo += uint64(len(batch))
		if _, err := k.levels[i%levels].SendBatch(k.ctx, batch); err != nil {
			return
		}
	}
}

func (k ranked) DrainBatch(size int) Tally {
	var t Tally
	buf := make([]uint64, size)
	for {
		n, err := k.c.RecvBatch(k.ctx, buf)
		if err != nil {
			return t
		}
		t.AddAll(buf[:n])
	}
}

func (k ranked) Send(v uint64) bool { return k.levels[v%levels].Send(k.ctx, v) == nil }

func (k ranked) Recv() (uint64, bool) {
	v, err := k.c.Recv(k.ctx)
	return v, err == nil
}

func (k ranked) Close() { k.c.Close() }

// Priority is sluice.Priority with four levels. Every operation uses ctx.
func Priority(ctx context.Context) Contender {
	c := own("sluice.Priority", Buffered, ctx, nil, func(capacity int) Channel {
		k := ranked{ctx: ctx, c: sluice.NewPriority[uint64](levels, capacity, nil)}
		for i := range k.levels {
			k.levels[i] = k.c.Level(i)
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

func (q *heapQueue) Send(v uint64) bool {
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

func (q *heapQueue) Recv() (uint64, bool) {
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

func (q *heapQueue) SendRange(lo, hi uint64) {
	for v := lo; v < hi; v++ {
		q.Send(v)
	}
}

func (q *heapQueue) Drain() Tally {
	var t Tally
	for {
		v, ok := q.Recv()
		if !ok {
			return t
		}
		t.Add(v)
	}
}

func (q *heapQueue) Close() {
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
		return q
	}}
}
