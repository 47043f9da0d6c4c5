package segqueue

import (
	"context"
	"fmt"
	"unsafe"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/ring"
)

// A Metered is an Engine with a limit in bytes, whose senders never wait: without
// room they get ErrFull. Sizes are summed under the lock that a sender takes
// anyway; receivers do no more than an Engine's.
type Metered[T any] struct {
	engine.Engine[T] // Queue, for all that is not a send
	Queue            *Engine[T]
	size             func(T) int
	meter            *meter // Queue's, to save a load
}

// A meter bounds the bytes that are queued without being notified of a receive.
//
//   - sum is the bytes of all values sent so far. out is a lower bound of the bytes
//     received so far. Both run freely and wrap. queued bytes <= sum-out <= limit.
//   - A mark (index, sum) is recorded every grain bytes: the values below index
//     have sum bytes in all. Senders that have used up the known room read head,
//     once per run, and the last mark with index <= head is the new out: less than
//     a grain too low. If the channel is empty, out = sum.
//   - allowance is the number of bytes that may be sent before a mark must be
//     recorded or head must be read, and most sends change only this field. So sum
//     is not stored: sum = ahead - allowance.
//   - All fields belong to the holder of the send lock. Marks are at least a grain
//     apart, so there are at most limit/grain + 1.
type meter struct {
	allowance    uint64
	limit, grain uint64
	ahead, out   uint64
	marked       uint64 // sum at the last mark
	marks        ring.Ring[mark]
	slotBytes    int64    // per value: the part of its size that is in the slot
	_            [32]byte // two cache lines in all: see TestSidesAreAligned
}

type mark struct{ index, sum uint64 }

const (
	// grains is the approximate number of marks of a full channel. A channel may be
	// full limit/grains bytes too early. With a smaller limit than grains it is
	// exact.
	grains = 256
	// sizedAtOnce is the number of values of a batch that are sent under one lock.
	sizedAtOnce = 64
)

// NewMetered returns an engine for config.Limit values and config.MaxBytes bytes,
// with the policy Reject.
func NewMetered[T any](config engine.Config[T]) *Metered[T] { return newMeteredAt(config, 0) }

// newMeteredAt is NewMetered with the given first index, for tests of wrapping
// indices.
func newMeteredAt[T any](config engine.Config[T], first uint64) *Metered[T] {
	config.SingleSender = false // it takes the lock, so segments may be large
	e := newAt(config, first)
	limit := uint64(config.MaxBytes)
	e.meter = &meter{limit: limit, grain: max(limit/grains, 1)}
	if config.SizeIsKnown {
		e.meter.slotBytes = int64(engine.SizeOf[T]())
	}
	return &Metered[T]{Engine: e, Queue: e, size: config.Size, meter: e.meter}
}

// refusal returns the error for a value with a size above the limit. It panics if
// the size is negative. method is the method that the user called.
func refusal(size int, method string) error {
	if size < 0 {
		panic(fmt.Sprintf("sluice: %s: Options.Size returned %d, below 0", method, size))
	}
	return engine.ErrTooLarge
}

// Send implements engine.Engine.
func (m *Metered[T]) Send(_ context.Context, v T) error {
	size := m.size(v) // once, and without a lock: it is user code
	if uint64(size) > m.meter.limit {
		return refusal(size, "Send")
	}
	return m.send(v, uint64(size))
}

// TrySend implements engine.Engine. Send does not wait either.
func (m *Metered[T]) TrySend(v T) error {
	size := m.size(v)
	if uint64(size) > m.meter.limit {
		return refusal(size, "TrySend")
	}
	return m.send(v, uint64(size))
}

// send sends a value of a size within the limit. It is the fast path, like
// Engine.Send. Its other calls are tail calls, except for those after the unlock:
// so v stays in registers, and the critical section is short.
func (m *Metered[T]) send(v T, size uint64) error {
	e, meter := m.Queue, m.meter
	s := &e.send
	word := s.word.Load()
	if word&flags != 0 || !s.word.CompareAndSwap(word, word|locked) {
		return m.sendOne(v, size)
	}
	allowance := meter.allowance
	if size > allowance || word == s.bound {
		return m.sendLocked(v, size, word)
	}
	meter.allowance = allowance - size
	s.buf[(word>>shift)&uint64(len(s.buf)-1)] = v
	s.unlock(word + one)
	if e.receivers.Waiting() {
		e.receivers.Wake()
	}
	return nil
}

// sendLocked is send with the lock held, if the allowance or the bound is used up.
// The caller has locked the side and got word.
func (m *Metered[T]) sendLocked(v T, size, word uint64) error {
	e := m.Queue
	s := &e.send
	if !m.fits(word, size) || word == s.bound && !e.room(word, e.recv.word.Load()) {
		s.unlock(word)
		e.rejected.Add(engine.NoWait{})
		return engine.ErrFull
	}
	m.meter.count(word+one, size)
	s.buf[(word>>shift)&uint64(len(s.buf)-1)] = v
	s.unlock(word + one)
	if e.receivers.Waiting() {
		e.receivers.Wake()
	}
	return nil
}

// sendOne is the slow path of send.
func (m *Metered[T]) sendOne(v T, size uint64) error {
	_, err := m.sendRun([]T{v}, []uint64{size})
	return err
}

// SendBatch implements engine.Engine.
func (m *Metered[T]) SendBatch(_ context.Context, vs []T) (n int, err error) {
	var sizes [sizedAtOnce]uint64
	for n < len(vs) && err == nil {
		run := 0
		for _, v := range vs[n:min(n+sizedAtOnce, len(vs))] {
			size := m.size(v)
			if sizes[run] = uint64(size); sizes[run] > m.meter.limit { // or negative
				err = refusal(size, "SendBatch")
				break
			}
			run++
		}
		if run == 0 {
			break
		}
		sent, full := m.sendRun(vs[n:n+run], sizes[:run])
		n += sent
		if full != nil {
			err = full
		}
	}
	return n, err
}

// sendRun sends a prefix of vs, as long as there is room, and returns ErrFull if
// that is not all of vs.
func (m *Metered[T]) sendRun(vs []T, sizes []uint64) (n int, err error) {
	e := m.Queue
	word := e.send.lock()
	if word&probed != 0 {
		e.send.probe(word, e.sites.Send)
		word = e.send.lock()
	}
	if word&closed != 0 {
		e.send.unlock(word)
		return 0, engine.ErrClosed
	}
	index := word &^ flags
	room := e.limit - e.between(index, e.recv.word.Load())
	for n < len(vs) && uint64(n) < room && m.fits(index, sizes[n]) {
		index += one
		e.meter.count(index, sizes[n])
		n++
	}
	e.put(word, vs[:n], nil, new(call))
	if n < len(vs) {
		e.rejected.Add(engine.NoWait{})
		err = engine.ErrFull
	}
	return n, err
}

// Recv implements engine.Engine.
func (m *Metered[T]) Recv(ctx context.Context) (T, error) { return m.Queue.Recv(ctx) }

// TryRecv implements engine.Engine.
func (m *Metered[T]) TryRecv() (T, error) { return m.Queue.TryRecv() }

// RecvBatch implements engine.Engine.
func (m *Metered[T]) RecvBatch(ctx context.Context, buf []T) (int, error) {
	return m.Queue.RecvBatch(ctx, buf)
}

// Evict is the Queue's.
func (m *Metered[T]) Evict(least int) (old T, ok bool) { return m.Queue.Evict(least) }

// fits reports whether there is room for size bytes. The next value has the given
// index. The caller holds the send lock.
func (m *Metered[T]) fits(index, size uint64) bool {
	meter := m.meter
	if size <= meter.room() {
		return true
	}
	meter.update(m.Queue.recv.word.Load()&^flags, index)
	return size <= meter.room()
}

// sum returns the bytes of all values sent so far.
func (m *meter) sum() uint64 { return m.ahead - m.allowance }

// room returns the number of free bytes, a lower bound.
func (m *meter) room() uint64 { return m.limit - (m.sum() - m.out) }

// count adds the size of the value with index-1.
func (m *meter) count(index, size uint64) {
	if size <= m.allowance {
		m.allowance -= size
	} else {
		m.countMarking(index, size)
	}
}

// countMarking is count when the allowance does not suffice.
func (m *meter) countMarking(index, size uint64) {
	sum := m.sum() + size
	if sum-m.marked >= m.grain {
		m.marked = sum
		m.marks.Push(mark{index, sum})
	}
	m.allowance = min(m.limit-(sum-m.out), m.grain-1-(sum-m.marked))
	m.ahead = sum + m.allowance
}

// update advances out to the last mark that head has passed. The next value has the
// given index.
func (m *meter) update(head, index uint64) {
	for m.marks.Len() > 0 && index-m.marks.First().index >= index-head {
		m.out = m.marks.Pop().sum
	}
	if head == index {
		m.out = m.sum()
	}
}

// held returns the bytes queued outside of the slots, less than a grain too many.
func (m *meter) held(head, tail uint64) int64 {
	m.update(head, tail)
	return int64(m.sum()-m.out) - int64((tail-head)>>shift)*m.slotBytes
}

// overhead is the memory of the marks, at most 8 KiB. It is never freed.
func (m *meter) overhead() int64 { return int64(m.marks.Size()) * int64(unsafe.Sizeof(mark{})) }
