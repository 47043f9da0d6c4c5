package segqueue

import (
	"context"
	"fmt"
	"unsafe"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/ring"
)

// A Metered is an Engine with a limit in bytes as well, whose senders never wait:
// without room they get ErrFull. Sizes are added up under the lock that a sender
// takes anyway; receivers do nothing that those of an Engine do not.
type Metered[T any] struct {
	*Engine[T]
	size  func(T) int
	meter *meter // the Engine's, one load nearer
}

// A meter knows how many bytes are queued without being told of a receive.
//
//   - sum is the bytes of all values ever sent, out is those of the values that are
//     known to have been received. Both run freely and wrap; sum - out is never
//     below what is queued, and never above limit.
//   - A mark says what sum was before a value of that index. There is one each grain
//     bytes. So senders who have used up the room that they know of look at the head,
//     once a run, and the last mark that it has passed is the new out: less than a
//     grain below the truth. Of an empty channel the truth is known.
//   - easy is how many bytes may come before there is a mark to set or room to look
//     for: all that most values change. So sum is not kept: ahead is what it will be
//     when easy is used up.
//   - All of it belongs to the holder of the send lock. A mark is at least a grain
//     after the one before, so there are never more than limit/grain + 1.
type meter struct {
	easy         uint64
	limit, grain uint64
	ahead, out   uint64
	marked       uint64 // sum at the last mark
	marks        ring.Ring[mark]
	head         int64    // bytes of each size that are its slot's, and counted there
	_            [32]byte // two whole lines: see TestSidesAreAligned
}

type mark struct{ index, sum uint64 }

const (
	// grains is how many marks a full channel has, about: what it may refuse too
	// early is limit/grains bytes. Below so many bytes a meter is exact.
	grains = 256
	// weighed is how many values of a batch are sent under one lock.
	weighed = 64
)

// NewMetered returns an engine for config.Limit values and config.LimitBytes bytes,
// with the policy Reject.
func NewMetered[T any](config engine.Config[T]) *Metered[T] { return newMeteredAt(config, 0) }

// newMeteredAt is NewMetered with the first index given, for tests of the wrap.
func newMeteredAt[T any](config engine.Config[T], first uint64) *Metered[T] {
	config.SingleSender = false // it takes the lock, so it may have large rings
	e := newAt(config, first)
	limit := uint64(config.LimitBytes)
	e.meter = &meter{limit: limit, grain: max(limit/grains, 1)}
	if config.SizeIsKnown {
		e.meter.head = int64(sizeOf[T]())
	}
	return &Metered[T]{Engine: e, size: config.Size, meter: e.meter}
}

// refusal is why a value of a size above the limit, or below 0, is not sent. method is
// what the user called.
func refusal(size int, method string) error {
	if size < 0 {
		panic(fmt.Sprintf("sluice: %s: Options.Size returned %d, below 0", method, size))
	}
	return engine.ErrTooLarge
}

// Send implements engine.Engine.
func (m *Metered[T]) Send(_ context.Context, v T) error {
	size := m.size(v) // once, and without a lock: it is a user's code
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

// send sends a value of a size within the limit. It is the fast path, as that of an
// Engine. All calls but those after the unlock are its last: so v stays in registers,
// and nothing is between the two steps of the lock that need not be.
func (m *Metered[T]) send(v T, size uint64) error {
	e, meter := m.Engine, m.meter
	s := &e.send
	word := s.word.Load()
	if word&flags != 0 || !s.word.CompareAndSwap(word, word|locked) {
		return m.sendOne(v, size)
	}
	easy := meter.easy
	if size > easy || word == s.bound {
		return m.sendLocked(v, size, word)
	}
	meter.easy = easy - size
	s.buf[(word>>shift)&uint64(len(s.buf)-1)] = v
	s.unlock(word + one)
	if e.receivers.Waiting() {
		e.receivers.Wake()
	}
	return nil
}

// sendLocked is send by one who has the lock, and got word with it, and has to look
// for room or to set a mark.
func (m *Metered[T]) sendLocked(v T, size, word uint64) error {
	e := m.Engine
	s := &e.send
	if !m.fits(word, size) || word == s.bound && !e.room(word, e.recv.word.Load()) {
		s.unlock(word)
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
	var sizes [weighed]uint64
	for n < len(vs) && err == nil {
		run := 0
		for _, v := range vs[n:min(n+weighed, len(vs))] {
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

// sendRun sends the first of vs, as many as there is room for, and fails if that is
// not all of them.
func (m *Metered[T]) sendRun(vs []T, sizes []uint64) (n int, err error) {
	e := m.Engine
	word := e.send.lock()
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
	e.put(word, vs[:n], new(turn))
	if n < len(vs) {
		err = engine.ErrFull
	}
	return n, err
}

// fits reports whether there is room for so many bytes before index, which is that of
// the next value. The caller holds the send lock.
func (m *Metered[T]) fits(index, size uint64) bool {
	meter := m.meter
	if size <= meter.room() {
		return true
	}
	meter.look(m.recv.word.Load()&^flags, index)
	return size <= meter.room()
}

// sum is the bytes of all values ever sent.
func (m *meter) sum() uint64 { return m.ahead - m.easy }

// room is how many bytes there is room for, as far as is known.
func (m *meter) room() uint64 { return m.limit - (m.sum() - m.out) }

// count adds the size of the value before index.
func (m *meter) count(index, size uint64) {
	if size <= m.easy {
		m.easy -= size
	} else {
		m.countMarking(index, size)
	}
}

// countMarking is count for when easy does not suffice.
func (m *meter) countMarking(index, size uint64) {
	sum := m.sum() + size
	if sum-m.marked >= m.grain {
		m.marked = sum
		m.marks.Push(mark{index, sum})
	}
	m.easy = min(m.limit-(sum-m.out), m.grain-1-(sum-m.marked))
	m.ahead = sum + m.easy
}

// look takes note of what has been received; index is where the next value goes.
func (m *meter) look(head, index uint64) {
	for m.marks.Len() > 0 && index-m.marks.First().index >= index-head {
		m.out = m.marks.Pop().sum
	}
	if head == index {
		m.out = m.sum()
	}
}

// held is how many bytes are queued outside of the slots, less than a grain too many,
// and what the marks take.
func (m *meter) held(head, tail uint64) int64 {
	m.look(head, tail)
	return int64(m.sum()-m.out) - int64((tail-head)>>shift)*m.head + m.own()
}

// own is the memory of the marks, at most 8 KiB. It stays: a channel that was full of
// bytes once may be again.
func (m *meter) own() int64 { return int64(m.marks.Size()) * int64(unsafe.Sizeof(mark{})) }
