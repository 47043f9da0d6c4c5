package spill

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/codec"
	"github.com/sluice-go/sluice/internal/suite"
)

// TestElasticPolicyOptions: invalid limits and policies are an error that names the option.
func TestElasticPolicyOptions(t *testing.T) {
	hook := func(uint64, sluice.Reason) {}
	for says, o := range map[string]*ElasticOptions[uint64]{
		"Capacity is -1":                 {Capacity: -1},
		"Overflow is DropLeastUrgent":    {Overflow: sluice.DropLeastUrgent},
		"Overflow is Overflow(77)":       {Overflow: 77},
		"MemoryLimit is -1, want at lea": {MemoryLimit: -1, Capacity: 1},
	} {
		if _, err := OpenElastic(t.TempDir(), o); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want %q", err, says)
		}
	}
	for _, o := range []*ElasticOptions[uint64]{
		{OnUndelivered: hook}, {Overflow: sluice.DropOldest}, {Capacity: sluice.Unlimited}, {Overflow: sluice.DropNewest, OnUndelivered: hook, Capacity: 1},
	} {
		c := opened(t, o)
		if want := o.Capacity; want > 0 && c.Cap() != want || want == 0 && c.Cap() != sluice.Unlimited {
			t.Errorf("Cap of a channel with Capacity %d: %d", want, c.Cap())
		}
	}
}

// A policyModel is what a channel of values of one size has to do: a slice. A channel may drop more
// values that are too old than it must, but no others.
type policyModel struct {
	queue                  []dated
	dropped                []uint64
	sent, received, tooOld int
	drops                  []given // that the hook got since the last operation
}

type dated struct {
	v  uint64
	at time.Time
}

type given struct {
	v   uint64
	why sluice.Reason
}

// old returns how many queued values are too old.
func (m *policyModel) old(s policyShape) (n int) {
	for s.maxAge > 0 && n < len(m.queue) && time.Since(m.queue[n].at) > s.maxAge {
		n++
	}
	return n
}

// expire compares what the hook got with the values that are too old, of which at least must
// have been dropped.
func (m *policyModel) expire(t *testing.T, s policyShape, must int) {
	t.Helper()
	old := m.old(s)
	for n := 0; n < old && len(m.drops) > 0 && m.drops[0] == (given{m.queue[0].v, sluice.TooOld}); n++ {
		m.queue, m.drops, must = m.queue[1:], m.drops[1:], must-1
		m.tooOld++
	}
	if must > 0 {
		t.Errorf("%d values that are too old are left, drops %v", must, m.drops)
	}
}

// send applies the policy to v, if the values that are too old do not count.
func (m *policyModel) send(s policyShape, v uint64) error {
	old := m.old(s)
	switch full := len(m.queue)-old >= s.capacity(); {
	case full && s.overflow == sluice.DropNewest:
		m.dropped = append(m.dropped, v)
		return nil
	case full && s.overflow != sluice.DropOldest:
		return sluice.ErrFull
	case full:
		m.dropped = append(m.dropped, m.queue[old].v)
		m.queue = slices.Delete(m.queue, old, old+1)
	}
	m.sent++
	m.queue = append(m.queue, dated{v, time.Now()})
	return nil
}

// TestPolicyModel compares random programs, which cross the boundary between memory and disk, with
// a slice. Time passes.
func TestPolicyModel(t *testing.T) {
	for seed := range uint64(suite.Rounds(150, 400)) {
		synctest.Test(t, func(t *testing.T) { policyProgram(t, seed) })
	}
}

func policyProgram(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 11))
	s := policyShape{
		shape:    shape{memory: 1 + rng.IntN(6), sized: rng.IntN(2) == 0, block: 12 * (1 + rng.IntN(4))},
		overflow: sluice.Overflow(rng.IntN(4)),
	}
	if rng.IntN(3) == 0 {
		s.disk = 1 + rng.IntN(8)
	} else {
		s.limit = 1 + rng.IntN(12)
	}
	if rng.IntN(2) == 0 {
		s.maxAge = time.Duration(1 + rng.IntN(30))
	}
	var m policyModel
	disk := new(faulty)
	c := openPolicy(t, disk, s, 8, 8, codec.Codec[uint64](fixed{}), func(v uint64, why sluice.Reason) { m.drops = append(m.drops, given{v, why}) })
	bias := 4
	for step := range uint64(600) {
		if rng.IntN(60) == 0 {
			bias = 1 + rng.IntN(8)
		}
		time.Sleep(time.Duration(rng.IntN(3)))
		dropped, was, sent, old := len(m.dropped), len(m.queue), m.sent, m.old(s)
		switch op := rng.IntN(10); {
		case op < bias && op%2 == 0:
			got, want := c.TrySend(step), m.send(s, step)
			if got != want {
				t.Fatalf("seed %d, %v, step %d: TrySend: %v, want %v", seed, s, step, got, want)
			}
		case op < bias:
			m.sendBatch(t, c, s, step*100, rng.IntN(7))
		default:
			m.receive(t, c, s, 1+rng.IntN(3))
		}
		// A send drops what must make room, and twice as many values as it sends.
		sent = m.sent - sent
		m.expire(t, s, min(old, max(2*sent, was+sent-s.capacity())))
		for _, v := range m.dropped[dropped:] {
			if len(m.drops) == 0 || m.drops[0] != (given{v, sluice.Overflowed}) {
				t.Fatalf("seed %d, %v, step %d: dropped %v, want %d", seed, s, step, m.drops, v)
			}
			m.drops = m.drops[1:]
		}
		st := c.Stats()
		if len(m.drops) > 0 || c.Len() != len(m.queue) || st.Len != len(m.queue) || int(st.TooOld) != m.tooOld ||
			int(st.Dropped) != len(m.dropped)+m.tooOld || int(st.Sent) != m.sent || int(st.Received) != m.received {
			t.Fatalf("seed %d, %v, step %d: %+v, want %+v", seed, s, step, st, m)
		}
		if oldest := time.Duration(0); s.maxAge > 0 {
			if len(m.queue) > 0 {
				oldest = time.Since(m.queue[0].at)
			}
			if st.OldestValue != oldest {
				t.Errorf("the oldest value is %v old, want %v", st.OldestValue, oldest)
			}
		}
		if t.Failed() {
			t.Fatalf("seed %d, %v, step %d", seed, s, step)
		}
	}
	m.receive(t, c, s, max(1, len(m.queue)))
	checkIdle(t, c, disk)
}

// sendBatch sends n values to c and to m, from first on.
func (m *policyModel) sendBatch(t *testing.T, c *Elastic[uint64], s policyShape, first uint64, n int) {
	t.Helper()
	if s.overflow == sluice.Block {
		n = min(n, s.capacity()-len(m.queue)+m.old(s)) // it would wait
	}
	batch := make([]uint64, n)
	accepted, want := 0, error(nil)
	for i := range batch {
		if batch[i] = first + uint64(i); want == nil {
			if want = m.send(s, batch[i]); want == nil {
				accepted++
			}
		}
	}
	if got, err := c.SendBatch(context.Background(), batch); got != accepted || err != want {
		t.Errorf("SendBatch of %d: %d, %v, want %d, %v", n, got, err, accepted, want)
	}
}

// receive receives up to n values from c and from m.
func (m *policyModel) receive(t *testing.T, c *Elastic[uint64], s policyShape, n int) {
	t.Helper()
	buf := make([]uint64, n)
	got, _ := c.TryRecvBatch(buf)
	m.expire(t, s, m.old(s))
	want := m.queue[:min(n, len(m.queue))]
	if got != len(want) {
		t.Errorf("received %v, want %v", buf[:got], want)
		return
	}
	for i, v := range buf[:got] {
		if v != want[i].v {
			t.Errorf("received %v, want %v", buf[:got], want)
		}
	}
	m.queue, m.received = m.queue[len(want):], m.received+len(want)
}

// TestDropsOldestBytes: values of different sizes, with a limit in bytes on disk: what is dropped is
// the oldest part of the queue, in order, and the disk stays within its limit. A panic of the hook
// keeps none of the others from it.
func TestDropsOldestBytes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var dropped [][]byte
	several, panics := 0, 0
	disk := new(faulty)
	c := on(t, disk, &ElasticOptions[[]byte]{MemoryLimit: 700, DiskLimit: 900, Overflow: sluice.DropOldest,
		OnUndelivered: func(v []byte, why sluice.Reason) {
			if dropped = append(dropped, v); why != sluice.Overflowed {
				t.Errorf("dropped because it is %v", why)
			}
			if rng.IntN(3) == 0 {
				panic("the hook")
			}
		}})
	var queue [][]byte
	for i := range 4000 {
		if rng.IntN(6) == 0 && len(queue) > 0 {
			if v, err := c.TryRecv(); err != nil || !bytes.Equal(v, queue[0]) {
				t.Fatalf("received %.9q, %v, want %.9q", v, err, queue[0])
			}
			queue = queue[1:]
			continue
		}
		v := append([]byte(fmt.Sprint(i, " ")), make([]byte, rng.IntN(400))...)
		dropped = nil
		func() {
			defer func() {
				if p := recover(); p != nil {
					panics++
				}
			}()
			if err := c.Send(context.Background(), v); err != nil {
				t.Fatal(err)
			}
		}()
		if several = max(several, len(dropped)); len(dropped) > len(queue) {
			t.Fatalf("%d dropped of %d", len(dropped), len(queue))
		}
		for j, old := range dropped {
			if !bytes.Equal(old, queue[j]) {
				t.Fatalf("dropped %.9q, want %.9q", old, queue[j])
			}
		}
		if queue = append(queue[len(dropped):], v); c.Len() != len(queue) || c.backlog.bytes > 900 {
			t.Fatalf("after value %d: %d queued, want %d; %d bytes on disk", i, c.Len(), len(queue), c.backlog.bytes)
		}
	}
	if several < 2 || panics < 100 {
		t.Errorf("at most %d dropped at once, %d panics: the test is too mild", several, panics)
	}
}

// useless cannot encode or decode.
type useless struct{ codec.Codec[uint64] }

func (useless) Name() string                          { return "useless" }
func (useless) Append([]byte, uint64) ([]byte, error) { return nil, errors.New("not encoded") }
func (useless) Decode([]byte) (v uint64, err error)   { return v, errors.New("not decoded") }

// TestLimitInMemory: below the memory limit, values of one size are never encoded, whatever
// the policy, and full channels encode nothing to reject or drop.
func TestLimitInMemory(t *testing.T) {
	for _, overflow := range []sluice.Overflow{sluice.Reject, sluice.DropNewest, sluice.DropOldest} {
		c := on(t, new(faulty), &ElasticOptions[uint64]{Capacity: 3, Overflow: overflow, Codec: useless{}})
		for v := range uint64(10) {
			if err := c.TrySend(v); err != nil && (overflow != sluice.Reject || err != sluice.ErrFull) {
				t.Errorf("%v: %v", overflow, err)
			}
		}
		if n, err := c.SendBatch(t.Context(), []uint64{10, 11}); err != nil && (n != 0 || err != sluice.ErrFull) || c.Len() != 3 {
			t.Errorf("%v: %d, %v; %d queued", overflow, n, err, c.Len())
		}
	}
}

// TestLimitWaits: with Block, senders wait exactly while the channel is full, in memory or on disk,
// and are served in order. One that is canceled leaves nothing behind.
func TestLimitWaits(t *testing.T) {
	for _, memory := range []int64{8, 16, 1000} {
		synctest.Test(t, func(t *testing.T) {
			c := on(t, new(faulty), &ElasticOptions[uint64]{MemoryLimit: memory, Capacity: 3, Codec: fixed{}})
			ctx, cancel := context.WithCancel(t.Context())
			results := make([]error, 9)
			for v := range results {
				results[v] = errors.New("waits")
				of := t.Context()
				if v == 4 {
					of = ctx
				}
				go func() { results[v] = c.Send(of, uint64(v)) }()
				synctest.Wait()
			}
			waiting := func(want int) {
				t.Helper()
				synctest.Wait()
				if s := c.Stats(); s.SendersWaiting != want || s.Len != min(3, s.Len+want) || c.Len() != s.Len || s.Cap != 3 {
					t.Fatalf("%d bytes in memory: %d senders wait, %d queued, want %d", memory, s.SendersWaiting, s.Len, want)
				}
			}
			waiting(6)
			cancel()
			waiting(5)
			if err := c.TrySend(99); err != sluice.ErrFull {
				t.Errorf("TrySend: %v", err)
			}
			for i, want := range []uint64{0, 1, 2, 3, 5} {
				if v, err := c.Recv(t.Context()); v != want || err != nil {
					t.Errorf("received %d, %v, want %d", v, err, want)
				}
				waiting(max(0, 4-i))
			}
			c.Close()
			waiting(0)
			if results[4] != context.Canceled || results[8] != nil {
				t.Errorf("the canceled one: %v; the last one: %v", results[4], results[8])
			}
		})
	}
}

// TestLimitClosed: Close ends the senders that wait at a Limit, and leaves what is queued.
func TestLimitClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := on(t, new(faulty), &ElasticOptions[uint64]{MemoryLimit: 8, Capacity: 2, Codec: fixed{}})
		results := make(chan error, 5)
		for v := range uint64(5) {
			go func() { results <- c.Send(t.Context(), v) }()
			synctest.Wait()
		}
		c.Close()
		synctest.Wait()
		for i := range 5 {
			if err := <-results; (err == nil) != (i < 2) || i >= 2 && err != sluice.ErrClosed {
				t.Errorf("sender %d: %v", i, err)
			}
		}
		if buf := make([]uint64, 3); second(c.RecvBatch(t.Context(), buf)) != nil || buf[1] != 1 || c.Len() != 0 {
			t.Errorf("received %v, %d left", buf, c.Len())
		}
	})
}

// TestDropOldestFails: a send that drops old values, and then finds that a block cannot be read or
// written, returns that error. The hook gets the values that it dropped.
func TestDropOldestFails(t *testing.T) {
	broken := errors.New("broken")
	t.Run("read", func(t *testing.T) {
		dropped, reads := 0, 0
		disk := &faulty{onRead: func(b []byte) (int, error) {
			if reads++; reads > 3 {
				return 0, broken
			}
			return len(b), nil
		}}
		c := on(t, disk, &ElasticOptions[[]byte]{MemoryLimit: 500, Capacity: 10, Overflow: sluice.DropOldest, OnUndelivered: func([]byte, sluice.Reason) { dropped++ }})
		sent, err := 0, error(nil)
		for ; err == nil && sent < 100; sent++ {
			err = c.TrySend(numbered(sent))
		}
		s := c.Stats()
		if !errors.Is(err, broken) || dropped == 0 || int(s.Dropped) != dropped+c.lost || int(s.Sent) != sent-1 || s.Len != int(s.Sent-s.Dropped) {
			t.Errorf("%d sent, %v, %d dropped: %+v", sent, err, dropped, s)
		}
		for range s.Len {
			if _, err := c.TryRecv(); err != nil {
				t.Error(err)
			}
		}
		if _, err := c.TryRecv(); !errors.Is(err, broken) || disk.opened() != 0 {
			t.Errorf("at last: %v, %d files open", err, disk.opened())
		}
	})
	t.Run("write", func(t *testing.T) {
		dropped := 0
		disk := &faulty{onWrite: full}
		c := on(t, disk, &ElasticOptions[[]byte]{MemoryLimit: 500, Capacity: 10, Overflow: sluice.DropOldest, OnUndelivered: func([]byte, sluice.Reason) { dropped++ }})
		failures := 0
		for i := range 30 {
			if err := c.TrySend(numbered(i)); err != nil {
				failures++
			}
		}
		s := c.Stats()
		if failures == 0 || int(s.Dropped) != dropped || int(s.Sent) != 30-failures || s.Len != int(s.Sent-s.Dropped) {
			t.Errorf("%d failures, %d dropped: %+v", failures, dropped, s)
		}
		disk.onWrite = nil
		for i := range 30 {
			if err := c.TrySend(numbered(i)); err != nil {
				t.Fatal(err)
			}
		}
		drained(t, c, 20, 30)
	})
}

// TestDiscardElastic: Discard closes the channel, and gives what is queued, in memory and on disk, to
// OnUndelivered.
func TestDiscardElastic(t *testing.T) {
	var got []uint64
	disk := new(faulty)
	c := on(t, disk, &ElasticOptions[uint64]{MemoryLimit: 16, Codec: fixed{}, OnUndelivered: func(v uint64, why sluice.Reason) {
		if got = append(got, v); why != sluice.Discarded {
			t.Error(why)
		}
	}})
	for v := range uint64(9) {
		_ = c.TrySend(v)
	}
	if n, again := c.Discard(), c.Discard(); n != 9 || again != 0 || !slices.Equal(got, []uint64{0, 1, 2, 3, 4, 5, 6, 7, 8}) {
		t.Errorf("Discard returned %d, then %d, the hook got %v", n, again, got)
	}
	if err := c.TrySend(9); err != sluice.ErrClosed || c.Stats().Received != 9 {
		t.Error(err, c.Stats())
	}
	checkIdle(t, c, disk)
}

// TestStaysFull: no goroutine sees a full channel that drops its oldest value with a value too few,
// although the send removes one value before it adds the other.
func TestStaysFull(t *testing.T) {
	var c *Elastic[uint64]
	between := 0
	size := func(uint64) int {
		if c != nil && c.evicted > between && c.head.Len() == 0 { // the send has removed the only value
			if between = c.evicted; c.state.Load()&spilling == 0 {
				t.Error("between removing a value and adding one, goroutines do not wait for the lock")
			}
		}
		return 1
	}
	c = on(t, new(faulty), &ElasticOptions[uint64]{Capacity: 1, Overflow: sluice.DropOldest, Codec: fixed{}, Size: size})
	for v := range uint64(100) {
		_ = c.TrySend(v)
	}
	if between != 99 || c.Len() != 1 || c.state.Load()&spilling != 0 {
		t.Errorf("%d drops seen, %d queued", between, c.Len())
	}

	c = on(t, new(faulty), &ElasticOptions[uint64]{Capacity: 1, Overflow: sluice.DropOldest, Codec: fixed{}})
	_ = c.TrySend(0)
	var done atomic.Bool
	var sender sync.WaitGroup
	sender.Go(func() {
		defer done.Store(true)
		for v := range uint64(200_000) {
			_ = c.TrySend(v)
		}
	})
	for !done.Load() {
		if n := c.Len(); n != 1 {
			t.Errorf("Len is %d", n)
			break
		}
	}
	sender.Wait()
}

// outrun is a head that a receiver comes to before each eviction.
type outrun struct {
	memory[uint64]
	receive func()
}

func (o outrun) Evict(least int) (uint64, bool) {
	o.receive()
	return o.memory.Evict(least)
}

// TestDropOvertaken: if a receiver makes room after a sender has found the channel full, and before it
// removes the oldest value, nothing is dropped; in memory, and with values on disk.
func TestDropOvertaken(t *testing.T) {
	for _, o := range []*ElasticOptions[uint64]{
		{},
		{Size: func(uint64) int { return 8 }},
		{MemoryLimit: 16},
		{MemoryLimit: 16, Size: func(uint64) int { return 8 }},
	} {
		o.Capacity, o.Overflow, o.Codec = 4, sluice.DropOldest, fixed{}
		o.OnUndelivered = func(v uint64, _ sluice.Reason) { t.Errorf("%d was dropped, and there was room", v) }
		c := on(t, new(faulty), o)
		var received []uint64
		head := c.head
		c.head = outrun{head, func() {
			v, err := head.TryRecv() // a receive takes effect here, and waits for the lock after it
			if received = append(received, v); err != nil {
				t.Error(err)
			}
		}}
		for v := range uint64(20) {
			if err := c.TrySend(v); err != nil {
				t.Fatal(err)
			}
		}
		if len(received) != 16 || received[15] != 15 || c.Len() != 4 || c.Stats().Dropped != 0 {
			t.Errorf("%d bytes in memory: received %v, %d queued", o.MemoryLimit, received, c.Len())
		}
	}
}
