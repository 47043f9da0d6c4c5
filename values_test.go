package sluice_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
)

// TestValuesErr: Err is nil if the loop received every value or its body left, and the
// context's error if the context ended the loop.
func TestValuesErr(t *testing.T) {
	for kind, c := range eachKind() {
		if c.Cap() == 0 {
			continue
		}
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			_ = c.TrySend(1)
			c.Close()
			cancel() // a value is still queued
			values := c.Values(ctx)
			got := slices.Collect(values.All())
			if err := values.Err(); err != nil || !slices.Equal(got, []int{1}) {
				t.Errorf("%s: closed and drained under a canceled context: %v, %v", kind, got, err)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		c := sluice.NewBounded[int](3, nil)
		_, _ = c.SendBatch(ctx, []int{1, 2, 3})
		values := c.Values(ctx)
		for v := range values.All() {
			if v == 2 {
				break
			}
		}
		if values.Err() != nil || c.Len() != 1 {
			t.Errorf("after a break: %v, Len %d", values.Err(), c.Len())
		}
		if got := slices.Collect(values.All()); !slices.Equal(got, []int{3}) || !errors.Is(values.Err(), context.DeadlineExceeded) {
			t.Errorf("after the deadline: %v, %v", got, values.Err())
		}
	})
}

// broken is a receiver that always fails with err.
type broken struct{ err error }

func (b broken) Recv(context.Context) (int, error) { return 0, b.err }
func (b broken) TryRecv() (int, error)             { return 0, b.err }

func TestNewValues(t *testing.T) {
	b := broken{errors.New("disk on fire")}
	values := sluice.NewValues(t.Context(), b)
	for range values.All() {
		t.Error("a broken receiver yielded a value")
	}
	if values.Err() != b.err {
		t.Errorf("Err is %v", values.Err())
	}
	mustPanic(t, "NewValues", []string{"nil context"}, func() { sluice.NewValues(noContext, b) })
	mustPanic(t, "NewValues", []string{"nil receiver"}, func() { sluice.NewValues[int](t.Context(), nil) })
	mustPanic(t, "LeaveOpen", []string{"nil receiver"}, func() { sluice.LeaveOpen[int](nil) })
}
