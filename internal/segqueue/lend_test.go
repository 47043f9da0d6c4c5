package segqueue

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"unsafe"

	"github.com/sluice-go/sluice/internal/engine"
)

// lendSize is the capacity of slices in these tests.
const lendSize = 16

// A lendingSender gives slices of next values away.
type lendingSender struct {
	e    *Engine[int]
	next int
	vs   []int
}

// send sends n values and returns how many were sent.
func (s *lendingSender) send(ctx context.Context, n int) (sent int, lent bool, err error) {
	if s.vs == nil {
		s.vs = make([]int, 0, lendSize)
	}
	vs := s.vs[:n]
	for i := range vs {
		vs[i] = s.next + i
	}
	spare, lent := s.e.TryLend(vs)
	if sent = n; !lent {
		sent, spare, lent, err = s.e.Lend(ctx, vs)
	}
	if lent {
		s.vs = spare
	}
	s.next += sent
	return sent, lent, err
}

func lending(config engine.Config[int], first uint64) *Engine[int] {
	e := newAt(config, first)
	if !e.Lends(lendSize) {
		panic("it lends nothing")
	}
	return e
}

// TestLendAgainstSlice compares an engine with a slice after the same random steps, with
// single values, batches and lent slices on both sides, across the wrap of the indices.
func TestLendAgainstSlice(t *testing.T) {
	configs := map[string]engine.Config[int]{
		"full twice": {Limit: 2 * lendSize},
		"odd limit":  {Limit: 5*lendSize - 7},
		"reject":     {Limit: 64, Overflow: engine.Reject},
		"one to one": {Limit: 100, SingleSender: true, SingleReceiver: true},
	}
	for name, config := range configs {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			e := lending(config, beforeWrap)
			s := lendingSender{e: e}
			var loan engine.Loan[int]
			var model []int
			lent, loans := 0, 0
			got := func(vs []int, err error) {
				t.Helper()
				if len(vs) == 0 && (len(model) > 0 || !errors.Is(err, engine.ErrEmpty) && !errors.Is(err, context.Canceled)) {
					t.Fatalf("nothing received, %d queued: %v", len(model), err)
				}
				for i, v := range vs {
					if v != model[i] {
						t.Fatalf("received %d, want %d", v, model[i])
					}
				}
				model = model[len(vs):]
			}
			for range 20_000 {
				room, before := config.Limit-len(model), s.next
				switch rng.IntN(6) {
				case 0:
					if err := e.TrySend(s.next); (err == nil) != (room > 0) {
						t.Fatalf("TrySend with room for %d: %v", room, err)
					} else if err == nil {
						s.next++
					}
				case 1, 2:
					n := 1 + rng.IntN(lendSize)
					sent, byReference, err := s.send(engine.NoWait{}, n)
					if sent != min(n, room) || (sent == n) != (err == nil) {
						t.Fatalf("sent %d of %d with room for %d: %v", sent, n, room, err)
					}
					if byReference {
						lent++
					}
				case 3:
					v, err := e.TryRecv()
					if err != nil {
						got(nil, err)
					} else {
						got([]int{v}, nil)
					}
				case 4:
					buf := make([]int, 1+rng.IntN(2*lendSize))
					n, err := e.RecvBatch(engine.NoWait{}, buf)
					if err == nil && n != min(len(buf), len(model)) {
						t.Fatalf("a batch of %d, %d queued", n, len(model))
					}
					got(buf[:n], err)
				case 5:
					buf := make([]int, lendSize)
					loan.Full = rng.IntN(2) == 0
					n, err := e.RecvLent(engine.NoWait{}, buf, &loan)
					if err == nil && n != min(len(buf), len(model)) {
						t.Fatalf("a batch of %d, %d queued", n, len(model))
					}
					if loan.Values != nil {
						loans++
						got(loan.Values, err)
						if n != len(loan.Values) || loan.Full && n < len(buf) {
							t.Fatalf("%d values are lent of %d", len(loan.Values), n)
						}
						loan.Return()
					} else {
						got(buf[:n], err)
					}
				}
				for v := before; v < s.next; v++ {
					model = append(model, v)
				}
				if e.Len() != len(model) {
					t.Fatalf("Len is %d, want %d", e.Len(), len(model))
				}
			}
			if lent == 0 || loans == 0 {
				t.Errorf("%d slices were lent by the sender, %d to the receiver", lent, loans)
			}
		})
	}
}

// TestLendMixed: each value arrives once and in its sender's order, whatever senders and
// receivers of single values, of batches and of lent slices do at the same time.
func TestLendMixed(t *testing.T) {
	const each = 20_000
	e := lending(engine.Config[int]{Limit: 5*lendSize - 7}, beforeWrap)
	ctx := context.Background()
	var senders, receivers sync.WaitGroup
	for id := range 4 {
		senders.Go(func() {
			s := lendingSender{e: e, next: id << 20}
			for end := id<<20 + each; s.next < end; {
				n := min(lendSize, end-s.next)
				switch {
				case id == 0:
					n = min(n, 1+s.next%lendSize)
				case id == 1 && s.next%3 == 0:
					_ = e.Send(ctx, s.next)
					s.next++
					continue
				}
				if _, _, err := s.send(ctx, n); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	var lock sync.Mutex
	seen := map[int]bool{}
	for id := range 3 {
		receivers.Go(func() {
			var last [4]int
			count := func(vs []int) {
				lock.Lock()
				defer lock.Unlock()
				for _, v := range vs {
					if sender, i := v>>20, v&(1<<20-1); seen[v] || i < last[sender] {
						t.Errorf("value %d of sender %d arrived twice, or late", i, sender)
					} else {
						last[sender] = i
					}
					seen[v] = true
				}
			}
			loan, buf := engine.Loan[int]{}, make([]int, lendSize)
			for i := 0; ; i++ {
				if id == 1 && i%8 == 0 {
					v, err := e.Recv(ctx)
					if err != nil {
						return
					}
					count([]int{v})
					continue
				}
				n, err := e.RecvLent(ctx, buf, &loan)
				switch {
				case err != nil:
					return
				case loan.Values != nil:
					count(loan.Values)
					loan.Return()
				default:
					count(buf[:n])
				}
			}
		})
	}
	senders.Wait()
	e.Close()
	receivers.Wait()
	if len(seen) != 4*each || e.Len() != 0 {
		t.Errorf("%d values arrived of %d, %d are left", len(seen), 4*each, e.Len())
	}
}

// TestLendWaits: a sender that finds room for a part waits for more; woken without enough of
// it, it sends a part. When its wait ends early, it has sent what there is room for.
func TestLendWaits(t *testing.T) {
	full := func() (*Engine[int], *lendingSender) {
		e := lending(engine.Config[int]{Limit: 2*lendSize - 2}, 0)
		s := &lendingSender{e: e}
		if _, lent, _ := s.send(context.Background(), lendSize); !lent {
			t.Fatal("the first slice is not lent")
		}
		return e, s
	}
	type result struct {
		n    int
		lent bool
		err  error
	}
	tests := map[string]struct {
		during  func(e *Engine[int], cancel func())
		queued  int // then
		want    result
		waiting bool
	}{
		"room for a part":  {func(e *Engine[int], _ func()) { _, _ = e.RecvBatch(engine.NoWait{}, make([]int, 1)) }, 2*lendSize - 2, result{}, true},
		"the other slice":  {func(e *Engine[int], _ func()) { _, _ = e.RecvBatch(engine.NoWait{}, make([]int, lendSize)) }, lendSize, result{lendSize, true, nil}, false},
		"the end of ctx":   {func(_ *Engine[int], cancel func()) { cancel() }, 2*lendSize - 2, result{lendSize - 2, false, context.Canceled}, false},
		"a close":          {func(e *Engine[int], _ func()) { e.Close() }, lendSize, result{0, false, engine.ErrClosed}, false},
		"nothing so far":   {func(*Engine[int], func()) {}, lendSize, result{}, true},
		"a single barging": {func(e *Engine[int], _ func()) { _ = e.TrySend(7) }, lendSize + 1, result{}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e, s := full()
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				var r result
				done := false
				go func() {
					r.n, r.lent, r.err = s.send(ctx, lendSize)
					done = true
				}()
				synctest.Wait()
				test.during(e, cancel)
				synctest.Wait()
				if e.Len() != test.queued || done == test.waiting || r.n != test.want.n || r.lent != test.want.lent || !errors.Is(r.err, test.want.err) {
					t.Errorf("%d queued, returned %v: %+v", e.Len(), done, r)
				}
				e.Close()
				synctest.Wait()
			})
		})
	}
}

// TestLendsWhat: which engines lend, and that the first size counts.
func TestLendsWhat(t *testing.T) {
	for name, test := range map[string]struct {
		config engine.Config[int]
		want   bool
	}{
		"bounded":     {engine.Config[int]{Limit: 64}, true},
		"reject":      {engine.Config[int]{Limit: 64, Overflow: engine.Reject}, true},
		"too small":   {engine.Config[int]{Limit: lendSize - 1}, false},
		"elastic":     {engine.Config[int]{Limit: 64, Elastic: true}, false},
		"drop newest": {engine.Config[int]{Limit: 64, Overflow: engine.DropNewest}, false},
		"drop oldest": {engine.Config[int]{Limit: 64, Overflow: engine.DropOldest}, false},
	} {
		e := New(test.config)
		for range 2 {
			if e.Lends(lendSize) != test.want || e.Lends(lendSize+1) {
				t.Errorf("%s: want %v", name, test.want)
			}
		}
	}
	if New(engine.Config[struct{}]{Limit: 64}).Lends(lendSize) {
		t.Error("an engine of empty values lends: all their slices are the same")
	}
	if _, lends := any(metered(100, 1000)).(engine.Lender[int]); lends {
		t.Error("a Metered lends")
	}
}

// TestLendAllocs: in steady state slices go round, and Stats counts those in the channel.
func TestLendAllocs(t *testing.T) {
	e := lending(engine.Config[int]{Limit: 4 * lendSize}, 0)
	s := lendingSender{e: e}
	ctx := context.Background()
	loan, buf := engine.Loan[int]{}, make([]int, lendSize)
	made := 0
	step := func() {
		for range 3 {
			if s.vs == nil {
				made++
			}
			_, _, _ = s.send(ctx, lendSize)
		}
		for range 3 {
			if n, err := e.RecvLent(ctx, buf, &loan); n != lendSize || err != nil || loan.Values == nil {
				t.Fatalf("%d values, %v", n, err)
			}
			loan.Return()
		}
	}
	for range 8 {
		step()
	}
	if n := testing.AllocsPerRun(100, step); n != 0 || made > 6 {
		t.Errorf("%v allocations for 3 slices, %d made before", n, made)
	}
	l := e.send.seg.lent.Load()
	slices := len(l.spares)
	for i := range l.places {
		if l.places[i].slice != nil {
			slices++
		}
	}
	places := 4 * int64(unsafe.Sizeof(place[int]{})+unsafe.Sizeof([]int{}))
	if got, want := e.Stats().Bytes, int64(4+slices)*lendSize*int64(unsafe.Sizeof(0))+places; slices == 0 || got != want {
		t.Errorf("Bytes is %d with %d slices in the channel, want %d", got, slices, want)
	}
}

// TestLendForgets: neither a slice that was returned nor a slot refers to a value.
func TestLendForgets(t *testing.T) {
	e := New(engine.Config[[]byte]{Limit: 2 * lendSize})
	if !e.Lends(lendSize) {
		t.Fatal("it lends nothing")
	}
	full := func() [][]byte {
		vs := make([][]byte, lendSize)
		for i := range vs {
			vs[i] = []byte("value")
		}
		return vs
	}
	first, second := full(), full()
	for _, vs := range [][][]byte{first, second} {
		if _, lent := e.TryLend(vs); !lent {
			t.Fatal("not lent")
		}
	}
	if v, err := e.TryRecv(); v == nil || err != nil {
		t.Fatal(v, err)
	}
	if n, err := e.RecvBatch(engine.NoWait{}, make([][]byte, lendSize-1)); n != lendSize-1 || err != nil {
		t.Fatal(n, err)
	}
	loan := engine.Loan[[]byte]{Clear: true}
	if n, err := e.RecvLent(engine.NoWait{}, make([][]byte, lendSize), &loan); n != lendSize || err != nil || loan.Values == nil {
		t.Fatal(n, err)
	}
	loan.Return()
	for i, v := range append(append(e.send.buf, first...), second...) {
		if v != nil {
			t.Errorf("value %d is kept", i)
		}
	}
}

// TestLendUnpublished: nobody receives a run before tail has moved past it.
func TestLendUnpublished(t *testing.T) {
	for _, before := range []int{0, 1} {
		e := lending(engine.Config[int]{Limit: 4 * lendSize}, 0)
		for range before {
			_ = e.TrySend(-1)
		}
		g := lendCall[int]{slice: make([]int, lendSize)}
		word := e.send.lock()
		if e.lend(word, lendSize, &g, nil); !g.given {
			t.Fatal("not lent")
		}
		buf, loan := make([]int, lendSize), engine.Loan[int]{}
		if n, _ := e.RecvLent(engine.NoWait{}, buf, &loan); n != before || loan.Values != nil {
			t.Errorf("received %d, lent %v, want %d", n, loan.Values != nil, before)
		}
		if v, err := e.TryRecv(); !errors.Is(err, engine.ErrEmpty) {
			t.Errorf("received %d: %v", v, err)
		}
		e.send.unlock(word + lendSize<<shift)
		if n, err := e.RecvLent(engine.NoWait{}, buf, &loan); n != lendSize || err != nil || loan.Values == nil {
			t.Errorf("received %d, lent %v: %v", n, loan.Values != nil, err)
		}
	}
}
