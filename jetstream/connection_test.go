package jetstream

import (
	"context"
	"testing"
	"time"
)

// lively returns a connection without a nats.Conn.
func lively() *connection {
	l := &connection{users: 1}
	l.up, l.down = context.WithCancel(context.Background())
	return l
}

// An attempt outlives its caller's context, so that the outcome is known, and ends
// with the connection, which will bring no answer.
func TestAttempt(t *testing.T) {
	t.Parallel()
	l := lively()
	ends := func(ctx context.Context) {
		t.Helper()
		select {
		case <-ctx.Done():
		case <-patient(t).Done():
			t.Fatal("an attemptTimeout goes on")
		}
	}
	ctx, cancel := l.attempt(canceled(), time.Hour)
	defer cancel()
	if ctx.Err() != nil {
		t.Errorf("an attemptTimeout ended with its caller: %v", ctx.Err())
	}
	l.disconnected()
	ends(ctx)
	if l.reconnected(); l.up.Err() != nil {
		t.Error("a connection that came back begins no life")
	}
	next, cancel := l.attempt(t.Context(), time.Hour)
	defer cancel()
	l.reconnected() // without broke, as when one connection follows the other
	ends(next)
	short, cancel := l.attempt(t.Context(), 0)
	defer cancel()
	ends(short)
	if short.Err() != context.DeadlineExceeded {
		t.Errorf("an attemptTimeout that had no time: %v", short.Err())
	}
	last, cancel := l.attempt(t.Context(), time.Hour)
	defer cancel()
	if err := l.close(); err != nil {
		t.Fatal(err)
	}
	ends(last)
}

// A connection is closed with its last user, for good.
func TestShare(t *testing.T) {
	t.Parallel()
	l := lively()
	if !l.share() {
		t.Fatal("a link in use is not shared")
	}
	for range 2 {
		if l.up.Err() != nil {
			t.Error("it ended before its last user")
		}
		if err := l.close(); err != nil {
			t.Fatal(err)
		}
	}
	if l.up.Err() == nil || l.share() {
		t.Error("it goes on after its last user")
	}
	if l.reconnected(); l.up.Err() == nil {
		t.Error("a connection that came back after the end begins a life")
	}
}
