package fan_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/fan"
)

// TestOutForeign: each output gets each value, in order, at its own speed, without a
// timer.
func TestOutForeign(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // no goroutine may be left
		const n = 200
		ctx := t.Context()
		source, sharded := sluice.NewBounded[int](4, nil), sluice.NewSharded[int](1, nil)
		slow, fast, kind := newPlain(1), newPlain(n), sluice.NewBounded[int](1, nil)
		lane := sharded.Lane()
		go func() {
			feed(source, n)
		}()
		var all sync.WaitGroup
		for name, r := range map[string]sluice.Receiver[int]{"slow": slow.c, "fast": fast.c, "kind": kind, "lane": sharded} {
			all.Go(func() {
				for want := range n {
					if name == "slow" {
						time.Sleep(time.Millisecond)
					}
					if v, err := r.Recv(ctx); v != want || err != nil {
						t.Errorf("%s: %d, %v, want %d", name, v, err, want)
						return
					}
				}
			})
		}
		began := time.Now()
		if err := fan.Out(ctx, source, slow, fast, kind, lane); err != nil {
			t.Error(err)
		}
		all.Wait()
		if took := time.Since(began); took != n*time.Millisecond {
			t.Errorf("took %v for %d values of a millisecond", took, n)
		}
	})
}

// feed sends 0 … n-1 and closes.
func feed(s sluice.Sender[int], n int) {
	defer s.Close()
	for i := range n {
		_ = s.Send(context.Background(), i)
	}
}

// TestOutForeignEndsEarly: which outputs the last value did not reach, and that in is
// closed.
func TestOutForeignEndsEarly(t *testing.T) {
	for _, how := range []string{"cancel", "error", "closed", "full", "panic", "Goexit"} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				source := sluice.NewBounded[int](1, nil)
				a, b, kind := newPlain(1), newPlain(1), sluice.NewBounded[int](1, nil)
				_ = a.TrySend(0) // has no room
				var sent error
				go func() {
					for i := 1; sent == nil; i++ {
						sent = source.Send(context.Background(), i)
					}
				}()
				switch how {
				case "error":
					_ = fails(a, func() {})
				case "full":
					full := func() error { return sluice.ErrFull }
					a.before.Store(&full)
				case "panic":
					_ = fails(a, func() { panic(errPlanted) })
				case "Goexit":
					_ = fails(a, runtime.Goexit)
				}
				var v int
				var missed []sluice.Sender[int]
				var err error
				var value any
				go func() {
					defer func() { value = recover() }()
					v, missed, err = ended(fan.Out(ctx, source, a, b, kind))
				}()
				synctest.Wait()
				var want []sluice.Sender[int]
				wantErr := errPlanted
				switch how {
				case "cancel":
					if b.c.Len() != 1 || kind.Len() != 1 {
						t.Error("a slow output keeps the value from others")
					}
					cancel()
					want, wantErr = []sluice.Sender[int]{a}, context.Canceled
				case "closed", "full": // the others continue: b is slow now
					if how == "closed" {
						a.Close()
						synctest.Wait()
					}
					_, _ = kind.TryRecv()
					synctest.Wait()
					cancel()
					want, wantErr = []sluice.Sender[int]{b}, context.Canceled
				case "error":
					want = []sluice.Sender[int]{a}
				}
				synctest.Wait()
				switch {
				case how == "panic":
					if value != errPlanted {
						t.Errorf("panicked with %v", value)
					}
				case how == "Goexit":
					if err == nil {
						t.Error("no error")
					}
				case err != wantErr || !slices.Equal(missed, want) || v == 0 || value != nil:
					t.Errorf("%d, %v, %v, want %v, %v", v, names(missed, a, b, kind), err, names(want, a, b, kind), wantErr)
				}
				if sent != sluice.ErrClosed {
					t.Errorf("Send: %v", sent)
				}
			})
		})
	}
}

// names returns the positions of some senders among all.
func names(some []sluice.Sender[int], all ...sluice.Sender[int]) (names []string) {
	for _, s := range some {
		names = append(names, fmt.Sprint(slices.Index(all, s)))
	}
	return names
}

// TestOutFatalError: missed includes the outputs after the one that failed.
func TestOutFatalError(t *testing.T) {
	source, before, after := sluice.NewBounded[int](1, nil), sluice.NewBounded[int](1, nil), sluice.NewBounded[int](1, nil)
	broken := refusing{newPlain(1)}
	_ = source.TrySend(7)
	v, missed, err := ended(fan.Out(t.Context(), source, before, broken, after))
	if v != 7 || err != errPlanted || !slices.Equal(missed, []sluice.Sender[int]{broken, after}) || before.Len() != 1 || after.Len() != 0 {
		t.Errorf("%d, %d missed, %v", v, len(missed), err)
	}
	if source.TrySend(1) != sluice.ErrClosed {
		t.Error("the source is open")
	}
}

// refusing is a sender whose TrySend fails.
type refusing struct{ *plain }

func (refusing) TrySend(int) error { return errPlanted }
