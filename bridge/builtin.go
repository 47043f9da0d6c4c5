package bridge

import (
	"cmp"
	"context"
	"iter"

	"github.com/sluice-go/sluice"
)

// A Receiver gives a built-in channel the methods of a receiver of package sluice, so
// that a program that keeps its channel has a receive with a context, loops, and batches:
//
//	lines := bridge.NewReceiver(ch)
//	values := lines.Values(ctx)                          // range that ends with ctx
//	batches := batch.Receive(ctx, lines, 100, &batch.Options[string]{Linger: time.Second})
//	err := workers.Run(ctx, lines, 8, work, nil)
//
// It has no state and no goroutine. Any number of goroutines may use it, and receive
// from the channel without it at the same time. Make one with [NewReceiver]; its methods
// panic if it is the zero value.
//
// A Receiver has no Close, because a receiver must not close a built-in channel. A stage
// such as workers.Run that ends early therefore leaves senders waiting, unless they watch
// the same context. A [sluice.Select] does not take a Receiver: put the built-in channel into
// a native select, and channels of package sluice beside it with their method Ready.
type Receiver[T any] struct{ c <-chan T }

var _ sluice.BatchReceiver[int] = Receiver[int]{}

// NewReceiver returns a receiver for c. It panics if c is nil.
func NewReceiver[T any](c <-chan T) Receiver[T] {
	if c == nil {
		panic("bridge: NewReceiver: nil channel")
	}
	return Receiver[T]{c}
}

// Recv receives the next value, and waits for one if necessary. It fails with
// [sluice.ErrClosed] once the channel is closed and drained, and with the context's error if
// ctx is done and there is no value to receive at once. After an error, nothing was
// received. Unlike a select with ctx.Done, it looks at ctx only if it has to wait. It does
// not allocate. A nil ctx panics.
func (r Receiver[T]) Recv(ctx context.Context) (T, error) {
	require(ctx, "Recv")
	if v, err := r.TryRecv(); err != sluice.ErrEmpty {
		return v, err
	}
	select {
	case v, ok := <-r.c:
		return received(v, ok)
	case <-ctx.Done():
		var none T
		return none, cmp.Or(ctx.Err(), context.Canceled)
	}
}

// TryRecv receives the next value if there is one. Otherwise it fails with
// [sluice.ErrEmpty], or with [sluice.ErrClosed] once the channel is closed and drained.
func (r Receiver[T]) TryRecv() (T, error) {
	select {
	case v, ok := <-r.made():
		return received(v, ok)
	default:
		var none T
		return none, sluice.ErrEmpty
	}
}

func received[T any](v T, ok bool) (T, error) {
	if !ok {
		return v, sluice.ErrClosed
	}
	return v, nil
}

// RecvBatch waits for a value, then receives as many as there are, up to len(buf). It
// returns their number; n > 0 implies err == nil, and errors are as for Recv. An empty buf
// returns 0, nil. To wait for more values, use batch.Receive.
//
// The channel is locked once per value: RecvBatch saves the work of its caller, not that of
// the channel.
func (r Receiver[T]) RecvBatch(ctx context.Context, buf []T) (n int, err error) {
	require(ctx, "RecvBatch")
	r.made()
	if len(buf) == 0 {
		return 0, nil
	}
	v, err := r.Recv(ctx)
	if err != nil {
		return 0, err
	}
	buf[0] = v
	n, _ = r.TryRecvBatch(buf[1:]) // a failure is the next receive's
	return 1 + n, nil
}

// TryRecvBatch is RecvBatch without the wait: it fails with [sluice.ErrEmpty] if there is
// no value.
func (r Receiver[T]) TryRecvBatch(buf []T) (n int, err error) {
	r.made()
	for n < len(buf) {
		v, err := r.TryRecv()
		if err != nil && n == 0 {
			return 0, err
		}
		if err != nil {
			break
		}
		buf[n] = v
		n++
	}
	return n, nil
}

// Values returns a loop over the values that ends when the channel is closed and drained,
// or when ctx is done while it waits, and that reports which. It panics if ctx is nil.
func (r Receiver[T]) Values(ctx context.Context) *sluice.Values[T] {
	require(ctx, "Values")
	r.made()
	return sluice.NewValues(ctx, r)
}

// Drain returns an iterator over the values that can be received without waiting. It ends
// when no value is left, whether the channel is closed or not.
func (r Receiver[T]) Drain() iter.Seq[T] {
	r.made()
	return func(yield func(T) bool) {
		for {
			v, err := r.TryRecv()
			if err != nil || !yield(v) {
				return
			}
		}
	}
}

func (r Receiver[T]) made() <-chan T {
	if r.c == nil {
		panic("bridge: Receiver: a zero value: make a Receiver with NewReceiver")
	}
	return r.c
}

// A Sender gives a built-in channel the methods of a sender of package sluice: a send
// with a context, batches, and an error where the built-in send panics. batch.NewSender and
// fan.In take it, for example.
//
// It has no state and no goroutine. Any number of goroutines may use it, and send to
// the channel without it at the same time. Make one with [NewSender]; its methods panic if
// it is the zero value.
type Sender[T any] struct{ c chan<- T }

var _ sluice.BatchSender[int] = Sender[int]{}

// NewSender returns a sender for c. It panics if c is nil.
func NewSender[T any](c chan<- T) Sender[T] {
	if c == nil {
		panic("bridge: NewSender: nil channel")
	}
	return Sender[T]{c}
}

// Send sends v, and waits while there is no room. It fails with [sluice.ErrClosed] if the
// channel is closed, even while it waits, and with the context's error if
// ctx is done and there is no room. After an error, v was not sent. Unlike a select with
// ctx.Done, it looks at ctx only if it has to wait. It does not allocate. A nil ctx panics.
func (s Sender[T]) Send(ctx context.Context, v T) (err error) {
	require(ctx, "Send")
	if err := s.TrySend(v); err != sluice.ErrFull {
		return err
	}
	sent, err := s.wait(ctx.Done(), v)
	if !sent && err == nil {
		err = cmp.Or(ctx.Err(), context.Canceled)
	}
	return err
}

// wait sends v, or ends when done is closed.
func (s Sender[T]) wait(done <-chan struct{}, v T) (sent bool, err error) {
	defer closedIsError(&err)
	select {
	case s.c <- v:
		return true, nil
	case <-done:
		return false, nil
	}
}

// TrySend sends v if there is room, or a receiver that waits. Otherwise it fails with
// [sluice.ErrFull], or with [sluice.ErrClosed] if the channel is closed.
func (s Sender[T]) TrySend(v T) (err error) {
	c := s.made()
	defer closedIsError(&err)
	select {
	case c <- v:
		return nil
	default:
		return sluice.ErrFull
	}
}

// SendBatch sends vs in order and returns the number of values sent, a prefix. The error
// is nil only if all were sent; errors are as for Send. Values of other senders may come in
// between.
func (s Sender[T]) SendBatch(ctx context.Context, vs []T) (n int, err error) {
	require(ctx, "SendBatch")
	s.made()
	for n, v := range vs {
		if err := s.Send(ctx, v); err != nil {
			return n, err
		}
	}
	return len(vs), nil
}

// Close closes the channel. Unlike the built-in close it is idempotent.
//
// To the race detector, a close and a send at the same time are a data race: let the
// goroutine that sends close the channel, or close it after all of them have ended. Without
// the race detector a Send that waits, or comes later, fails with [sluice.ErrClosed].
func (s Sender[T]) Close() {
	c := s.made()
	var err error
	defer closedIsError(&err)
	close(c)
}

func (s Sender[T]) made() chan<- T {
	if s.c == nil {
		panic("bridge: Sender: a zero value: make a Sender with NewSender")
	}
	return s.c
}

// closedIsError is deferred by an operation that does nothing but send to a built-in
// channel or close it. Those panic only for a closed channel, which becomes ErrClosed.
func closedIsError(err *error) {
	if recover() != nil {
		*err = sluice.ErrClosed
	}
}

// require panics in the name of a function or method if ctx is nil.
func require(ctx context.Context, function string) {
	if ctx == nil {
		panic("bridge: " + function + ": nil context")
	}
}
