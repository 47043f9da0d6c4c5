package sluice_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/suite"
)

// TestMaxAgeRandomWalk: random calls of all kinds at random moments, many of which coincide with the
// moment at which values become too old; hooks that take long, panic, end their goroutine, or send.
// Nobody waits beside what it waits for, and each value that was sent is received, or the hook gets
// it, exactly once.
func TestMaxAgeRandomWalk(t *testing.T) {
	rounds := suite.Rounds(50, 200)
	base := rand.Uint64()
	for i := range rounds {
		if seed := base + uint64(i); !t.Run("", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { newAgedWalk(seed).run(t) })
		}) {
			t.Fatalf("seed %d", seed)
		}
	}
}

const walkAge = 50 * time.Millisecond

// An agedWalk is one round.
type agedWalk struct {
	c    *sluice.Aged[int]
	side *sluice.Elastic[int] // side has no room
	hook int

	mu     sync.Mutex
	random *rand.Rand
	last   int
	sent   map[int]bool
	seen   map[int]int // received, or in the hook
}

func newAgedWalk(seed uint64) *agedWalk {
	w := &agedWalk{random: rand.New(rand.NewPCG(seed, 1)), sent: map[int]bool{}, seen: map[int]int{}}
	w.hook = w.below(4)
	o := &sluice.AgedOptions[int]{MaxAge: walkAge, OnUndelivered: dropped(w.onDrop)}
	if w.below(3) == 0 {
		o.StaleAfter = walkAge / 5
	}
	w.c, w.side = sluice.NewAged(1+w.below(4), o), sluice.NewElastic[int](1, nil)
	_ = w.side.TrySend(0)
	return w
}

func (w *agedWalk) below(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.random.IntN(n)
}

// values returns n new values.
func (w *agedWalk) values(n int) []int {
	w.mu.Lock()
	defer w.mu.Unlock()
	vs := make([]int, n)
	for i := range vs {
		w.last++
		vs[i] = w.last
	}
	return vs
}

// send records the result of a call that sends vs.
func (w *agedWalk) send(vs []int, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, v := range vs[:n] {
		w.sent[v] = true
	}
}

// see records values that have left the channel.
func (w *agedWalk) see(vs ...int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, v := range vs {
		w.seen[v]++
	}
}

func (w *agedWalk) onDrop(v int) {
	w.see(v)
	switch chance := w.below(4); {
	case w.hook == 1:
		time.Sleep(time.Duration(w.below(20)) * time.Millisecond)
	case w.hook == 2 && chance == 0:
		panic(v)
	case w.hook == 2 && chance == 1:
		runtime.Goexit()
	case w.hook == 3 && chance == 0:
		w.trySend()
	}
}

func (w *agedWalk) trySend() {
	vs := w.values(1)
	if w.c.TrySend(vs[0]) == nil {
		w.send(vs, 1)
	}
}

// choose is a Select that may receive from the channel, send to it, or both.
func (w *agedWalk) choose(ctx context.Context, receives, sends bool) {
	vs := w.values(1)
	recv, send := sluice.OnRecv(w.c), sluice.OnSend(w.c, vs[0])
	cases := []sluice.Case{sluice.OnSend(w.side, 1)}
	if receives {
		cases = append(cases, recv)
	}
	if sends {
		cases = append(cases, send)
	}
	switch chosen, err := sluice.Select(ctx, cases...); {
	case err != nil:
	case chosen == recv:
		w.see(recv.Value)
	case chosen == send:
		w.send(vs, 1)
	}
}

// call makes one call.
func (w *agedWalk) call(ctx context.Context, kind, n int) {
	switch kind {
	case 0:
		if vs := w.values(1); w.c.Send(ctx, vs[0]) == nil {
			w.send(vs, 1)
		}
	case 1:
		vs := w.values(n)
		sent, _ := w.c.SendBatch(ctx, vs)
		w.send(vs, sent)
	case 2:
		w.trySend()
	case 3:
		w.choose(ctx, false, true)
	case 4:
		w.choose(ctx, true, true)
	case 5:
		w.choose(ctx, true, false)
	case 6:
		if v, err := w.c.Recv(ctx); err == nil {
			w.see(v)
		}
	case 7:
		buf := make([]int, n)
		n, _ := w.c.RecvBatch(ctx, buf)
		w.see(buf[:n]...)
	}
}

func (w *agedWalk) run(t *testing.T) {
	var group sync.WaitGroup
	kinds := []int{8, 8, 4}[w.below(3)] // with 4, nothing is received
	for range 30 {
		kind, n, delay, timeout := w.below(kinds), 1+w.below(6), time.Duration(w.below(6))*walkAge/5, time.Hour
		switch w.below(8) {
		case 0:
			timeout = time.Duration(w.below(120)) * time.Millisecond
		case 1:
			timeout = walkAge + 1 // when values become too old
		}
		group.Go(func() {
			defer func() { _ = recover() }()
			time.Sleep(delay)
			ctx, cancel := context.WithTimeout(context.Background(), timeout)
			defer cancel()
			w.call(ctx, kind, n)
		})
	}
	if w.below(3) == 0 {
		time.AfterFunc(time.Duration(w.below(300))*time.Millisecond, w.c.Close)
	}
	for range 200 {
		time.Sleep(7*time.Millisecond + time.Duration(w.below(3)))
		w.look(t)
	}
	time.Sleep(time.Minute)
	w.look(t)
	w.c.Close()
	group.Wait()
	w.hook = 0
	for v := range w.c.Drain() {
		w.see(v)
	}
	for v := range w.sent {
		if w.seen[v] == 0 {
			t.Errorf("value %d was lost", v)
		}
	}
	for v, n := range w.seen {
		if n > 1 {
			t.Errorf("value %d was seen %d times", v, n)
		}
	}
	if s := w.c.Stats(); s.Sent != s.Received+s.TooOld {
		t.Errorf("%+v", s)
	}
}

// look fails if a goroutine waits beside what it waits for.
func (w *agedWalk) look(t *testing.T) {
	synctest.Wait()
	s := w.c.Stats()
	if s.ReceiversWaiting > 0 && s.Len > 0 && s.OldestValue <= walkAge {
		t.Fatalf("a receiver waits beside a value: %+v", s)
	}
	if s.SendersWaiting > 0 && (s.Len < s.Cap || s.OldestValue > walkAge+1 || s.Closed) {
		t.Fatalf("a sender waits: %+v", s)
	}
}
