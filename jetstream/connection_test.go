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
			t.Fatal("the attempt continues")
		}
	}
	ctx, cancel := l.attempt(canceled(), time.Hour)
	defer cancel()
	if ctx.Err() != nil {
		t.Errorf("the attempt ended with its caller: %v", ctx.Err())
	}
	l.disconnected()
	ends(ctx)
	if l.reconnected(); l.up.Err() != nil {
		t.Error("after a reconnect, up is done")
	}
	next, cancel := l.attempt(t.Context(), time.Hour)
	defer cancel()
	l.reconnected() // without disconnected, as when one connection replaces another
	ends(next)
	short, cancel := l.attempt(t.Context(), 0)
	defer cancel()
	ends(short)
	if short.Err() != context.DeadlineExceeded {
		t.Errorf("an attempt without time: %v", short.Err())
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
		t.Fatal("a connection in use cannot be shared")
	}
	for range 2 {
		if l.up.Err() != nil {
			t.Error("it was closed before its last user")
		}
		if err := l.close(); err != nil {
			t.Fatal(err)
		}
	}
	if l.up.Err() == nil || l.share() {
		t.Error("it was not closed with its last user")
	}
	if l.reconnected(); l.up.Err() == nil {
		t.Error("a reconnect after close opened the connection again")
	}
}
