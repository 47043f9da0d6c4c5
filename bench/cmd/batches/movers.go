package main

import (
	"context"
	"sync"
	"unsafe"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/batch"
)

// A load is one cell of the table: how values move, and between how many goroutines.
type load struct {
	values             int // in all
	batch              int
	senders, receivers int
}

// slots is the capacity of a channel in values.
const slots = 1024

// A mover moves the values of a load from its senders to its receivers, and returns the
// number that arrived.
type mover func(load) uint64

// An array is a value: its first element tells values apart from empty slots.
type array[E any] interface{ [1]E | [8]E | [32]E }

// marks are what the first elements of values are, none of them zero.
func marks[E any](mark func(i int) E) (all [256]E) {
	for i := range all {
		all[i] = mark(i)
	}
	return all
}

// A way is one type of values with the ways to move them that are compared.
type way struct {
	size                                 int // of a value, in bytes
	pointers                             bool
	fresh, pooled, copied, batches, lent mover
}

func newWay[T array[E], E comparable](pointers bool, mark func(i int) E) way {
	var zero T
	m := kind[T, E]{marks(mark), pointers}
	return way{
		size: int(unsafe.Sizeof(zero)), pointers: pointers,
		fresh:   func(l load) uint64 { return m.slices(l, false) },
		pooled:  func(l load) uint64 { return m.slices(l, true) },
		copied:  m.copied,
		batches: func(l load) uint64 { return m.batches(l, (*kind[T, E]).sender) },
		lent:    func(l load) uint64 { return m.batches(l, (*kind[T, E]).sliceSender) },
	}
}

// allWays returns values of 8, 64 and 256 bytes, without pointers and with them.
func allWays() []way {
	number := func(i int) uint64 { return uint64(i + 1) }
	pointer := func(i int) *uint64 { return new(uint64) }
	return []way{
		newWay[[1]uint64](false, number), newWay[[1]*uint64](true, pointer),
		newWay[[8]uint64](false, number), newWay[[8]*uint64](true, pointer),
		newWay[[32]uint64](false, number), newWay[[32]*uint64](true, pointer),
	}
}

// A kind moves values of type T. Its loops are what a user would write for that type: with
// no call per value but those of the channel.
type kind[T array[E], E comparable] struct {
	marks    [256]E
	pointers bool
}

// count returns the number of values in vs that have arrived whole.
func (k *kind[T, E]) count(vs []T) (n uint64) {
	var zero E
	for i := range vs {
		if vs[i][0] != zero {
			n++
		}
	}
	return n
}

// run starts the receivers and the senders, calls closing once all values are sent, and
// returns the sum of what the receivers return.
func (l load) run(send func(values int), closing func(), receive func() uint64) (sum uint64) {
	var sending, receiving sync.WaitGroup
	sums := make([]uint64, l.receivers)
	for i := range sums {
		receiving.Go(func() { sums[i] = receive() })
	}
	for range l.senders {
		sending.Go(func() { send(l.values / l.senders) })
	}
	sending.Wait()
	closing()
	receiving.Wait()
	for _, s := range sums {
		sum += s
	}
	return sum
}

// slices is what a program does that sends slices over a chan: each sender fills a slice,
// new or from a pool, and a receiver reads it. A receiver that pools a slice of pointers
// clears it, or what the pointers point to would live as long as the pool.
func (k *kind[T, E]) slices(l load, pooled bool) uint64 {
	c := make(chan *[]T, max(1, slots/l.batch))
	var pool sync.Pool
	next := func() *[]T {
		if pooled {
			if vs, _ := pool.Get().(*[]T); vs != nil {
				*vs = (*vs)[:0]
				return vs
			}
		}
		vs := make([]T, 0, l.batch)
		return &vs
	}
	return l.run(func(values int) {
		vs := next()
		for i := range values {
			var v T
			v[0] = k.marks[i%256]
			if *vs = append(*vs, v); len(*vs) == l.batch {
				c <- vs
				vs = next()
			}
		}
		if len(*vs) > 0 {
			c <- vs
		}
	}, func() { close(c) }, func() (sum uint64) {
		for vs := range c {
			sum += k.count(*vs)
			if pooled {
				if k.pointers {
					clear(*vs)
				}
				pool.Put(vs)
			}
		}
		return sum
	})
}

// copied moves batches with SendBatch and RecvBatch.
func (k *kind[T, E]) copied(l load) uint64 {
	ctx := context.Background()
	c := sluice.NewBounded[T](slots, nil)
	return l.run(func(values int) {
		vs := make([]T, 0, l.batch)
		for i := range values {
			var v T
			v[0] = k.marks[i%256]
			if vs = append(vs, v); len(vs) == l.batch {
				_, _ = c.SendBatch(ctx, vs) // the sum reveals a failure
				vs = vs[:0]
			}
		}
		_, _ = c.SendBatch(ctx, vs)
	}, c.Close, func() (sum uint64) {
		vs := make([]T, l.batch)
		for {
			n, err := c.RecvBatch(ctx, vs)
			if err != nil {
				return sum
			}
			sum += k.count(vs[:n])
		}
	})
}

// batches moves batches with a batch.Sender, as send uses it, and batch.Receive.
func (k *kind[T, E]) batches(l load, send func(k *kind[T, E], b *batch.Sender[T], batch, values int)) uint64 {
	ctx := context.Background()
	c := sluice.NewBounded[T](slots, nil)
	return l.run(func(values int) {
		send(k, batch.NewSender(c, l.batch, nil), l.batch, values)
	}, c.Close, func() (sum uint64) {
		for vs := range batch.Receive(ctx, c, l.batch, nil).All() {
			sum += k.count(vs)
		}
		return sum
	})
}

// sender sends values one by one.
func (k *kind[T, E]) sender(b *batch.Sender[T], _, values int) {
	ctx := context.Background()
	for i := range values {
		var v T
		v[0] = k.marks[i%256]
		_ = b.Send(ctx, v)
	}
	_ = b.Close(ctx)
}

// sliceSender fills the slices of the Sender.
func (k *kind[T, E]) sliceSender(b *batch.Sender[T], batch, values int) {
	ctx := context.Background()
	vs, _ := b.SendSlice(ctx, nil)
	for i := range values {
		var v T
		v[0] = k.marks[i%256]
		if vs = append(vs, v); len(vs) == batch {
			vs, _ = b.SendSlice(ctx, vs)
		}
	}
	_, _ = b.SendSlice(ctx, vs)
}
