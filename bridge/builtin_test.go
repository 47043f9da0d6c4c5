package bridge_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/batch"
	"github.com/sluice-go/sluice/bridge"
	"github.com/sluice-go/sluice/workers"
)

// full returns a channel whose buffer holds 0, 1, … n-1.
func full(n int) chan int {
	c := make(chan int, n)
	for i := range n {
		c <- i
	}
	return c
}

// canceled returns a context that is done.
func canceled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

func TestReceiverWithoutWaiting(t *testing.T) {
	c := full(3)
	r := bridge.NewReceiver(c)
	// A context that is done does not matter to a call that need not wait.
	if v, err := r.Recv(canceled(t)); v != 0 || err != nil {
		t.Errorf("Recv = %d, %v", v, err)
	}
	if v, err := r.TryRecv(); v != 1 || err != nil {
		t.Errorf("TryRecv = %d, %v", v, err)
	}
	if got := slices.Collect(r.Drain()); !slices.Equal(got, []int{2}) {
		t.Errorf("Drain yields %v", got)
	}
	if _, err := r.TryRecv(); err != sluice.ErrEmpty {
		t.Errorf("TryRecv of an empty channel: %v", err)
	}
	if _, err := r.Recv(canceled(t)); err != context.Canceled {
		t.Errorf("Recv from an empty channel: %v", err)
	}
	close(c)
	if _, err := r.Recv(canceled(t)); err != sluice.ErrClosed {
		t.Errorf("Recv from a closed channel: %v", err)
	}
	if _, err := r.TryRecv(); err != sluice.ErrClosed {
		t.Errorf("TryRecv of a closed channel: %v", err)
	}
	for range r.Drain() {
		t.Error("Drain yields a value of a closed channel")
	}
}

func TestReceiverWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := make(chan int)
		r := bridge.NewReceiver(c)
		go func() {
			time.Sleep(time.Second)
			c <- 7
			time.Sleep(time.Second)
			close(c)
		}()
		if v, err := r.Recv(t.Context()); v != 7 || err != nil {
			t.Errorf("Recv = %d, %v", v, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := r.Recv(ctx); err != context.DeadlineExceeded {
			t.Errorf("Recv until the deadline: %v", err)
		}
		if _, err := r.Recv(t.Context()); err != sluice.ErrClosed {
			t.Errorf("Recv while the channel is closed: %v", err)
		}
	})
}

func TestReceiverBatches(t *testing.T) {
	c := full(5)
	r := bridge.NewReceiver(c)
	buf := make([]int, 3)
	for _, want := range []int{3, 2} {
		if n, err := r.RecvBatch(canceled(t), buf); n != want || err != nil {
			t.Errorf("RecvBatch = %d, %v, want %d", n, err, want)
		}
	}
	if !slices.Equal(buf, []int{3, 4, 2}) {
		t.Errorf("buf = %v", buf)
	}
	if n, err := r.TryRecvBatch(buf); n != 0 || err != sluice.ErrEmpty {
		t.Errorf("TryRecvBatch = %d, %v", n, err)
	}
	if n, err := r.RecvBatch(canceled(t), buf); n != 0 || err != context.Canceled {
		t.Errorf("RecvBatch of an empty channel = %d, %v", n, err)
	}
	if n, err := r.RecvBatch(canceled(t), nil); n != 0 || err != nil {
		t.Errorf("RecvBatch into nothing = %d, %v", n, err)
	}
	c <- 9
	close(c)
	if n, err := r.RecvBatch(t.Context(), buf); n != 1 || buf[0] != 9 || err != nil {
		t.Errorf("RecvBatch of the last value = %d, %v, %v", n, buf, err)
	}
	if n, err := r.RecvBatch(t.Context(), buf); n != 0 || err != sluice.ErrClosed {
		t.Errorf("RecvBatch after the last value = %d, %v", n, err)
	}
	if n, err := r.TryRecvBatch(buf); n != 0 || err != sluice.ErrClosed {
		t.Errorf("TryRecvBatch after the last value = %d, %v", n, err)
	}
}

// The range ends with the context, and distinguishes that from the end of the values.
func TestReceiverValues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := full(3)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		values := bridge.NewReceiver(c).Values(ctx)
		if got := slices.Collect(values.All()); !slices.Equal(got, sequence(3)) || values.Err() != context.DeadlineExceeded {
			t.Errorf("%v, %v", got, values.Err())
		}
		close(c)
		for range values.All() {
			t.Error("a value of a closed channel")
		}
		if err := values.Err(); err != nil {
			t.Errorf("Err at the end of the values: %v", err)
		}
	})
}

// The stages of a pipeline take built-in channels.
func TestReceiverInStages(t *testing.T) {
	c := full(10)
	close(c)
	out := make(chan int, 10)
	square := func(_ context.Context, v int) error { out <- v * v; return nil }
	if err := workers.Run(t.Context(), bridge.NewReceiver(c), 1, square, nil); err != nil {
		t.Fatal(err)
	}
	close(out)
	batches := batch.Receive(t.Context(), bridge.NewReceiver(out), 4, &batch.Options[int]{Linger: time.Minute})
	var got [][]int
	for b := range batches.All() {
		got = append(got, slices.Clone(b))
	}
	if want := [][]int{{0, 1, 4, 9}, {16, 25, 36, 49}, {64, 81}}; !slices.EqualFunc(got, want, slices.Equal) || batches.Err() != nil {
		t.Errorf("batches %v, %v", got, batches.Err())
	}
}

func TestSenderWithoutWaiting(t *testing.T) {
	c := make(chan int, 2)
	s := bridge.NewSender(c)
	if err := s.Send(canceled(t), 1); err != nil {
		t.Errorf("Send: %v", err)
	}
	if err := s.TrySend(2); err != nil {
		t.Errorf("TrySend: %v", err)
	}
	if err := s.TrySend(3); err != sluice.ErrFull {
		t.Errorf("TrySend to a full channel: %v", err)
	}
	if err := s.Send(canceled(t), 3); err != context.Canceled {
		t.Errorf("Send to a full channel: %v", err)
	}
	s.Close()
	s.Close()
	if err := s.Send(t.Context(), 3); err != sluice.ErrClosed {
		t.Errorf("Send to a closed channel: %v", err)
	}
	if err := s.TrySend(3); err != sluice.ErrClosed {
		t.Errorf("TrySend to a closed channel: %v", err)
	}
	if got := slices.Collect(bridge.NewReceiver(c).Drain()); !slices.Equal(got, []int{1, 2}) {
		t.Errorf("received %v", got)
	}
}

func TestSenderWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := make(chan int)
		s := bridge.NewSender(c)
		var got []int
		go func() {
			for range 2 {
				time.Sleep(time.Second)
				got = append(got, <-c)
			}
		}()
		if err := s.Send(t.Context(), 1); err != nil {
			t.Errorf("Send: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		if n, err := s.SendBatch(ctx, []int{2, 3, 4}); n != 1 || err != context.DeadlineExceeded {
			t.Errorf("SendBatch = %d, %v, want 1 until the deadline", n, err)
		}
		synctest.Wait()
		if !slices.Equal(got, []int{1, 2}) {
			t.Errorf("received %v", got)
		}
	})
}

func TestSenderBatches(t *testing.T) {
	c := make(chan int, 8)
	b := batch.NewSender(bridge.NewSender(c), 4, nil)
	for v := range 6 {
		if err := b.Send(t.Context(), v); err != nil {
			t.Fatal(err)
		}
	}
	if len(c) != 4 {
		t.Errorf("%d values before the flush, want 4", len(c))
	}
	if err := b.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := slices.Collect(bridge.NewReceiver(c).Drain()); !slices.Equal(got, sequence(6)) {
		t.Errorf("received %v", got)
	}
}

func TestInvalidBuiltin(t *testing.T) {
	var none context.Context
	r, s := bridge.NewReceiver(make(chan int)), bridge.NewSender(make(chan int))
	for want, f := range map[string]func(){
		"bridge: NewReceiver: nil channel":                                 func() { bridge.NewReceiver[int](nil) },
		"bridge: NewSender: nil channel":                                   func() { bridge.NewSender[int](nil) },
		"bridge: Receiver: a zero value: make a Receiver with NewReceiver": func() { _, _ = bridge.Receiver[int]{}.TryRecv() },
		"bridge: Sender: a zero value: make a Sender with NewSender":       func() { _ = bridge.Sender[int]{}.TrySend(1) },
		"bridge: Recv: nil context":                                        func() { _, _ = r.Recv(none) },
		"bridge: RecvBatch: nil context":                                   func() { _, _ = r.RecvBatch(none, make([]int, 1)) },
		"bridge: Values: nil context":                                      func() { r.Values(none) },
		"bridge: Send: nil context":                                        func() { _ = s.Send(none, 1) },
		"bridge: SendBatch: nil context":                                   func() { _, _ = s.SendBatch(none, nil) },
	} {
		func() {
			defer func() {
				if p := recover(); p != want {
					t.Errorf("panic %v, want %q", p, want)
				}
			}()
			f()
		}()
	}
}

func TestBuiltinAllocatesNothing(t *testing.T) {
	c := make(chan int, 1)
	r, s := bridge.NewReceiver(c), bridge.NewSender(c)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if n := testing.AllocsPerRun(100, func() {
		if err := s.Send(ctx, 1); err != nil {
			t.Error(err)
		}
		if _, err := r.Recv(ctx); err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkBuiltin compares a send and a receive with a context to a native select.
func BenchmarkBuiltin(b *testing.B) {
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	c := make(chan int, 1)
	b.Run("select", func(b *testing.B) {
		for b.Loop() {
			select {
			case c <- 1:
			case <-ctx.Done():
			}
			select {
			case <-c:
			case <-ctx.Done():
			}
		}
	})
	b.Run("bridge", func(b *testing.B) {
		r, s := bridge.NewReceiver(c), bridge.NewSender(c)
		for b.Loop() {
			_ = s.Send(ctx, 1)
			_, _ = r.Recv(ctx)
		}
	})
}

// A panicking context is a context of the user whose Done panics.
type panicking struct{ context.Context }

func (panicking) Done() <-chan struct{} { panic("Done") }

// TestSendRepeatsThePanicOfAContext: it is not taken for the panic of a closed channel.
func TestSendRepeatsThePanicOfAContext(t *testing.T) {
	defer func() {
		if p := recover(); p != "Done" {
			t.Errorf("recovered %v", p)
		}
	}()
	err := bridge.NewSender(make(chan int)).Send(panicking{t.Context()}, 1)
	t.Errorf("Send = %v", err)
}

// TestEmptyBatchOfNoReceiver: a zero value panics even if there is nothing to receive.
func TestEmptyBatchOfNoReceiver(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	_, _ = bridge.Receiver[int]{}.TryRecvBatch(nil)
}
