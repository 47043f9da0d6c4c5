package sluicetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var errOwn = errors.New("an error of the context's own")

// ownContext is a context type that package context does not know.
type ownContext struct {
	done chan struct{}
	mu   sync.Mutex
	err  error
}

func (c *ownContext) Deadline() (time.Time, bool) { return time.Time{}, false }
func (c *ownContext) Value(any) any               { return nil }
func (c *ownContext) Done() <-chan struct{}       { return c.done }

func (c *ownContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

func (c *ownContext) end(err error) {
	c.mu.Lock()
	c.err = err
	c.mu.Unlock()
	close(c.done)
}

// chaos is a context whose methods yield the processor a few times. A channel
// calls them between the check that an operation cannot proceed and the park,
// so other goroutines can interfere there.
type chaos struct{ context.Context }

func (c chaos) Done() <-chan struct{} {
	yield()
	return c.Context.Done()
}

func (c chaos) Err() error {
	yield()
	return c.Context.Err()
}

// late is a context that becomes done at the first call of a method, and runs a
// function just before.
type late struct {
	context.Context
	before func()
}

func (c *late) Err() error {
	if c.before != nil {
		c.before()
		c.before = nil
	}
	return context.Canceled
}

func (c *late) Done() <-chan struct{} {
	_ = c.Err()
	return done().Done()
}

// testContextLate: an operation that became possible before its context was
// done proceeds.
func testContextLate(t *testing.T, k Kind) {
	if k.Capacity == 0 {
		return
	}
	c := k.numbers(t)
	v, err := c.Recv(&late{context.Background(), func() { mustSend(t, c, 7) }})
	if v != 7 || err != nil {
		t.Errorf("Recv, with a value there before the context was done: %d, %v", v, err)
	}
	if !k.blocks() {
		return
	}
	fill(t, k, c)
	err = c.Send(&late{context.Background(), func() { _, _ = c.TryRecv() }}, 8)
	if err != nil {
		t.Errorf("Send, with room before the context was done: %v", err)
	}
}

// breaking is a context whose methods panic or call runtime.Goexit, at the call
// of Done or Err at which the countdown left reaches 0.
type breaking struct {
	context.Context
	left *int
	with func()
}

func (c breaking) Done() <-chan struct{} {
	c.count()
	return c.Context.Done()
}

func (c breaking) Err() error {
	c.count()
	return c.Context.Err()
}

func (c breaking) count() {
	if *c.left--; *c.left == 0 {
		c.with()
	}
}

// testContextBreaks: a context is user code. If a method panics or ends the
// goroutine, the operation fails like any other, and no waiter stays in a
// queue.
func testContextBreaks(t *testing.T, k Kind) {
	for name, with := range map[string]func(){
		"panic":  func() { panic("a context breaks") },
		"Goexit": runtime.Goexit,
	} {
		for call := 1; call <= 6; call++ {
			t.Run(fmt.Sprint(name, " at call ", call), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { k.testRecvBreaks(t, call, with) })
				if k.blocks() {
					synctest.Test(t, func(t *testing.T) { k.testSendBreaks(t, call, with) })
				}
			})
		}
	}
}

// broken runs op with a context that breaks at its call-th call, and is
// canceled once op waits.
func broken(t *testing.T, call int, with func(), op func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended, failed := false, false
	go func() {
		defer func() {
			failed = recover() != nil || failed
			ended = true
		}()
		failed = true // unless op returns
		failed = op(breaking{ctx, &call, with}) != nil
	}()
	settle()
	cancel()
	if settle(); !ended || !failed {
		t.Fatalf("an operation whose context breaks: ended %v, failed %v", ended, failed)
	}
}

func (k Kind) testRecvBreaks(t *testing.T, call int, with func()) {
	c := k.numbers(t)
	broken(t, call, with, func(ctx context.Context) error {
		_, err := c.Recv(ctx)
		return err
	})
	if s := c.Stats(); s.ReceiversWaiting != 0 {
		t.Fatalf("ReceiversWaiting is %d, want 0", s.ReceiversWaiting)
	}
	p := startRecv(context.Background(), c)
	p.parked(t, "a receiver of an empty channel")
	mustSend(t, c, 7)
	p.received(t, "a receiver behind one whose context broke", 7)
	mustBeEmpty(t, c)
}

// ghost is the value of a send that fails.
const ghost = ^uint64(0)

func (k Kind) testSendBreaks(t *testing.T, call int, with func()) {
	c := k.numbers(t)
	fill(t, k, c)
	broken(t, call, with, func(ctx context.Context) error { return c.Send(ctx, ghost) })
	if s := c.Stats(); s.SendersWaiting != 0 {
		t.Fatalf("SendersWaiting is %d, want 0", s.SendersWaiting)
	}
	p := startSend(context.Background(), c, 99)
	p.parked(t, "a sender to a full channel")
	for range k.Capacity + 1 {
		v, err := c.TryRecv()
		if err != nil || v == ghost {
			t.Fatalf("after a send whose context broke TryRecv: %d, %v", v, err)
		}
		settle()
	}
	p.returned(t, "a sender behind one whose context broke", nil)
	mustBeEmpty(t, c)
}

func yield() {
	for range rand.IntN(4) {
		runtime.Gosched()
	}
}
