package batch_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/batch"
)

// A sizedRecorder is a recorder that checks each SendBatch.
type sizedRecorder struct {
	*recorder
	t *testing.T
	l *load
}

func (r sizedRecorder) SendBatch(ctx context.Context, vs []int) (int, error) {
	r.l.check(r.t, [][]int{vs})
	return r.recorder.SendBatch(ctx, vs)
}

// TestSenderMaxBytesBatches: batches are as full as the limits permit.
func TestSenderMaxBytesBatches(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 13))
		l := newLoad(random, random.IntN(300), policies[seed%3])
		r := newRecorder()
		b := batch.NewSender[int](sizedRecorder{r, t, l}, l.max, withBytes(int64(l.maxBytes), lingers[random.IntN(2)], l.options()))
		var want [][]int
		for first := 0; ; {
			all, _, failed := l.batches(first)
			for v := first; v < len(l.sizes); v++ {
				err := b.Send(t.Context(), v)
				if failed && l.sizes[v] > l.maxBytes {
					var e *batch.TooLargeError
					if !errors.As(err, &e) || e.Size != int64(l.sizes[v]) || e.MaxBytes != int64(l.maxBytes) {
						t.Fatalf("seed %d: Send of %d bytes, limit %d: %v", seed, l.sizes[v], l.maxBytes, err)
					}
					first = v + 1
					break
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := b.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			if want = append(want, all...); !failed {
				break
			}
		}
		if fmt.Sprint(r.runs) != fmt.Sprint(want) {
			t.Fatalf("seed %d: limits %d and %d, %v, sizes %v: sent %v, want %v", seed, l.max, l.maxBytes, l.policy, l.sizes, r.runs, want)
		}
		if _, dropped, _ := l.batches(0); l.policy == batch.Drop && (!slices.Equal(l.dropped, dropped) || b.Dropped() != uint64(len(dropped))) {
			t.Fatalf("seed %d: dropped %v and counted %d, want %v", seed, l.dropped, b.Dropped(), dropped)
		}
	}
}

// A sizedModel is what a sized Sender should do, over a recorder with some room.
type sizedModel struct {
	*load
	sent, held []int
	room       int
	err        error // of the recorder
	closed     bool
}

func (m *sizedModel) flush() (n int, err error) {
	n = min(m.room, len(m.held))
	m.sent, m.held = append(m.sent, m.held[:n]...), m.held[n:]
	if m.room -= n; len(m.held) > 0 {
		return n, m.err
	}
	return n, nil
}

// full reports whether v belongs to the next batch.
func (m *sizedModel) full(v int) bool {
	sum := m.sizes[v]
	for _, held := range m.held {
		sum += m.sizes[held]
	}
	return len(m.held) >= m.max || sum > m.maxBytes
}

func (m *sizedModel) send(v int, mayWait bool) error {
	switch {
	case m.closed:
		return sluice.ErrClosed
	case m.sizes[v] > m.maxBytes && m.policy == batch.Fail:
		return &batch.TooLargeError{Size: int64(m.sizes[v]), MaxBytes: int64(m.maxBytes)}
	case m.sizes[v] > m.maxBytes && m.policy == batch.Drop:
		return nil
	}
	if len(m.held) > 0 && m.full(v) {
		if _, err := m.flush(); err != nil {
			if !mayWait && err == sluice.ErrFull && !m.full(v) {
				m.held = append(m.held, v)
				return nil
			}
			return err
		}
	}
	sum := 0
	m.held = append(m.held, v)
	for _, held := range m.held {
		sum += m.sizes[held]
	}
	if len(m.held) < m.max && sum < m.maxBytes {
		return nil
	}
	n, err := m.flush()
	if err == nil || !mayWait && err == sluice.ErrFull && n > 0 {
		return nil
	}
	m.held = m.held[:len(m.held)-1]
	return err
}

// TestSenderMaxBytesModel compares random operations, of which many fail, with the model.
func TestSenderMaxBytesModel(t *testing.T) {
	errs := []error{sluice.ErrFull, sluice.ErrClosed, sluice.ErrTooLarge, context.Canceled}
	const steps = 200
	for seed := range uint64(600) {
		random := rand.New(rand.NewPCG(seed, 14))
		l := newLoad(random, steps, policies[seed%3])
		r, m := newRecorder(), &sizedModel{load: l}
		b := batch.NewSender[int](sizedRecorder{r, t, l}, l.max, withBytes(int64(l.maxBytes), lingers[random.IntN(2)], l.options()))
		for v := range steps {
			r.room, r.err = math.MaxInt, errs[random.IntN(len(errs))]
			if random.IntN(3) > 0 {
				r.room = random.IntN(10)
			}
			m.room, m.err = r.room, r.err
			var got, want error
			op := random.IntN(20)
			switch {
			case op < 10:
				got, want = b.Send(t.Context(), v), m.send(v, true)
			case op < 16:
				got, want = b.TrySend(v), m.send(v, false)
			case op < 18:
				got = b.Flush(t.Context())
				_, want = m.flush()
			case op == 18:
				if rest := b.TakeUnsent(); !slices.Equal(rest, m.held) {
					t.Fatalf("seed %d, step %d: TakeUnsent is %v, want %v", seed, v, rest, m.held)
				}
				m.held = nil
			case random.IntN(10) == 0:
				got = b.Close(t.Context())
				_, want = m.flush()
				m.closed = true
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("seed %d, step %d, operation %d: %v, want %v", seed, v, op, got, want)
			}
			if b.Len() != len(m.held) || !slices.Equal(r.all(), m.sent) {
				t.Fatalf("seed %d, step %d, operation %d: Len is %d, want %d; sent %v, want %v", seed, v, op, b.Len(), len(m.held), r.all(), m.sent)
			}
		}
	}
}

// byValue is a limit in bytes where a value is its own size.
var byValue = &batch.Options[int]{Size: func(v int) int { return v }}

// stuckSized returns a Sender with a limit of 10 bytes and a linger of 1s. A flush by its
// timer waits with 3 and 4 for room in c.
func stuckSized(t *testing.T) (c sluice.Channel[int], b *batch.Sender[int]) {
	c = kindOf(1)
	_ = c.TrySend(-1)
	b = batch.NewSender(c, 100, withBytes(10, time.Second, byValue))
	mustAccept(t, b, 3, 4)
	time.Sleep(time.Second)
	synctest.Wait()
	return c, b
}

// While a flush by the timer waits, the owner can send another batch of bytes. The next Send
// waits until that flush ends.
func TestSenderMaxBytesBesideFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, b := stuckSized(t)
		mustAccept(t, b, 5, 2)
		for _, v := range []int{4, 11} {
			if err := b.TrySend(v); err != sluice.ErrFull {
				t.Errorf("TrySend of %d beside 7 bytes: %v", v, err)
			}
		}
		ended := make(chan error, 1)
		go func() { ended <- b.Send(t.Context(), 4) }()
		synctest.Wait()
		if len(ended) > 0 || b.Len() != 4 {
			t.Errorf("Send did not wait, or %d values are held", b.Len())
		}
		if got := receive(t, c, 4); !slices.Equal(got, []int{3, 4, 5, 2}) {
			t.Errorf("received %v", got)
		}
		if err := <-ended; err != nil || b.Len() != 1 {
			t.Errorf("Send: %v, %d held", err, b.Len())
		}
		if got := receive(t, c, 1); got[0] != 4 {
			t.Errorf("received %v", got)
		}
		time.Sleep(time.Minute)
	})
}

// A batch that bytes complete during a flush by the timer is sent when that flush ends, before
// its time.
func TestSenderMaxBytesCompleteBesideFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, b := stuckSized(t)
		mustAccept(t, b, 8, 2)
		start := time.Now()
		if got := receive(t, c, 4); !slices.Equal(got, []int{3, 4, 8, 2}) || time.Since(start) != 0 {
			t.Errorf("received %v after %v", got, time.Since(start))
		}
	})
}

// Two batches that a flush by the timer has left, because it failed, are not sent as one.
func TestSenderMaxBytesAfterFailedFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &load{sizes: sequence(20), asked: make([]int, 20), max: 100, maxBytes: 10}
		r := newRecorder()
		gate := make(chan struct{})
		r.act = func() { <-gate }
		b := batch.NewSender[int](sizedRecorder{r, t, l}, l.max, withBytes(10, time.Second, byValue))
		mustAccept(t, b, 3, 4)
		time.Sleep(time.Second)
		synctest.Wait()
		mustAccept(t, b, 5, 2, 1)
		r.room, r.err = 1, errBroken
		close(gate)
		synctest.Wait()
		if err := b.Send(t.Context(), 6); err != errBroken || b.Len() != 4 {
			t.Errorf("Send: %v, %d held", err, b.Len())
		}
		r.room = math.MaxInt
		if err := b.Send(t.Context(), 12); err != nil || b.Len() != 0 {
			t.Errorf("Send: %v, %d held", err, b.Len())
		}
		if got := fmt.Sprint(r.runs); got != "[[3] [4 5] [2 1] [12]]" {
			t.Errorf("sent %v", got)
		}
	})
}

// No value is held for longer than the linger.
func TestSenderMaxBytesLinger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := sluice.NewRendezvous[int](nil)
		b := batch.NewSender(c, 100, withBytes(10, time.Second, byValue))
		start := time.Now()
		go func() {
			mustAccept(t, b, 3, 4, 5) // 5 begins a batch
			time.Sleep(500 * time.Millisecond)
			mustAccept(t, b, 2)
		}()
		var got []string
		for range 4 {
			v, _ := c.Recv(t.Context())
			got = append(got, fmt.Sprint(v, " ", time.Since(start)))
		}
		if want := "[3 0s 4 0s 5 1s 2 1s]"; fmt.Sprint(got) != want {
			t.Errorf("%v, want %v", got, want)
		}
	})
}

// SendSlice cuts slices where the limits are, and applies the policy.
func TestSenderMaxBytesSlice(t *testing.T) {
	for policy, want := range map[batch.TooLarge]string{
		batch.Alone: "[[4] [1 2 3 4] [5 5] [11] [6 1 0] [10]] rest []",
		batch.Fail:  "[[4] [1 2 3 4] [5 5]] rest [11 6 1 0 10]",
		batch.Drop:  "[[4] [1 2 3 4] [5 5] [6 1 0] [10]] rest []",
	} {
		for _, own := range []bool{false, true} {
			r := newRecorder()
			asked := 0
			b := batch.NewSender[int](r, 20, &batch.Options[int]{MaxBytes: 10, TooLarge: policy, Size: func(v int) int { asked++; return v }})
			var vs []int
			if own {
				vs, _ = b.SendSlice(t.Context(), nil)
			}
			mustAccept(t, b, 4)
			vs = append(vs, 1, 2, 3, 4, 5, 5, 11, 6, 1, 0, 10)
			rest, err := b.SendSlice(t.Context(), vs)
			if got := fmt.Sprint(r.runs, " rest ", rest); got != want || errors.Is(err, sluice.ErrTooLarge) != (policy == batch.Fail) {
				t.Errorf("%v: %s, %v, want %s", policy, got, err, want)
			}
			if n := map[bool]int{true: 8, false: 12}[policy == batch.Fail]; asked != n || b.Dropped() != uint64(len(vs)-len(slices.Concat(r.runs...))-len(rest)+1) {
				t.Errorf("%v: asked %d times (want %d), %d dropped", policy, asked, n, b.Dropped())
			}
		}
	}
	c := sluice.NewBounded[int](20*lendSize, nil)
	b, next := batch.NewSender(c, lendSize, withBytes(1<<40, 0, byValue)), 0
	var vs []int
	for range 10 {
		vs = fill(vs, lendSize, &next)
		kept := vs
		var err error
		if vs, err = b.SendSlice(t.Context(), vs); err != nil {
			t.Fatal(err)
		}
		clear(kept) // was copied
	}
	if got := slices.Collect(c.Drain()); !slices.Equal(got, sequence(10*lendSize)) {
		t.Errorf("received %v", got)
	}
}

// Code of the user that panics refuses its value, and leaves the Sender as it is.
func TestSenderMaxBytesUserPanics(t *testing.T) {
	r := newRecorder()
	b := batch.NewSender[int](r, 10, &batch.Options[int]{
		MaxBytes: 10,
		TooLarge: batch.Drop, Size: func(v int) int { return v }, OnUndelivered: func(int, sluice.Reason) { panic("batch: OnUndelivered: planted") },
	})
	mustAccept(t, b, 1, 2)
	mustPanic(t, "NewSender", []string{"Size returned -1 (want 0 or more)"}, func() { _ = b.Send(t.Context(), -1) })
	mustPanic(t, "OnUndelivered", []string{"planted"}, func() { _ = b.TrySend(11) })
	var none context.Context
	mustPanic(t, "Sender.Send", []string{"nil context"}, func() { _ = b.Send(none, 1) })
	r.act = func() { panic("batch: channel: planted") }
	mustPanic(t, "channel", []string{"planted"}, func() { _ = b.Send(t.Context(), 9) })
	r.act = nil
	mustAccept(t, b, 7)
	if err := b.Close(t.Context()); err != nil || fmt.Sprint(r.runs) != "[[1 2 7]]" || b.Dropped() != 1 {
		t.Errorf("Close: %v, sent %v, %d dropped", err, r.runs, b.Dropped())
	}
	if err := b.Send(t.Context(), 11); err != sluice.ErrClosed || b.Dropped() != 1 {
		t.Errorf("Send after Close: %v, %d dropped", err, b.Dropped())
	}
}

// TestSenderMaxBytesAllocatesNothing: neither a Send nor a flush allocates.
func TestSenderMaxBytesAllocatesNothing(t *testing.T) {
	for _, linger := range lingers {
		c := sluice.NewBounded[int](64, &sluice.BoundedOptions[int]{Overflow: sluice.DropOldest})
		b := batch.NewSender(c, 8, withBytes(10, linger, byValue))
		allocated := testing.AllocsPerRun(200, func() {
			mustAccept(t, b, 1, 2, 3, 4, 5, 10, 11, 0, 0, 0)
			_ = b.TrySend(6)
			_ = b.Flush(t.Context())
		})
		if allocated != 0 {
			t.Errorf("linger %v: %v allocations", linger, allocated)
		}
	}
}

// buf and the sizes grow, also while a flush by the timer has values in the old ones.
func TestSenderMaxBytesGrows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, inFlight = 399_999, 100_000 // more than the slots allocated at first
		l := &load{sizes: make([]int, n+1), asked: make([]int, n+1), max: n, maxBytes: 1_000_000}
		for i := range l.sizes {
			l.sizes[i] = 3
		}
		r := newRecorder()
		gate := make(chan struct{})
		r.act = func() { <-gate }
		b := batch.NewSender[int](sizedRecorder{r, t, l}, n, withBytes(1_000_000, time.Second, l.options()))
		mustAccept(t, b, sequence(n)[:inFlight]...)
		time.Sleep(time.Second)
		synctest.Wait()
		mustAccept(t, b, sequence(n)[inFlight:]...)
		r.room, r.err = 10, errBroken
		close(gate)
		synctest.Wait()
		r.room = math.MaxInt
		if err := b.Close(t.Context()); err != nil || !slices.Equal(r.all(), sequence(n)) || len(r.runs) < 3 {
			t.Errorf("Close: %v, %d values sent in %d batches", err, len(r.all()), len(r.runs))
		}
	})
}
