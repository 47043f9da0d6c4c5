package sluice_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"weak"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/sluicetest"
)

// oneByOne is a Sender that takes no batches.
type oneByOne struct{ sluice.Sender[int] }

// TestMerge: each value arrives once, those of a source in order, from sources of
// every kind and into every kind.
func TestMerge(t *testing.T) {
	const n = 1000
	for kind := range anyKind() {
		for _, batches := range []bool{true, false} {
			t.Run(fmt.Sprint(kind, " batches ", batches), func(t *testing.T) {
				ctx := context.Background()
				into := anyKind()[kind]
				var sources []sluice.Receiver[int]
				for _, c := range anyKind() {
					base := len(sources) * n
					sources = append(sources, c)
					go func() {
						defer c.Close()
						for i := range n {
							_ = c.Send(ctx, base+i)
						}
					}()
				}
				go func() {
					s := sluice.Sender[int](into)
					if !batches {
						s = oneByOne{into}
					}
					if unsent, err := sluice.Merge(ctx, s, sources...); unsent != nil || err != nil {
						t.Errorf("%v, %v", unsent, err)
					}
					into.Close()
				}()
				next := make([]int, len(sources))
				for v, err := into.Recv(ctx); err == nil; v, err = into.Recv(ctx) {
					if source := v / n; v%n != next[source] {
						t.Fatalf("source %d: %d after %d", source, v%n, next[source]-1)
					}
					next[v/n]++
				}
				for source, got := range next {
					if got != n {
						t.Errorf("source %d: %d of %d arrived", source, got, n)
					}
				}
			})
		}
	}
}

// TestMergeHandsBack: what is in hand when it ends early is what Merge returns:
// nothing is lost, whenever that is.
func TestMergeHandsBack(t *testing.T) {
	const n = 300
	ctx := context.Background()
	for cut := range 40 {
		for _, how := range []string{"cancel", "close", "reject", "idle"} {
			synctest.Test(t, func(t *testing.T) {
				o := &sluice.Options[int]{}
				if how == "reject" {
					o.Overflow = sluice.Reject
				}
				a, b, into := sluice.NewElastic[int](n, nil), sluice.NewBounded[int](1, nil), sluice.NewBounded(3*cut/2+1, o)
				go func() {
					for i := range n {
						_ = b.Send(ctx, i)
					}
				}()
				if how != "idle" {
					full(a)
				}
				ctx, cancel := context.WithCancel(ctx)
				defer cancel()
				var unsent []int
				var failed error
				go func() { unsent, failed = sluice.Merge(ctx, into, a, b) }()
				synctest.Wait()
				want := context.Canceled
				switch how {
				case "close":
					into.Close()
					want = sluice.ErrClosed
				case "reject":
					want = sluice.ErrFull
				default:
					cancel()
				}
				if synctest.Wait(); failed != want || how != "idle" && len(unsent) == 0 {
					t.Errorf("%s: %d values, %v, want %v", how, len(unsent), failed, want)
				}
				b.Close()
				ones := 0
				var order []int
				count := func(v int) {
					if order = append(order, v); v == 9 {
						ones++
					}
				}
				for v, err := into.TryRecv(); err == nil; v, err = into.TryRecv() {
					count(v)
				}
				for _, v := range unsent {
					count(v)
				}
				for v, err := b.TryRecv(); err == nil; v, err = b.TryRecv() {
					count(v)
				}
				// Those of b are 0, 1, 2, … without a gap, but for a 9 from a.
				next, nines := 0, 0
				for _, v := range order {
					if v == next {
						next++
					} else if v == 9 {
						nines++
					} else {
						t.Fatalf("%s: %d after %d", how, v, next-1)
					}
				}
				left := a.Len()
				if total := nines + left; how != "idle" && total != n {
					t.Errorf("%s: %d of %d values of the other source are there", how, total, n)
				}
			})
		}
	}
}

// TestMergeBadInput: and Broadcast.
func TestMergeBadInput(t *testing.T) {
	ctx := context.Background()
	c := sluice.NewBounded[int](1, nil)
	mustPanic(t, "Merge", []string{"nil context"}, func() { _, _ = sluice.Merge(nil, c) })
	mustPanic(t, "Merge", []string{"nil sender"}, func() { _, _ = sluice.Merge[int](ctx, nil) })
	mustPanic(t, "Merge", []string{"embedding"}, func() { _, _ = sluice.Merge(ctx, c, embedding{c}) })
	mustPanic(t, "Broadcast", []string{"nil context"}, func() { _, _, _ = sluice.Broadcast(nil, c) })
	mustPanic(t, "Broadcast", []string{"nil receiver"}, func() { _, _, _ = sluice.Broadcast[int](ctx, nil) })
	mustPanic(t, "Broadcast", []string{"embedding"}, func() { _, _, _ = sluice.Broadcast(ctx, c, embedding{c}) })
	if unsent, err := sluice.Merge[int](ctx, c); unsent != nil || err != nil {
		t.Errorf("Merge of nothing: %v, %v", unsent, err)
	}
	_ = c.TrySend(1)
	if v, missed, err := sluice.Broadcast[int](ctx, c); v != 0 || missed != nil || err != sluice.ErrClosed || c.Len() != 1 {
		t.Errorf("Broadcast to nobody: %v, %v, %v", v, missed, err)
	}
}

// TestBroadcast: each subscriber gets each value, in order, whatever its kind; and
// one that is slow does not keep a value from the others.
func TestBroadcast(t *testing.T) {
	const n = 500
	ctx := context.Background()
	source := sluice.NewElastic[int](n, nil)
	for i := range n {
		_ = source.TrySend(i)
	}
	source.Close()
	var subscribers []sluice.Sender[int]
	var all sync.WaitGroup
	for kind, c := range anyKind() {
		subscribers = append(subscribers, c)
		all.Go(func() {
			for want := range n {
				if v, err := c.Recv(ctx); v != want || err != nil {
					t.Errorf("%s: %d, %v, want %d", kind, v, err, want)
					return
				}
			}
			if v, err := c.TryRecv(); err != sluice.ErrEmpty {
				t.Errorf("%s: %d, %v after the end", kind, v, err)
			}
		})
	}
	if v, missed, err := sluice.Broadcast(ctx, source, subscribers...); v != 0 || missed != nil || err != nil {
		t.Errorf("%v, %v, %v", v, missed, err)
	}
	all.Wait()
}

// TestBroadcastPolicies: each policy does what it does for any sender.
func TestBroadcastPolicies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		source := sluice.NewElastic[int](9, nil)
		slow := sluice.NewRendezvous[int](nil)
		freshest := sluice.NewBounded(1, &sluice.Options[int]{Overflow: sluice.DropOldest})
		first := sluice.NewBounded(1, &sluice.Options[int]{Overflow: sluice.Reject})
		small := sluice.NewElastic(9, &sluice.Options[int]{LimitBytes: 2, Size: func(v int) int { return v * v }})
		leaving := sluice.NewBounded[int](1, nil)
		var failed error = errors.New("it goes on")
		go func() { _, _, failed = sluice.Broadcast(ctx, source, slow, freshest, first, leaving, small) }()
		for i := 1; i <= 3; i++ {
			_ = source.TrySend(i)
		}
		synctest.Wait() // waits for slow with 1: the others have it
		if v, err := freshest.TryRecv(); v != 1 || err != nil {
			t.Errorf("the freshest: %d, %v", v, err)
		}
		for want := 1; want <= 3; want++ {
			if v, _ := slow.Recv(ctx); v != want {
				t.Errorf("the slow one: %d, want %d", v, want)
			}
			if synctest.Wait(); want == 2 { // the others have 3, leaving is full
				leaving.Close()
			}
		}
		source.Close()
		if synctest.Wait(); failed != nil {
			t.Errorf("in the end: %v", failed)
		}
		for name, want := range map[string]struct {
			c  *sluice.Bounded[int]
			vs []int
		}{"freshest": {freshest, []int{3}}, "first": {first, []int{1}}, "leaving": {leaving, []int{1}}} {
			if got := drained(want.c); !slices.Equal(got, want.vs) {
				t.Errorf("%s: %v, want %v", name, got, want.vs)
			}
		}
		if v, err := small.TryRecv(); v != 1 || err != nil || small.Len() != 0 {
			t.Errorf("small: %d, %v, then %d", v, err, small.Len())
		}
	})
}

func drained(c sluice.Receiver[int]) (vs []int) {
	for v, err := c.TryRecv(); err == nil; v, err = c.TryRecv() {
		vs = append(vs, v)
	}
	return vs
}

// TestBroadcastEndsEarly: whom the value in hand did not reach.
func TestBroadcastEndsEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		source := sluice.NewElastic[int](9, nil)
		a, b, c := sluice.NewBounded[int](1, nil), sluice.NewBounded[int](20, nil), sluice.NewRendezvous[int](nil)
		var v int
		var missed []sluice.Sender[int]
		var err error
		run := func() { v, missed, err = sluice.Broadcast(ctx, source, a, b, c) }
		go run()
		_ = source.TrySend(5)
		synctest.Wait()
		cancel()
		synctest.Wait()
		if v != 5 || err != context.Canceled || !slices.Equal(missed, []sluice.Sender[int]{c}) || a.Len() != 1 || b.Len() != 1 {
			t.Errorf("cancelled: %d, %v, %v", v, missed, err)
		}
		if v, missed, err = sluice.Broadcast(ctx, source, a, b, c); v != 0 || err != context.Canceled || missed != nil {
			t.Errorf("without a value: %d, %v, %v", v, missed, err)
		}
		ctx = context.Background()
		go run()
		_ = source.TrySend(6)
		b.Close()
		synctest.Wait()
		a.Close()
		synctest.Wait()
		c.Close()
		synctest.Wait()
		if v != 6 || err != sluice.ErrClosed || !slices.Equal(missed, []sluice.Sender[int]{a, b, c}) {
			t.Errorf("all are closed: %d, %v, %v", v, missed, err)
		}
	})
}

// TestCarryingRetains: neither keeps a value that it has carried.
func TestCarryingRetains(t *testing.T) {
	type channel = sluice.Chan[*sluicetest.Parcel]
	merge := func(ctx context.Context, to, from channel) {
		_, _ = sluice.Merge(ctx, to, sluice.Receiver[*sluicetest.Parcel](from))
	}
	broadcast := func(ctx context.Context, to, from channel) {
		_, _, _ = sluice.Broadcast(ctx, from, sluice.Sender[*sluicetest.Parcel](to))
	}
	room, none := sluice.NewBounded[*sluicetest.Parcel](1, nil), sluice.NewRendezvous[*sluicetest.Parcel](nil)
	for name, test := range map[string]struct {
		carry func(ctx context.Context, to, from channel)
		to    channel
	}{"Merge": {merge, room}, "Broadcast": {broadcast, room}, "Merge, waiting": {merge, none}, "Broadcast, waiting": {broadcast, none}} {
		ctx, cancel := context.WithCancel(context.Background())
		from, to := sluice.NewBounded[*sluicetest.Parcel](1, nil), test.to
		var all sync.WaitGroup
		all.Go(func() { test.carry(ctx, to, from) })
		pointers := make([]weak.Pointer[sluicetest.Parcel], 100)
		for i := range pointers {
			p := new(sluicetest.Parcel)
			pointers[i] = weak.Make(p)
			_ = from.Send(ctx, p)
			for to.Len() == 0 && to.Stats().SendersWaiting == 0 {
				runtime.Gosched() // until the carrier waits, if it must
			}
			_, _ = to.Recv(ctx)
		}
		for from.Stats().ReceiversWaiting == 0 { // the last send has yet to return
			runtime.Gosched()
		}
		runtime.GC()
		for i, p := range pointers {
			if p.Value() != nil {
				t.Errorf("%s keeps value %d", name, i)
			}
		}
		cancel()
		all.Wait()
	}
}

// Merge allocates at the start only, from however many sources.
func TestMergeDoesNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for _, sources := range []int{8, 9} {
		ctx, cancel := context.WithCancel(context.Background())
		into := sluice.NewBounded[int](64, nil)
		var rs []sluice.Receiver[int]
		var cs []*sluice.Bounded[int]
		for range sources {
			c := sluice.NewBounded[int](64, nil)
			rs, cs = append(rs, c), append(cs, c)
		}
		go func() { _, _ = sluice.Merge(ctx, into, rs...) }()
		i := 0
		step := func() {
			_ = cs[i%len(cs)].Send(ctx, 1)
			_, _ = into.Recv(ctx)
			i++
		}
		for range 100 {
			step()
		}
		if n := testing.AllocsPerRun(2000, step); n != 0 {
			t.Errorf("%d sources: %v allocations a value", sources, n)
		}
		cancel()
	}
}

// What Merge hands back keeps nothing alive that was sent.
func TestMergeUnsentRetains(t *testing.T) {
	type big struct{ _ [1 << 10]byte }
	in, out := sluice.NewBounded[*big](64, nil), sluice.NewBounded(40, &sluice.Options[*big]{Overflow: sluice.Reject})
	first := new(big)
	w := weak.Make(first)
	_ = in.TrySend(first)
	first = nil
	for range 50 {
		_ = in.TrySend(new(big))
	}
	unsent, err := sluice.Merge[*big](context.Background(), out, in)
	_, _ = out.TryRecv()
	runtime.GC()
	runtime.GC()
	if w.Value() != nil {
		t.Errorf("%d unsent, %v: a value sent and received is kept by them", len(unsent), err)
	}
	runtime.KeepAlive(unsent)
	runtime.KeepAlive(out)
	runtime.KeepAlive(in)
}
