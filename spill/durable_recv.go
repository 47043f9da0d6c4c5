package spill

import (
	"container/heap"
	"context"
	"slices"

	"github.com/sluice-go/sluice"
)

// Recv receives the next value, and waits while there is none. What was given back
// comes first, then what was stored, in order. The delivery is the caller's to settle,
// by Ack or Nack, whenever it likes: it is not given to anybody else meanwhile.
//
// It fails with [sluice.ErrClosed] once the channel is closed and nothing is queued,
// or shut down; with the context's error if it would have to wait under a context
// that is done; with a [RecordError] if the codec does not take the record; or with
// one that names the file that could not be read. After an error nothing was
// consumed. A nil context panics.
func (c *Durable[T]) Recv(ctx context.Context) (*Delivery[T], error) {
	if ctx == nil {
		panic("spill: Recv: nil context")
	}
	return c.recv(ctx)
}

// TryRecv receives the next value if there is one. Otherwise it fails with
// [sluice.ErrEmpty], or as Recv does.
func (c *Durable[T]) TryRecv() (*Delivery[T], error) {
	return c.recv(nil) //nolint:staticcheck // nil: never wait
}

// RecvBatch waits for a value like Recv, then takes as many as there are, up to
// len(buf), into buf, in order. n > 0 implies err == nil; an error is as for Recv.
func (c *Durable[T]) RecvBatch(ctx context.Context, buf []*Delivery[T]) (n int, err error) {
	if ctx == nil {
		panic("spill: RecvBatch: nil context")
	}
	if len(buf) == 0 {
		return 0, nil
	}
	if buf[0], err = c.recv(ctx); err != nil {
		return 0, err
	}
	for n = 1; n < len(buf); n++ {
		d, err := c.TryRecv()
		if err != nil {
			break
		}
		buf[n] = d
	}
	return n, nil
}

// recv is Recv, and with a nil ctx TryRecv.
func (c *Durable[T]) recv(ctx context.Context) (*Delivery[T], error) {
	var turn turn
	for {
		c.mu.Lock()
		record, tries, err := c.receive(ctx, &turn)
		c.mu.Unlock()
		if err != nil {
			return nil, err
		}
		if record.number != 0 {
			return c.deliver(record, tries)
		}
		if !turn.asked { // a user's code: without the lock, then look again
			turn.ask(ctx)
			continue
		}
		return nil, contextError(ctx) // the wait was ended; a user's code, again
	}
}

// receive takes the next record into the caller's hands, and waits for one. With
// neither a record nor an error the context is to be asked. The lock is held.
func (c *Durable[T]) receive(ctx context.Context, turn *turn) (record stored, tries int, err error) {
	switch {
	case c.failure != nil:
		return record, 0, c.failure
	case c.stopped:
		return record, 0, sluice.ErrClosed
	}
	if record, err = c.next(); err != nil {
		return record, 0, err
	}
	switch {
	case record.number != 0:
	case c.drained():
		return record, 0, sluice.ErrClosed
	case ctx == nil:
		return record, 0, sluice.ErrEmpty
	case turn.over != nil:
		return record, 0, turn.over
	case !turn.asked:
		return record, 0, nil
	default:
		w := &waiter{served: make(chan struct{})}
		c.receivers.push(w)
		if !c.receivers.await(&c.mu, w, turn) {
			c.receivers.remove(w)
			return record, 0, nil
		}
		if w.err != nil {
			return record, 0, w.err
		}
		record = w.record
	}
	return record, c.tries[record.number], nil
}

// next takes the next record, for a receiver: number 0 if there is none. The lock is
// held.
func (c *Durable[T]) next() (record stored, err error) {
	switch {
	case len(c.returned) > 0:
		if record, err = c.again(c.returned[0]); err != nil {
			return stored{}, err
		}
		heap.Pop(&c.returned)
	case c.window.len() > 0 || c.upto < c.tail:
		if c.window.len() == 0 {
			if err := c.look(); err != nil {
				return record, err
			}
		}
		record = c.window.pop()
		c.inWindow -= record.size()
	default:
		return record, nil
	}
	c.tries[record.number]++
	c.queued--
	c.received++
	c.unsettled++
	return record, nil
}

// lookAhead is how much is read from the file at once, in bytes.
const lookAhead = 1 << 20

// look reads the window from the file.
func (c *Durable[T]) look() error {
	records, err := c.store.read(c.upto, c.tail, min(c.config.limit, lookAhead))
	if err != nil {
		return err
	}
	if len(records) == 0 {
		return errGap
	}
	for _, r := range records {
		c.window.push(r)
		c.inWindow += r.size()
	}
	c.upto = records[len(records)-1].number + 1
	return nil
}

// again reads a record that was given back. It is not kept in memory: what receivers
// give back is theirs to choose, and may be more than the limit.
func (c *Durable[T]) again(number uint64) (record stored, err error) {
	records, err := c.store.read(number, number+1, 1)
	if err == nil && len(records) == 0 {
		err = errGap
	}
	if err != nil {
		return record, err
	}
	return records[0], nil
}

// back takes a delivered record back into the queue. The lock is held.
func (c *Durable[T]) back(number uint64) {
	heap.Push(&c.returned, number)
	c.queued++
	c.sent++ // once more: sums do not fall
	c.unsettled--
	c.settle()
}

// numbers are those of records, the lowest one first: a heap.
type numbers []uint64

func (h *numbers) Len() int           { return len(*h) }
func (h *numbers) Less(i, j int) bool { return (*h)[i] < (*h)[j] }
func (h *numbers) Swap(i, j int)      { (*h)[i], (*h)[j] = (*h)[j], (*h)[i] }
func (h *numbers) Push(n any)         { *h = append(*h, n.(uint64)) }
func (h *numbers) Pop() any {
	last := len(*h) - 1
	n := (*h)[last]
	if *h = (*h)[:last]; last == 0 {
		*h = nil
	}
	return n
}

// take removes number, and reports whether it was there.
func (h *numbers) take(number uint64) bool {
	i := slices.Index(*h, number)
	if i >= 0 {
		heap.Remove(h, i)
	}
	return i >= 0
}

// bytes is the memory that they take.
func (h *numbers) bytes() int64 { return int64(len(*h)) * 8 }
