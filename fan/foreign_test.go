package fan_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/fan"
	"github.com/sluice-go/sluice/source"
	"github.com/sluice-go/sluice/workers"
)

var errPlanted = errors.New("planted")

// A plain channel has the methods of a Receiver and a Sender, and no others. before, if
// set, is called first by Recv and Send.
type plain struct {
	c      *sluice.Bounded[int]
	before atomic.Pointer[func() error]
}

func newPlain(capacity int) *plain { return &plain{c: sluice.NewBounded[int](capacity, nil)} }

// fail calls before.
func (p *plain) fail() error {
	if f := p.before.Load(); f != nil {
		return (*f)()
	}
	return nil
}

func (p *plain) Send(ctx context.Context, v int) error {
	if err := p.fail(); err != nil {
		return err
	}
	return p.c.Send(ctx, v)
}

func (p *plain) Recv(ctx context.Context) (int, error) {
	if err := p.fail(); err != nil {
		return 0, err
	}
	return p.c.Recv(ctx)
}

func (p *plain) TrySend(v int) error { return p.c.TrySend(v) }

func (p *plain) TryRecv() (int, error) { return p.c.TryRecv() }

func (p *plain) Close() { p.c.Close() }

// TestInForeign: values arrive once and in order, from receivers without Ready, from a
// kind, and from results.
func TestInForeign(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // no goroutine may be left
		const n = 500
		ctx := t.Context()
		a, b, kind, jobs := newPlain(1), newPlain(64), sluice.NewElastic[int](n, nil), sluice.NewBounded[int](4, nil)
		for base, s := range []sluice.Sender[int]{a, b, kind, jobs} {
			go func() {
				defer s.Close()
				for i := range n {
					_ = s.Send(ctx, base*n+i)
				}
			}()
		}
		results := workers.Map(ctx, jobs, 3, func(_ context.Context, v int) (int, error) { return v, nil },
			&workers.MapOptions[int]{Ordered: true})
		into := sluice.NewBounded[int](8, nil)
		go func() {
			defer into.Close()
			if unsent, err := fan.In(ctx, into, a, b, kind, results); unsent != nil || err != nil {
				t.Errorf("%v, %v", unsent, err)
			}
		}()
		next := make([]int, 4)
		for v, err := into.Recv(ctx); err == nil; v, err = into.Recv(ctx) {
			if source := v / n; v%n != next[source] {
				t.Fatalf("source %d: %d after %d", source, v%n, next[source]-1)
			}
			next[v/n]++
		}
		if !slices.Equal(next, []int{n, n, n, n}) {
			t.Errorf("%v values arrived, not %d of each", next, n)
		}
	})
}

// TestInForeignHandsBack: whenever In ends, unsent includes the values in flight in its
// goroutines.
func TestInForeignHandsBack(t *testing.T) {
	for cut := range 60 {
		synctest.Test(t, func(t *testing.T) {
			const n = 300
			ctx, cancel := context.WithCancel(t.Context())
			a, b := newPlain(1), newPlain(16)
			var accepted, seen []int
			var mu sync.Mutex
			var senders sync.WaitGroup
			for base, p := range []*plain{a, b} {
				senders.Go(func() {
					for i := range n {
						v := base*n + i
						if p.Send(context.Background(), v) != nil {
							return // closed by the early end
						}
						mu.Lock()
						accepted = append(accepted, v)
						mu.Unlock()
					}
				})
			}
			into := sluice.NewBounded[int](1+cut, nil)
			var unsent []int
			var err error
			go func() { unsent, err = fan.In(ctx, into, a, b) }()
			if cut%2 == 0 {
				synctest.Wait()
			}
			cancel()
			senders.Wait()
			if synctest.Wait(); err != context.Canceled {
				t.Errorf("ended with %v", err)
			}
			into.Close()
			seen = append(seen, drained(into)...)
			seen = append(seen, unsent...)
			seen = append(seen, drained(a)...)
			seen = append(seen, drained(b)...)
			for _, base := range []int{0, n} {
				var order []int
				for _, v := range seen {
					if v/n*n == base {
						order = append(order, v)
					}
				}
				if !slices.IsSorted(order) {
					t.Errorf("out of order: %v", order)
				}
			}
			slices.Sort(seen)
			slices.Sort(accepted)
			if !slices.Equal(seen, accepted) {
				t.Errorf("%d values were sent, %d are there", len(accepted), len(seen))
			}
		})
	}
}

// TestInClosesInputs: every early end frees the senders of all inputs and ends all
// goroutines. An input that is wrapped by LeaveOpen stays open.
func TestInClosesInputs(t *testing.T) {
	for name, end := range map[string]func(cancel func(), into *sluice.Bounded[int], foreign *plain) error{
		"cancel": func(cancel func(), _ *sluice.Bounded[int], _ *plain) error { cancel(); return context.Canceled },
		"closed": func(_ func(), into *sluice.Bounded[int], _ *plain) error { into.Close(); return sluice.ErrClosed },
		"error":  func(_ func(), _ *sluice.Bounded[int], p *plain) error { return fails(p, func() {}) },
		"panic":  func(_ func(), _ *sluice.Bounded[int], p *plain) error { return fails(p, func() { panic(errPlanted) }) },
		"Goexit": func(_ func(), _ *sluice.Bounded[int], p *plain) error { return fails(p, runtime.Goexit) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				kind, foreign, open, into := sluice.NewBounded[int](1, nil), newPlain(1), sluice.NewBounded[int](9, nil), sluice.NewBounded[int](1, nil)
				var failed, value any
				go func() {
					defer func() { value = recover() }()
					_, failed = fan.In(ctx, into, kind, foreign, sluice.LeaveOpen(open))
				}()
				freed := make([]error, 2)
				for i, s := range []sluice.Sender[int]{kind, foreign.c} {
					go func() {
						var err error
						for err == nil {
							err = s.Send(context.Background(), 0)
						}
						freed[i] = err
					}()
				}
				synctest.Wait()
				want := end(cancel, into, foreign)
				go func() { // makes room
					for {
						if _, err := into.Recv(ctx); err != nil {
							return
						}
					}
				}()
				synctest.Wait()
				cancel()
				switch synctest.Wait(); {
				case name == "panic" && value != errPlanted, name != "panic" && value != nil:
					t.Errorf("panicked with %v", value)
				case name == "Goexit" && failed == nil, name != "panic" && name != "Goexit" && failed != want:
					t.Errorf("In: %v, want %v", failed, want)
				}
				if !slices.Equal(freed, []error{sluice.ErrClosed, sluice.ErrClosed}) {
					t.Errorf("senders: %v", freed)
				}
				if err := open.TrySend(1); err != nil {
					t.Errorf("the wrapped input: %v", err)
				}
			})
		})
	}
}

// fails has the next Recv of p call f, and then fail.
func fails(p *plain, f func()) error {
	before := func() error { f(); return errPlanted }
	p.before.Store(&before)
	return errPlanted
}

// TestInOfFailedResults: the error of a job, and its panic, end In after the results
// before it. A panic ends the jobs before it that have not run, so it comes when those have.
func TestInOfFailedResults(t *testing.T) {
	for _, way := range []string{"error", "panic"} {
		synctest.Test(t, func(t *testing.T) {
			jobs, other, into := sluice.NewBounded[int](4, nil), sluice.NewBounded[int](1, nil), sluice.NewBounded[int](99, nil)
			var sent error
			go func() {
				for i := 0; sent == nil; i++ {
					sent = jobs.Send(t.Context(), i)
				}
			}()
			results := workers.Map(t.Context(), jobs, 3, func(_ context.Context, v int) (int, error) {
				if v == 30 && way == "panic" {
					time.Sleep(time.Second)
					panic(errPlanted)
				}
				if v == 30 {
					return 0, errPlanted
				}
				return v, nil
			}, &workers.MapOptions[int]{Ordered: true})
			results.Ready()
			time.Sleep(2 * time.Second) // the results before the failure are there, for one run of In
			var value any
			var unsent []int
			var err error
			func() {
				defer func() { value = recover() }()
				unsent, err = fan.In(t.Context(), into, results, other)
			}()
			p, _ := value.(*workers.PanicError)
			if way == "panic" && !errors.Is(p, errPlanted) || way == "error" && (err != errPlanted || unsent != nil || value != nil) {
				t.Errorf("%s: %v, %v, panic %v", way, unsent, err, value)
			}
			if synctest.Wait(); into.Len() != 30 || sent != sluice.ErrClosed || other.TrySend(1) != sluice.ErrClosed {
				t.Errorf("%s: %d results arrived, Send: %v", way, into.Len(), sent)
			}
		})
	}
}

// TestInEndsAllInputs: an early end frees the senders of every input, even if an input
// before it takes long to end, or panics.
func TestInEndsAllInputs(t *testing.T) {
	for _, way := range []string{"slow", "panic"} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			first, second := sluice.NewBounded[int](4, nil), sluice.NewBounded[int](1, nil)
			_ = first.TrySend(1)
			_ = first.TrySend(2)
			gate := make(chan struct{})
			a := workers.Map(t.Context(), first, 1, func(_ context.Context, v int) (int, error) {
				if v == 2 {
					if <-gate; way == "panic" {
						panic(errPlanted)
					}
				}
				return v, nil
			}, nil)
			b := workers.Map(t.Context(), second, 1, func(_ context.Context, v int) (int, error) { return v, nil }, nil)
			var unsent []int
			ended := make(chan any, 1)
			go func() {
				defer func() { ended <- recover() }()
				unsent, _ = fan.In(ctx, sluice.NewRendezvous[int](nil), a, b)
			}()
			synctest.Wait() // In waits to send
			cancel()
			var sent error
			go func() {
				for sent == nil {
					sent = second.Send(context.Background(), 1)
				}
			}()
			if synctest.Wait(); sent != sluice.ErrClosed || len(ended) > 0 {
				t.Errorf("%s: a sender of the second input: %v; In has ended: %v", way, sent, len(ended) > 0)
			}
			close(gate)
			value := <-ended
			p, _ := value.(*workers.PanicError)
			if way == "panic" && !errors.Is(p, errPlanted) || way == "slow" && (value != nil || !slices.Equal(unsent, []int{1})) {
				t.Errorf("%s: unsent %v, panic %v", way, unsent, value)
			}
		})
	}
}

// TestInOfIterator: a value of an iterator is sent before the next one is there, and the
// end of ctx stops the iterator.
func TestInOfIterator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		gate, stopped := make(chan struct{}), false
		src := source.Seq(func(yield func(int) bool) {
			defer func() { stopped = true }()
			for i := 0; yield(i); i++ {
				<-gate
			}
		})
		into := sluice.NewBounded[int](10, nil)
		var unsent []int
		var err error
		go func() { unsent, err = fan.In(ctx, into, src) }()
		if synctest.Wait(); into.Len() != 1 {
			t.Errorf("%d values were sent, want 1", into.Len())
		}
		cancel()
		synctest.Wait() // In waits for the iterator
		close(gate)
		if synctest.Wait(); err != context.Canceled || !slices.Equal(unsent, []int{1}) || !stopped {
			t.Errorf("%v, %v; stopped: %v", unsent, err, stopped)
		}
	})
}
