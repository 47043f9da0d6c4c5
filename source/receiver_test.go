package source_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/batch"
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/source"
)

// sequence is 0, 1, … n-1.
func sequence(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}

// count yields 0, 1, … n-1 and sets *ended when it is over, in whatever way.
func count(n int, ended *bool) iter.Seq[int] {
	return func(yield func(int) bool) {
		defer func() { *ended = true }()
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}

// failing yields 0, 1, … n-1, then the error, then more that is not to be seen.
func failing(n int, err error) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		for i := range n {
			if !yield(i, nil) {
				return
			}
		}
		_ = yield(-1, err) && yield(-2, nil)
	}
}

// sources makes each source of n integers, by name.
func sources(n int) map[string]func() *source.Receiver[int] {
	return map[string]func() *source.Receiver[int]{
		"Slice": func() *source.Receiver[int] { return source.Slice(sequence(n)) },
		"Seq":   func() *source.Receiver[int] { return source.Seq(slices.Values(sequence(n))) },
		"Seq2": func() *source.Receiver[int] {
			return source.Seq2(func(yield func(int, error) bool) {
				for i := 0; i < n && yield(i, nil); i++ {
				}
			})
		},
	}
}

// TestDelivers: each method of receiving delivers all values in order, then ErrClosed.
func TestDelivers(t *testing.T) {
	ctx := t.Context()
	methods := map[string]func(r *source.Receiver[int], buf []int) (int, error){
		"Recv": func(r *source.Receiver[int], buf []int) (n int, err error) {
			if buf[0], err = r.Recv(ctx); err == nil {
				n = 1
			}
			return n, err
		},
		"TryRecv": func(r *source.Receiver[int], buf []int) (n int, err error) {
			if buf[0], err = r.TryRecv(); err == nil {
				n = 1
			}
			return n, err
		},
		"RecvBatch":    func(r *source.Receiver[int], buf []int) (int, error) { return r.RecvBatch(ctx, buf) },
		"TryRecvBatch": func(r *source.Receiver[int], buf []int) (int, error) { return r.TryRecvBatch(buf) },
	}
	for name, open := range sources(10) {
		for method, receive := range methods {
			r := open()
			<-r.Ready()
			var got []int
			buf := make([]int, 3)
			for {
				n, err := receive(r, buf)
				if (n > 0) != (err == nil) {
					t.Fatalf("%s: %s: %d values and error %v", name, method, n, err)
				}
				if err != nil {
					if !errors.Is(err, sluice.ErrClosed) {
						t.Errorf("%s: %s: %v", name, method, err)
					}
					break
				}
				got = append(got, buf[:n]...)
			}
			if !slices.Equal(got, sequence(10)) {
				t.Errorf("%s: %s: received %v", name, method, got)
			}
			if n, err := r.RecvBatch(ctx, nil); n != 0 || err != nil {
				t.Errorf("%s: RecvBatch into an empty buffer: %d, %v", name, n, err)
			}
		}
		if got := slices.Collect(open().Drain()); !slices.Equal(got, sequence(10)) {
			t.Errorf("%s: Drain: %v", name, got)
		}
	}
}

// TestBatchSizes: RecvBatch takes as much of a slice as the buffer holds, and one value
// of an iterator.
func TestBatchSizes(t *testing.T) {
	for name, want := range map[string][]int{"Slice": {4, 4, 2}, "Seq": slices.Repeat([]int{1}, 10)} {
		r := sources(10)[name]()
		var got []int
		for buf := make([]int, 4); ; {
			n, err := r.RecvBatch(t.Context(), buf)
			if err != nil {
				break
			}
			got = append(got, n)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: batches of %v, want %v", name, got, want)
		}
	}
}

// TestDoneContext: nothing is consumed under a context that is done; a source without
// values is closed under any context.
func TestDoneContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, open := range sources(3) {
		r := open()
		if _, err := r.Recv(ctx); err != context.Canceled {
			t.Errorf("%s: Recv: %v", name, err)
		}
		if n, err := r.RecvBatch(ctx, make([]int, 2)); n != 0 || err != context.Canceled {
			t.Errorf("%s: RecvBatch: %d, %v", name, n, err)
		}
		if got := slices.Collect(r.Drain()); !slices.Equal(got, sequence(3)) {
			t.Errorf("%s: left: %v", name, got)
		}
		if _, err := r.Recv(ctx); err != sluice.ErrClosed {
			t.Errorf("%s: Recv behind the end: %v", name, err)
		}
	}
}

// TestPoll: under the context of the workers' polls, a slice yields its values. An
// iterator does not run: it might take any time.
func TestPoll(t *testing.T) {
	for name, want := range map[string]int{"Slice": 2, "Seq": 0, "Seq2": 0} {
		r := sources(3)[name]()
		if n, err := r.RecvBatch(engine.NoWait{}, make([]int, 2)); n != want || (err == nil) != (want > 0) {
			t.Errorf("%s: RecvBatch: %d, %v, want %d values", name, n, err, want)
		}
	}
}

// TestSeq2Error: the error comes after the values before it, and stays.
func TestSeq2Error(t *testing.T) {
	broken := errors.New("broken")
	r := source.Seq2(failing(3, broken))
	if got := slices.Collect(r.Drain()); !slices.Equal(got, sequence(3)) {
		t.Errorf("received %v", got)
	}
	for range 2 {
		if v, err := r.Recv(t.Context()); v != 0 || err != broken {
			t.Errorf("Recv: %d, %v, want the error of the iterator", v, err)
		}
	}
	r.Close()
	if _, err := r.TryRecv(); err != broken {
		t.Errorf("TryRecv after Close: %v", err)
	}
	batches := batch.Receive(t.Context(), source.Seq2(failing(3, broken)), 10, nil)
	n := 0
	for vs := range batches.All() {
		n += len(vs)
	}
	if n != 3 || batches.Err() != broken {
		t.Errorf("batch.Receive: %d values, %v", n, batches.Err())
	}
}

// TestSeq2FailsLikeAChannel: the iterator fails with ErrClosed or ErrEmpty of a channel that
// it uses. A receiver must not take that for the end, nor wait for a value to come.
func TestSeq2FailsLikeAChannel(t *testing.T) {
	for _, broken := range []error{
		sluice.ErrClosed, sluice.ErrEmpty,
		fmt.Errorf("page 2: %w", sluice.ErrClosed), fmt.Errorf("page 2: %w", sluice.ErrEmpty),
	} {
		r := source.Seq2(failing(3, broken))
		if got := slices.Collect(r.Drain()); !slices.Equal(got, sequence(3)) {
			t.Errorf("received %v", got)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		chosen, selected := sluice.Select(ctx, sluice.OnRecv(r))
		cancel()
		if chosen == nil {
			t.Errorf("%v: Select waits for a source that has ended", broken)
		}
		_, received := r.Recv(t.Context())
		_, tried := r.TryRecv()
		for method, err := range map[string]error{"Select": selected, "Recv": received, "TryRecv": tried} {
			if err == nil || errors.Is(err, sluice.ErrClosed) || errors.Is(err, sluice.ErrEmpty) || !strings.Contains(err.Error(), broken.Error()) {
				t.Errorf("%s: %v, want another error with the words of %v", method, err, broken)
			}
		}
	}
}

// TestReadyOfItsOwn: sources have no Ready channel in common, so the Selects that wait for
// one have no state in common with those of another. It is closed, and stays the same.
func TestReadyOfItsOwn(t *testing.T) {
	seen := make(map[<-chan struct{}]string)
	for name, open := range sources(1) {
		for range 2 {
			r := open()
			ready := r.Ready()
			if other := seen[ready]; other != "" {
				t.Errorf("%s has the Ready channel of another source, a %s", name, other)
			}
			if r.Ready() != ready {
				t.Errorf("Ready of %s returns a different channel each time", name)
			}
			seen[ready] = name
			<-ready
		}
	}
}

// TestClose: it stops an iterator, before the first value or after some, and leaves the
// elements of a slice receivable.
func TestClose(t *testing.T) {
	for received := range 3 {
		var ended bool
		r := source.Seq(count(10, &ended))
		for range received {
			_, _ = r.TryRecv()
		}
		r.Close()
		r.Close()
		if started := received > 0; ended != started {
			t.Errorf("after %d values: stopped %v", received, ended)
		}
		if _, err := r.Recv(t.Context()); err != sluice.ErrClosed {
			t.Errorf("Recv after Close: %v", err)
		}
		s := source.Slice(sequence(3))
		for range received {
			_, _ = s.TryRecv()
		}
		s.Close()
		if got := slices.Collect(s.Drain()); !slices.Equal(got, sequence(3)[received:]) {
			t.Errorf("after Close of a slice: %v", got)
		}
	}
}

// TestCloseWhileRunning: Close does not wait for an iterator that runs. Waiting receivers
// get ErrClosed at once; the running one gets its value, then the iterator is stopped.
func TestCloseWhileRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate, stopped := make(chan struct{}), false
		r := source.Seq(func(yield func(int) bool) {
			defer func() { stopped = true }()
			for i := 0; ; i++ {
				<-gate
				if !yield(i) {
					return
				}
			}
		})
		type outcome struct {
			v   int
			err error
		}
		running, waiting, canceled := make(chan outcome, 1), make(chan outcome, 2), make(chan outcome, 1)
		recv := func(ctx context.Context, to chan outcome) {
			v, err := r.Recv(ctx)
			to <- outcome{v, err}
		}
		go recv(t.Context(), running)
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		go recv(t.Context(), waiting)
		go func() { v, err := r.TryRecv(); waiting <- outcome{v, err} }()
		go recv(ctx, canceled)
		synctest.Wait()
		cancel()
		if got := <-canceled; got.err != context.Canceled {
			t.Errorf("a Recv that was canceled while it waited: %v", got)
		}
		r.Close()
		for range 2 {
			if got := <-waiting; got.err != sluice.ErrClosed {
				t.Errorf("a Recv that waited: %v", got)
			}
		}
		if len(running) > 0 || stopped {
			t.Error("Close has interrupted the iterator")
		}
		close(gate)
		if got := <-running; got != (outcome{}) {
			t.Errorf("the Recv that ran the iterator: %v", got)
		}
		synctest.Wait()
		if !stopped {
			t.Error("the iterator was not stopped")
		}
	})
}

// TestAborted: an iterator that panics or exits does so in the goroutine that receives;
// others do not take that for the end of the values.
func TestAborted(t *testing.T) {
	for name, abort := range map[string]func(){"panic": func() { panic("iterator") }, "Goexit": runtime.Goexit} {
		r := source.Seq(func(yield func(int) bool) {
			if yield(0) {
				abort()
			}
		})
		if _, err := r.TryRecv(); err != nil {
			t.Fatal(err)
		}
		ended, returned := make(chan any), false
		go func() {
			defer func() { ended <- recover() }()
			_, _ = r.TryRecv()
			returned = true
		}()
		if got := <-ended; returned || (name == "panic") != (got == "iterator") {
			t.Errorf("%s: returned %v, recovered %v", name, returned, got)
		}
		if _, err := r.TryRecv(); err == nil || errors.Is(err, sluice.ErrClosed) {
			t.Errorf("%s: the next receive: %v", name, err)
		}
		r.Close()
	}
}

// TestManyReceivers: each value is delivered once.
func TestManyReceivers(t *testing.T) {
	const n = 2000
	for name, open := range sources(n) {
		r := open()
		var mu sync.Mutex
		var got []int
		var receivers sync.WaitGroup
		for size := 1; size <= 4; size++ {
			receivers.Go(func() {
				buf := make([]int, size)
				for {
					n, err := r.RecvBatch(t.Context(), buf)
					if err != nil {
						return
					}
					if !slices.IsSorted(buf[:n]) {
						t.Errorf("%s: %v out of order", name, buf[:n])
					}
					mu.Lock()
					got = append(got, buf[:n]...)
					mu.Unlock()
				}
			})
		}
		receivers.Wait()
		if slices.Sort(got); !slices.Equal(got, sequence(n)) {
			t.Errorf("%s: %d values, not each of %d once", name, len(got), n)
		}
	}
}

// TestSelect: a source can be a case of a Select.
func TestSelect(t *testing.T) {
	for name, open := range sources(3) {
		r := open()
		var got []int
		for {
			c := sluice.NewBounded[int](1, nil) // never ready
			recv := sluice.OnRecv(r)
			_, err := sluice.Select(t.Context(), recv, sluice.OnRecv(c))
			if err != nil {
				break
			}
			got = append(got, recv.Value)
		}
		if !slices.Equal(got, sequence(3)) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestAllocatesNothing: a receive from a slice, or from an iterator that runs.
func TestAllocatesNothing(t *testing.T) {
	var ended bool
	for name, r := range map[string]*source.Receiver[int]{
		"Slice": source.Slice(make([]int, 10_000)),
		"Seq":   source.Seq(count(10_000, &ended)),
	} {
		defer r.Close()
		buf := make([]int, 4)
		if n := testing.AllocsPerRun(500, func() {
			_, err := r.Recv(t.Context())
			_, err2 := r.RecvBatch(t.Context(), buf)
			if err != nil || err2 != nil {
				t.Error(err, err2)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func TestBadInput(t *testing.T) {
	var none context.Context
	r := source.Slice(sequence(1))
	for want, call := range map[string]func(){
		"source: Seq: nil iterator":      func() { source.Seq[int](nil) },
		"source: Seq2: nil iterator":     func() { source.Seq2[int](nil) },
		"source: Recv: nil context":      func() { _, _ = r.Recv(none) },
		"source: RecvBatch: nil context": func() { _, _ = r.RecvBatch(none, make([]int, 1)) },
		"source: Receiver: a zero value: make a Receiver with Slice, Seq or Seq2": func() { new(source.Receiver[int]).Close() },
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, want) {
					t.Errorf("panic %q, want %q", got, want)
				}
			}()
			call()
		}()
	}
	if _, err := r.TryRecv(); err != nil {
		t.Error("a value is lost")
	}
}
