package fan_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"weak"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/fan"
	"github.com/sluice-go/sluice/internal/suite"
	"github.com/sluice-go/sluice/sluicetest"
)

// noContext is the nil context that a test passes to see a panic.
var noContext context.Context

// oneByOne is a Sender that takes no batches.
type oneByOne struct{ sluice.Sender[int] }

// TestIn: each value arrives once, and values of one source arrive in order, from every
// kind and into every kind.
func TestIn(t *testing.T) {
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
					if unsent, err := fan.In(ctx, s, sources...); unsent != nil || err != nil {
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

// TestInHandsBack: In returns the values that it has received and not sent. No value is
// lost, whenever In ends.
func TestInHandsBack(t *testing.T) {
	const n, first = 300, 10 // a sends n times 9, b sends first, first+1, …
	ctx := context.Background()
	for cut := range 40 {
		for _, how := range []string{"cancel", "close", "reject", "idle"} {
			synctest.Test(t, func(t *testing.T) {
				o := &sluice.BoundedOptions[int]{}
				if how == "reject" {
					o.Overflow = sluice.Reject
				}
				a, b, into := sluice.NewElastic[int](n, nil), sluice.NewBounded[int](1, nil), sluice.NewBounded(3*cut/2+1, o)
				go func() {
					for i := range n {
						_ = b.Send(ctx, first+i)
					}
				}()
				if how != "idle" {
					full(a)
				}
				ctx, cancel := context.WithCancel(ctx)
				defer cancel()
				var unsent []int
				var failed error
				go func() { unsent, failed = fan.In(ctx, into, a, b) }()
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
				var order []int
				for v, err := into.TryRecv(); err == nil; v, err = into.TryRecv() {
					order = append(order, v)
				}
				order = append(order, unsent...)
				for v, err := b.TryRecv(); err == nil; v, err = b.TryRecv() {
					order = append(order, v)
				}
				next, nines := first, 0
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
					t.Errorf("%s: %d of %d values of the other input are accounted for", how, total, n)
				}
			})
		}
	}
}

// TestBadInput: In and Out refuse nil, and accept no channels at all.
func TestBadInput(t *testing.T) {
	ctx := context.Background()
	c := sluice.NewBounded[int](1, nil)
	mustPanic(t, "In", []string{"nil context"}, func() { _, _ = fan.In(noContext, c) })
	mustPanic(t, "In", []string{"nil sender"}, func() { _, _ = fan.In[int](ctx, nil) })
	mustPanic(t, "Out", []string{"nil context"}, func() { _ = fan.Out(noContext, c) })
	mustPanic(t, "Out", []string{"nil receiver"}, func() { _ = fan.Out[int](ctx, nil) })
	if unsent, err := fan.In[int](ctx, c); unsent != nil || err != nil {
		t.Errorf("In of nothing: %v, %v", unsent, err)
	}
	_ = c.TrySend(1)
	if err := fan.Out[int](ctx, c); err != sluice.ErrClosed || c.Len() != 1 {
		t.Errorf("Out without outputs: %v", err)
	}
}

func drained(c sluice.Receiver[int]) (vs []int) {
	for v, err := c.TryRecv(); err == nil; v, err = c.TryRecv() {
		vs = append(vs, v)
	}
	return vs
}

// TestNothingIsRetained: In and Out retain no value that they have sent.
func TestNothingIsRetained(t *testing.T) {
	type channel = sluice.Channel[*sluicetest.Parcel]
	merge := func(ctx context.Context, to, from channel) {
		_, _ = fan.In(ctx, to, sluice.Receiver[*sluicetest.Parcel](from))
	}
	broadcast := func(ctx context.Context, to, from channel) {
		_ = fan.Out(ctx, from, sluice.Sender[*sluicetest.Parcel](to))
	}
	room, none := sluice.NewBounded[*sluicetest.Parcel](1, nil), sluice.NewRendezvous[*sluicetest.Parcel](nil)
	for name, test := range map[string]struct {
		carry func(ctx context.Context, to, from channel)
		to    channel
	}{"In": {merge, room}, "Out": {broadcast, room}, "In, waiting": {merge, none}, "Out, waiting": {broadcast, none}} {
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
				runtime.Gosched() // until In or Out waits, if it must
			}
			_, _ = to.Recv(ctx)
		}
		for from.Stats().ReceiversWaiting == 0 { // the last send is still running
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

// TestInDoesNotAllocate: In allocates only at the start, for any number of inputs.
func TestInDoesNotAllocate(t *testing.T) {
	if suite.Race {
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
		go func() { _, _ = fan.In(ctx, into, rs...) }()
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
			t.Errorf("%d sources: %v allocations per value", sources, n)
		}
		cancel()
	}
}

// TestInUnsentRetains: the slice of unsent values retains no value that was sent.
func TestInUnsentRetains(t *testing.T) {
	in, out := sluice.NewBounded[*sluicetest.Parcel](64, nil), sluice.NewBounded(40, &sluice.BoundedOptions[*sluicetest.Parcel]{Overflow: sluice.Reject})
	first := new(sluicetest.Parcel)
	w := weak.Make(first)
	_ = in.TrySend(first)
	first = nil
	for range 50 {
		_ = in.TrySend(new(sluicetest.Parcel))
	}
	unsent, err := fan.In[*sluicetest.Parcel](context.Background(), out, in)
	_, _ = out.TryRecv()
	runtime.GC()
	runtime.GC()
	if w.Value() != nil {
		t.Errorf("%d unsent, %v: a value that was sent is retained", len(unsent), err)
	}
	runtime.KeepAlive(unsent)
	runtime.KeepAlive(out)
	runtime.KeepAlive(in)
}
