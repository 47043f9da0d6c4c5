package bridge_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/bridge"
)

// sequence is 0, 1, … n-1.
func sequence(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}

func TestToChan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := sluice.NewBounded[int](8, nil)
		values, rest := bridge.ToChan(t.Context(), c)
		go func() {
			defer c.Close()
			for i := range 100 {
				_ = c.Send(context.Background(), i)
			}
		}()
		var got []int
		for v := range values {
			got = append(got, v)
		}
		left, err := rest()
		if !slices.Equal(got, sequence(100)) || len(left) != 0 || err != nil {
			t.Errorf("received %v, and %v was left, with %v", got, left, err)
		}
	})
}

func TestToChanCanceledReturnsUndelivered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := sluice.NewBounded[int](8, nil)
		for i := range 3 {
			_ = c.TrySend(i)
		}
		ctx, cancel := context.WithCancel(t.Context())
		values, rest := bridge.ToChan(ctx, c)
		synctest.Wait()
		cancel()
		if got, err := rest(); !slices.Equal(got, []int{0}) || !errors.Is(err, context.Canceled) {
			t.Errorf("rest = %v, %v, want the 0 that was on its way, and context.Canceled", got, err)
		}
		select {
		case _, ok := <-values:
			t.Errorf("the stream is readable after a cancel (open: %v)", ok)
		default:
		}
		if c.Len() != 2 {
			t.Errorf("Len = %d, want 2", c.Len())
		}
	})
}

func TestFromChan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := make(chan int)
		go func() {
			defer close(in)
			for i := range 50 {
				in <- i
			}
		}()
		c := sluice.NewElastic[int](100, nil)
		if unsent, err := bridge.FromChan(t.Context(), c, in); err != nil || unsent != nil {
			t.Fatalf("FromChan = %v, %v", unsent, err)
		}
		c.Close()
		if got := slices.Collect(c.Values(t.Context()).All()); !slices.Equal(got, sequence(50)) {
			t.Errorf("received %v", got)
		}
	})
}

func TestFromChanReturnsUnsent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := make(chan int, 3)
		in <- 1
		in <- 2
		c := sluice.NewBounded[int](1, nil)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			synctest.Wait()
			cancel()
		}()
		if unsent, err := bridge.FromChan(ctx, c, in); !errors.Is(err, context.Canceled) || !slices.Equal(unsent, []int{2}) {
			t.Errorf("FromChan = %v, %v, want the 2 that did not fit", unsent, err)
		}
		if unsent, err := bridge.FromChan(ctx, c, in); !errors.Is(err, context.Canceled) || unsent != nil {
			t.Errorf("FromChan with nothing to send = %v, %v", unsent, err)
		}
		c.Close()
		in <- 3
		if unsent, err := bridge.FromChan(t.Context(), c, in); !errors.Is(err, sluice.ErrClosed) || !slices.Equal(unsent, []int{3}) {
			t.Errorf("FromChan into a closed channel = %v, %v", unsent, err)
		}
	})
}

// failing is a channel whose Recv fails once it is empty.
type failing struct {
	*sluice.Bounded[int]
	err error
}

func (f failing) Recv(ctx context.Context) (int, error) {
	if v, err := f.TryRecv(); err == nil {
		return v, nil
	}
	return 0, f.err
}

// TestToChanOfAReceiverThatFails: the reader must not wait forever.
func TestToChanOfAReceiverThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := failing{sluice.NewBounded[int](8, nil), errors.New("broken")}
		_ = r.TrySend(0)
		values, rest := bridge.ToChan(t.Context(), r)
		var got []int
		for v := range values {
			got = append(got, v)
		}
		if left, err := rest(); !slices.Equal(got, sequence(1)) || len(left) != 0 || !errors.Is(err, r.err) {
			t.Errorf("got %v, rest = %v, %v, want the error of the receiver", got, left, err)
		}
	})
}

// aborting is a channel whose Recv calls abort once it is empty.
type aborting struct {
	*sluice.Bounded[int]
	abort func()
}

func (a aborting) Recv(context.Context) (int, error) {
	v, err := a.TryRecv()
	if err != nil {
		a.abort()
	}
	return v, err
}

// TestToChanOfAReceiverThatAborts: the range over the values ends, senders get ErrClosed,
// and rest reports an error after a Goexit and repeats a panic. The program goes on.
func TestToChanOfAReceiverThatAborts(t *testing.T) {
	for name, abort := range map[string]func(){"panic": func() { panic("planted") }, "Goexit": runtime.Goexit} {
		synctest.Test(t, func(t *testing.T) {
			r := aborting{sluice.NewBounded[int](8, nil), abort}
			_, _ = r.TrySend(0), r.TrySend(1)
			values, rest := bridge.ToChan(t.Context(), r)
			var got []int
			for v := range values {
				got = append(got, v)
			}
			if !slices.Equal(got, sequence(2)) {
				t.Errorf("%s: got %v", name, got)
			}
			for range 2 {
				func() {
					defer func() {
						if p := recover(); (p == "planted") != (name == "panic") {
							t.Errorf("%s: rest panicked with %v", name, p)
						}
					}()
					if left, err := rest(); len(left) != 0 || err == nil || !strings.Contains(err.Error(), "Goexit") {
						t.Errorf("%s: rest = %v, %v", name, left, err)
					}
				}()
			}
			if err := r.TrySend(2); err != sluice.ErrClosed {
				t.Errorf("%s: TrySend after the end: %v", name, err)
			}
		})
	}
}

// brittle is a channel whose Close panics.
type brittle struct{ *sluice.Bounded[int] }

func (brittle) Close() { panic("planted") }

// TestToChanClosePanics: ToChan closes the channel when it is canceled, and rest repeats the
// panic of that. The reader must not take the cancellation for the end of the values.
func TestToChanClosePanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		values, rest := bridge.ToChan(ctx, brittle{sluice.NewBounded[int](8, nil)})
		synctest.Wait()
		cancel()
		defer func() {
			if p := recover(); p != "planted" {
				t.Errorf("rest panicked with %v", p)
			}
			select {
			case _, ok := <-values:
				t.Errorf("the stream is readable after a cancel (open: %v)", ok)
			default:
			}
		}()
		_, _ = rest()
	})
}

// TestToChanCanceledWhileItWaits: no value is on its way.
func TestToChanCanceledWhileItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		values, rest := bridge.ToChan(ctx, sluice.NewBounded[int](8, nil))
		synctest.Wait()
		cancel()
		if left, err := rest(); len(left) != 0 || !errors.Is(err, context.Canceled) {
			t.Errorf("rest = %v, %v", left, err)
		}
		select {
		case _, ok := <-values:
			t.Errorf("the stream is readable after a cancel (open: %v)", ok)
		default:
		}
	})
}

// TestFromChanReturnsRefused: the caller can send the value again.
func TestFromChanReturnsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := make(chan int, 3)
		in <- 0
		in <- 1
		in <- 2
		close(in)
		c := sluice.NewBounded(1, &sluice.BoundedOptions[int]{Overflow: sluice.Reject})
		for want := range 2 {
			unsent, err := bridge.FromChan(t.Context(), c, in)
			if !errors.Is(err, sluice.ErrFull) || !slices.Equal(unsent, []int{want + 1}) {
				t.Fatalf("FromChan = %v, %v, want %d, ErrFull", unsent, err, want+1)
			}
			if v, err := c.TryRecv(); v != want || err != nil {
				t.Fatalf("TryRecv = %d, %v, want %d", v, err, want)
			}
			_ = c.TrySend(unsent[0])
		}
		if unsent, err := bridge.FromChan(t.Context(), c, in); unsent != nil || err != nil {
			t.Errorf("FromChan of a closed channel = %v, %v", unsent, err)
		}
	})
}

// silent is a context that ends with a nil Err.
type silent struct{ context.Context }

func (silent) Err() error { return nil }

// TestFromChanOfASilentContext: a canceled FromChan must not return nil.
func TestFromChanOfASilentContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := bridge.FromChan(silent{ctx}, sluice.NewBounded[int](1, nil), make(chan int)); err == nil {
		t.Error("FromChan = nil, with its context done and in open")
	}
}

// TestRefused: bad arguments panic before anything is received.
func TestRefused(t *testing.T) {
	ctx := t.Context()
	var none context.Context
	c := sluice.NewBounded[int](1, nil)
	_ = c.TrySend(1)
	in := make(chan int, 1)
	in <- 1
	for want, call := range map[string]func(){
		"bridge: NewPipe: nil channel":                              func() { bridge.NewPipe[int](nil) },
		"bridge: NewPipe: the channel is a *sluice.Bounded[int]":    func() { bridge.NewPipe((*sluice.Bounded[int])(nil)) },
		"bridge: ToChan: nil context":                               func() { bridge.ToChan(none, c) },
		"bridge: ToChan: nil receiver":                              func() { bridge.ToChan[int](ctx, nil) },
		"bridge: ToChan: the receiver is a *sluice.Elastic[int]":    func() { bridge.ToChan(ctx, new(sluice.Elastic[int])) },
		"bridge: FromChan: nil context":                             func() { _, _ = bridge.FromChan(none, c, in) },
		"bridge: FromChan: nil sender":                              func() { _, _ = bridge.FromChan[int](ctx, nil, in) },
		"bridge: FromChan: the sender is a *sluice.Rendezvous[int]": func() { _, _ = bridge.FromChan(ctx, new(sluice.Rendezvous[int]), in) },
		"bridge: FromChan: the sender is a *sluice.Lane[int]":       func() { _, _ = bridge.FromChan(ctx, (*sluice.Lane[int])(nil), in) },
	} {
		func() {
			defer func() {
				if message, _ := recover().(string); !strings.HasPrefix(message, want) {
					t.Errorf("panic %q, want %q", message, want)
				}
			}()
			call()
		}()
	}
	if c.Len() != 1 || len(in) != 1 {
		t.Error("a value is lost")
	}
}

// TestToChanEndsEarly: if the context ends ToChan, or the receiver fails, waiting
// senders get ErrClosed, unless the channel is to be left open. The bubble ends only if
// all goroutines do.
func TestToChanEndsEarly(t *testing.T) {
	broken := errors.New("broken")
	for _, open := range []bool{false, true} {
		for _, fails := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				c := sluice.NewBounded[int](2, nil)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var r sluice.BatchReceiver[int] = c
				want := context.Canceled
				if fails {
					r, want = failing{c, broken}, broken
					_ = c.TrySend(0)
				}
				if open {
					r = sluice.LeaveOpen(r)
				}
				values, rest := bridge.ToChan(ctx, r)
				sent := make(chan error, 1)
				if !fails {
					_, _ = c.SendBatch(t.Context(), []int{0, 1, 2}) // 0 is on its way
					go func() { sent <- c.Send(context.Background(), 3) }()
					synctest.Wait()
					cancel()
				} else {
					for range values {
					}
				}
				if _, err := rest(); !errors.Is(err, want) {
					t.Errorf("rest: %v, want %v", err, want)
				}
				if fails { // the channel is closed when rest returns, not when values is
					sent <- c.TrySend(3)
				}
				if open && !fails {
					_, _ = c.TryRecv()
				}
				if err := <-sent; errors.Is(err, sluice.ErrClosed) == open {
					t.Errorf("open %v, fails %v: Send after the end: %v", open, fails, err)
				}
			})
		}
	}
}
