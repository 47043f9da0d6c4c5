package batch_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/batch"
	"github.com/sluice-go/sluice/source"
)

// The body leaves the loop in each way, at each batch: the other values are still in the
// channel, and a late timer does no harm.
func TestReceiveLeave(t *testing.T) {
	leave := map[string]func(){
		"break":  nil,
		"panic":  func() { panic("body") },
		"Goexit": runtime.Goexit,
	}
	for how, leave := range leave {
		inBubbles(t, func(t *testing.T, s sluice.Sender[int], r sluice.BatchReceiver[int]) {
			for position := range 4 {
				mustSend(t, s, sequence(10)...) // 3 3 3 1
				var got []int
				left := make(chan struct{})
				go func() {
					defer close(left)
					defer func() { _ = recover() }()
					n := 0
					for batch := range batch.Receive(t.Context(), sluice.LeaveOpen(r), 3, withLinger(time.Second)).All() {
						got = append(got, batch...)
						if n++; n > position {
							if leave == nil {
								break
							}
							leave()
						}
					}
				}()
				<-left
				for v, err := r.TryRecv(); err == nil; v, err = r.TryRecv() {
					got = append(got, v)
				}
				if !slices.Equal(got, sequence(10)) {
					t.Errorf("%s at %d: %v were yielded or left", how, position, got)
				}
				time.Sleep(time.Hour)
			}
		})
	}
}

// The slice is cleared after the body, has no spare capacity, and is used again.
func TestReceiveSlice(t *testing.T) {
	values := make([]*parcel, 9)
	for i := range values {
		values[i] = new(parcel)
	}
	var before []*parcel
	for batch := range batch.Receive(t.Context(), source.Slice(values), 4, nil).All() {
		if cap(batch) != len(batch) {
			t.Errorf("cap %d, len %d: an append would write into the next batch", cap(batch), len(batch))
		}
		if before != nil && &before[0] != &batch[0] {
			t.Error("the slice is not used again")
		}
		if before != nil && len(batch) < len(before) && before[len(batch)] != nil {
			t.Error("the slice keeps what was received")
		}
		before = batch
	}
	if len(before) != 1 || before[0] != nil {
		t.Error("the last batch was not cleared")
	}
}

// The body may receive from the channel itself.
func TestReceiveBodyReceives(t *testing.T) {
	inBubbles(t, func(t *testing.T, s sluice.Sender[int], r sluice.BatchReceiver[int]) {
		mustSend(t, s, sequence(10)...)
		s.Close()
		var got []int
		for batch := range batch.Receive(t.Context(), r, 3, withLinger(time.Second)).All() {
			got = append(got, batch...)
			if v, err := r.Recv(t.Context()); err == nil {
				got = append(got, v)
			}
		}
		if !slices.Equal(got, sequence(10)) {
			t.Errorf("got %v", got)
		}
	})
}

// script is a BatchReceiver whose calls are given as functions.
type script struct {
	sluice.Receiver[int]
	steps []func(ctx context.Context, buf []int) (int, error)
}

func (s *script) RecvBatch(ctx context.Context, buf []int) (int, error) {
	step := s.steps[0]
	s.steps = s.steps[1:]
	return step(ctx, buf)
}

// An error of the receiver ends the loop after the values received so far, including
// values that came with the error, and Err returns it.
func TestReceiveForeignError(t *testing.T) {
	broken := errors.New("broken")
	one := func(_ context.Context, buf []int) (int, error) { buf[0] = 1; return 1, nil }
	fail := func(context.Context, []int) (int, error) { return 0, broken }
	failWithOne := func(_ context.Context, buf []int) (int, error) { buf[0] = 2; return 1, broken }
	for _, test := range []struct {
		steps []func(context.Context, []int) (int, error)
		want  string
	}{
		{[]func(context.Context, []int) (int, error){fail}, "[]"},
		{[]func(context.Context, []int) (int, error){failWithOne}, "[[2]]"},
		{[]func(context.Context, []int) (int, error){one, fail}, "[[1]]"},
		{[]func(context.Context, []int) (int, error){one, failWithOne}, "[[1 2]]"},
	} {
		var got [][]int
		batches := batch.Receive(t.Context(), &script{steps: test.steps}, 3, withLinger(time.Hour))
		for batch := range batches.All() {
			got = append(got, slices.Clone(batch))
		}
		if fmt.Sprint(got) != test.want || batches.Err() != broken {
			t.Errorf("got %v, %v, want %v, %v", got, batches.Err(), test.want, broken)
		}
	}
}

// A receiver that always has one more value, and never checks its context, does not
// stretch a batch.
func TestReceiveNotStretched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		trickle := func(_ context.Context, buf []int) (int, error) {
			time.Sleep(time.Millisecond)
			buf[0] = 1
			return 1, nil
		}
		r := &script{}
		for range 30 {
			r.steps = append(r.steps, trickle)
		}
		for batch := range batch.Receive(t.Context(), r, 100, withLinger(5500*time.Microsecond)).All() {
			if len(batch) != 7 { // the first value, and 6 that were begun in time
				t.Errorf("a batch of %d", len(batch))
			}
			break
		}
	})
}
