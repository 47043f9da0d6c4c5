package batch_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/batch"
	"github.com/sluice-go/sluice/internal/spin"
	"github.com/sluice-go/sluice/internal/suite"
)

// A ledger records the fate of each value of each sender.
type ledger struct {
	mu       sync.Mutex
	seen     []map[string]int // by value: how often received, dropped, refused, unsent
	senders  int
	problems []string
}

func newLedger(senders, each int) *ledger {
	l := &ledger{seen: make([]map[string]int, senders*each), senders: senders}
	for i := range l.seen {
		l.seen[i] = map[string]int{}
	}
	return l
}

// note records the fate of values. Value i of sender s is i*senders + s.
func (l *ledger) note(what string, vs ...int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, v := range vs {
		l.seen[v][what]++
	}
}

// received records a batch. The values of one sender are in order within a receiver, not
// across receivers.
func (l *ledger) received(batch []int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := map[int]int{}
	for _, v := range batch {
		l.seen[v]["received"]++
		sender := v % l.senders
		if before, ok := last[sender]; ok && v <= before {
			l.problems = append(l.problems, fmt.Sprintf("%d came after %d", v, before))
		}
		last[sender] = v
	}
}

func (l *ledger) check(t *testing.T) {
	t.Helper()
	for v, fates := range l.seen {
		total := 0
		for _, n := range fates {
			total += n
		}
		if total != 1 {
			l.problems = append(l.problems, fmt.Sprintf("value %d: %v", v, fates))
		}
	}
	if len(l.problems) > 10 {
		l.problems = append(l.problems[:10], fmt.Sprintf("and %d more", len(l.problems)-10))
	}
	for _, problem := range l.problems {
		t.Error(problem)
	}
}

// TestBatchingAccount: several Senders feed a channel of each shape, with random calls
// and cancellations and a Close of the channel in the middle, while two loops over
// batches receive. Each value is received, dropped, refused or taken back, exactly once.
func TestBatchingAccount(t *testing.T) {
	for _, s := range []shape{
		{}, {capacity: 1}, {capacity: 128}, {elastic: true, capacity: 500}, {elastic: true, capacity: sluice.Unlimited},
		{overflow: sluice.Reject}, {capacity: 1, overflow: sluice.Reject}, {capacity: 128, overflow: sluice.Reject},
		{elastic: true, capacity: 50, overflow: sluice.Reject},
		{overflow: sluice.DropNewest}, {capacity: 1, overflow: sluice.DropNewest}, {capacity: 128, overflow: sluice.DropNewest},
		{capacity: 128, overflow: sluice.DropOldest},
	} {
		for _, closing := range []bool{false, true} {
			t.Run(fmt.Sprint(s, closing), func(t *testing.T) { account(t, s, closing, false) })
			t.Run(fmt.Sprint(s, closing, " sized"), func(t *testing.T) { account(t, s, closing, true) })
		}
	}
}

func account(t *testing.T, s shape, closing, sized bool) {
	const senders, each = 5, 400
	l := newLedger(senders, each)
	var dropped func(int, sluice.Reason)
	if s.overflow == sluice.DropNewest || s.overflow == sluice.DropOldest {
		dropped = func(v int, _ sluice.Reason) { l.note("dropped", v) }
	}
	c := open(s, dropped)
	tooLarge := func(policy batch.TooLarge) *batch.Options[int] {
		o := &batch.Options[int]{TooLarge: policy, Size: func(v int) int { return v % 17 }}
		if policy == batch.Drop {
			o.OnUndelivered = func(v int, _ sluice.Reason) { l.note("dropped", v) }
		}
		return o
	}
	var sending, receiving sync.WaitGroup
	for i := range 2 {
		receiving.Go(func() {
			lingers := []time.Duration{0, 20 * time.Microsecond}
			batches := batch.Receive(t.Context(), c, 1+7*i, withLinger(lingers[i]))
			if sized {
				batches = batch.Receive(t.Context(), c, 1+20*i, withBytes(15, lingers[i], tooLarge(batch.Alone+2*batch.TooLarge(i))))
			}
			for batch := range batches.All() {
				l.received(batch)
			}
		})
	}
	for sender := range senders {
		sending.Go(func() {
			random := rand.New(rand.NewPCG(uint64(sender), 4))
			linger := []time.Duration{0, time.Microsecond, 10 * time.Microsecond, 100 * time.Microsecond, time.Hour}[sender]
			b := batch.NewSender(c, 1+random.IntN(20), withLinger(linger))
			if sized {
				b = batch.NewSender(c, 1+random.IntN(20), withBytes(int64(10+random.IntN(10)), linger, tooLarge(policies[random.IntN(3)])))
			}
			for i := range each {
				if closing && sender == 0 && i == each/2 {
					c.Close()
				}
				ctx, cancel := context.WithCancel(t.Context())
				if random.IntN(4) == 0 {
					go cancel()
				}
				v := i*senders + sender
				var err error
				if random.IntN(3) == 0 {
					err = b.TrySend(v)
				} else {
					err = b.Send(ctx, v)
				}
				if err != nil {
					l.note("refused", v)
				}
				switch random.IntN(40) {
				case 0:
					_ = b.Flush(ctx)
				case 1:
					l.note("unsent", b.TakeUnsent()...)
				case 2:
					time.Sleep(20 * time.Microsecond)
				}
				cancel()
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			if err := b.Close(ctx); err != nil || b.Len() > 0 {
				if err == nil {
					t.Error("Close returned nil and kept values")
				}
				l.note("unsent", b.TakeUnsent()...)
			}
			if err := b.Close(t.Context()); err != nil || b.Len() != 0 {
				t.Errorf("Close with nothing left: %v, Len %d", err, b.Len())
			}
		})
	}
	sending.Wait()
	c.Close()
	receiving.Wait()
	l.check(t)
}

// TestSenderTimerComes: owners accept values at any pace while the timer may fire at any
// moment, and then stop. All values arrive without another call. The owner and its timer
// keep the promise of a single sender.
func TestSenderTimerComes(t *testing.T) {
	rounds := suite.Rounds(300, 3000)
	random := rand.New(rand.NewPCG(5, 5))
	buf := make([]int, 64)
	for round := range rounds {
		c := sluice.NewBounded(64, &sluice.BoundedOptions[int]{SingleSender: true, SingleReceiver: true})
		size := 2 + random.IntN(30)
		b := batch.NewSender(c, size, withLinger(time.Duration(1+random.IntN(3000))))
		n := random.IntN(40)
		pause := random.IntN(400)
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			for i := range n {
				mustAccept(t, b, i)
				_ = spin.Delay(pause)
			}
		}()
		for next := 0; next < n; {
			received, err := c.RecvBatch(t.Context(), buf) // hangs if a value never comes
			if err != nil {
				t.Fatalf("round %d: got %d of %d values: %v", round, next, n, err)
			}
			for _, v := range buf[:received] {
				if v != next {
					t.Fatalf("round %d: received %d, want %d", round, v, next)
				}
				next++
			}
		}
		<-sent
	}
}

// TestSenderTimerMeetsSend: values are accepted while a flush by the timer takes the
// values before them. No batch is ever complete, so a value for which neither side
// starts the timer never arrives.
func TestSenderTimerMeetsSend(t *testing.T) {
	rounds := suite.Rounds(20, 200)
	c := sluice.NewElastic[int](sluice.Unlimited, nil)
	b := batch.NewSender(c, 1<<16, withLinger(time.Microsecond))
	random := rand.New(rand.NewPCG(6, 6))
	buf := make([]int, 1024)
	for round := range rounds {
		n := 1 + random.IntN(20_000)
		for i := range n {
			if err := b.Send(t.Context(), i); err != nil {
				t.Fatal(err)
			}
		}
		for next := 0; next < n; {
			received, err := c.RecvBatch(t.Context(), buf) // hangs if a value never comes
			if err != nil {
				t.Fatalf("round %d: got %d of %d values: %v", round, next, n, err)
			}
			for _, v := range buf[:received] {
				if v != next {
					t.Fatalf("round %d: received %d, want %d", round, v, next)
				}
				next++
			}
		}
	}
}

// TestReceiveCancelStorm: one loop after the other receives from the same channel, each
// under a context that ends at some moment. No value is lost or seen twice.
func TestReceiveCancelStorm(t *testing.T) {
	for _, capacity := range []int{0, 1, 128} {
		t.Run(fmt.Sprint(capacity), func(t *testing.T) {
			const n = 20_000
			c := kindOf(capacity)
			var sending sync.WaitGroup
			sending.Go(func() {
				for i := range n {
					if err := c.Send(t.Context(), i); err != nil {
						t.Errorf("Send: %v", err)
					}
				}
				c.Close()
			})
			next := 0
			for round := 0; ; round++ {
				ctx, cancel := context.WithCancel(t.Context())
				go func() {
					_ = spin.Delay(round * 37 % 3000)
					cancel()
				}()
				for batch := range batch.Receive(ctx, sluice.LeaveOpen[int](c), 1+round%9, withLinger(time.Duration(round%4)*5*time.Microsecond)).All() {
					for _, v := range batch {
						if v != next {
							t.Fatalf("received %d, want %d", v, next)
						}
						next++
					}
				}
				cancel()
				if _, err := c.TryRecv(); errors.Is(err, sluice.ErrClosed) {
					break
				} else if err == nil {
					next++
				}
			}
			sending.Wait()
			if next != n {
				t.Errorf("received %d of %d", next, n)
			}
		})
	}
}
