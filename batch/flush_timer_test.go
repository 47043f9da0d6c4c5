package batch_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/batch"
)

// A flush by the timer takes the values that are held. The next value starts the timer again, and
// Close ends it.
func TestSenderAfterItsTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &shelf{limit: 100}
		b := batch.NewSender(c, 10, &batch.Options[*parcel]{Linger: time.Second})
		var made parcels
		expect := func(held, sent int, when string) {
			t.Helper()
			if b.Len() != held || c.Len() != sent {
				t.Errorf("%s: %d held, %d sent; want %d, %d", when, b.Len(), c.Len(), held, sent)
			}
			made.expectAlive(t, held+sent, when)
		}
		send := func() {
			t.Helper()
			if err := b.Send(t.Context(), made.next()); err != nil {
				t.Error(err)
			}
		}
		send()
		send()
		expect(2, 0, "after two values")
		_ = b.Flush(t.Context())
		expect(0, 2, "after Flush")
		for sent := 2; sent < 5; sent++ { // in the slot behind the value that the timer took
			send()
			expect(1, sent, "after a value")
			time.Sleep(time.Second)
			synctest.Wait()
			expect(0, sent+1, "after the timer")
		}
		send()
		_ = b.Close(t.Context())
		expect(0, 6, "after Close")
		runtime.KeepAlive(b)
		runtime.KeepAlive(c)
	})
}

// A hook calls Goexit in the goroutine of the timer, when the owner has completed a batch besides.
// The values of the flush are gone, those of the owner are not, and no lock is left behind.
func TestSenderTimerExits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		exit, dropped := true, 0
		c := sluice.NewBounded(2, &sluice.BoundedOptions[int]{Overflow: sluice.DropOldest, OnUndelivered: func(int, sluice.Reason) {
			dropped++
			if exit {
				exit = false
				<-gate
				runtime.Goexit()
			}
		}})
		for c.Len() < 2 {
			_ = c.TrySend(-1)
		}
		b := batch.NewSender(c, 3, &batch.Options[int]{Linger: time.Second})
		send := func(vs ...int) {
			t.Helper()
			for _, v := range vs {
				if err := b.Send(t.Context(), v); err != nil {
					t.Error(err)
				}
			}
		}
		send(0, 1)
		time.Sleep(time.Second)
		synctest.Wait()
		send(2, 3, 4)
		close(gate)
		synctest.Wait()
		if b.Len() != 3 {
			t.Errorf("%d are held after the flush", b.Len())
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := b.Send(ctx, 5); err != nil || b.Len() != 1 {
			t.Errorf("Send: %v, %d held", err, b.Len())
		}
		if err := b.Close(ctx); err != nil || dropped != 2+2+2 || c.Len() != 2 {
			t.Errorf("Close: %v, %d dropped, %d queued", err, dropped, c.Len())
		}
	})
}
