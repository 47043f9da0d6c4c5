package sluice_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/inspect"
)

// received receives n values without waiting.
func received(t *testing.T, c sluice.Channel[int], n int) (got []int) {
	t.Helper()
	for range n {
		v, err := c.TryRecv()
		if err != nil {
			t.Fatalf("TryRecv after %v: %v", got, err)
		}
		got = append(got, v)
	}
	return got
}

// sendAll sends values that find room.
func sendAll(t *testing.T, s sluice.Sender[int], values ...int) {
	t.Helper()
	for _, v := range values {
		if err := s.TrySend(v); err != nil {
			t.Fatalf("TrySend of %d: %v", v, err)
		}
	}
}

// TestPriorityOrder: the most urgent level first, each level in the order of sending.
func TestPriorityOrder(t *testing.T) {
	p := sluice.NewPriority[int](3, 100, nil)
	sendAll(t, p.Level(2), 20, 21)
	sendAll(t, p, 22) // the last level
	sendAll(t, p.Level(1), 10, 11)
	sendAll(t, p.Level(0), 0, 1)
	for level, want := range []int{2, 2, 3} {
		if n := p.Level(level).Len(); n != want {
			t.Errorf("Len of level %d is %d, want %d", level, n, want)
		}
	}
	if p.Levels() != 3 || p.Len() != 7 || p.Cap() != 100 {
		t.Errorf("Levels %d, Len %d, Cap %d, want 3, 7, 100", p.Levels(), p.Len(), p.Cap())
	}
	if got := received(t, p, 7); !slices.Equal(got, []int{0, 1, 10, 11, 20, 21, 22}) {
		t.Errorf("received %v", got)
	}
}

// TestPriorityTurns: with a flood on level 0, the other levels have their turns, and the one
// that is passed over most often is passed over MaxPassed + levels - 2 times.
func TestPriorityTurns(t *testing.T) {
	p := sluice.NewPriority(3, 100, &sluice.PriorityOptions[int]{MaxPassed: 3})
	for level := range 3 {
		sendAll(t, p.Level(level), slices.Repeat([]int{level}, 15)...)
	}
	want := []int{0, 0, 0, 1, 2, 0, 0, 1, 2, 0, 0, 1, 2}
	if got := received(t, p, len(want)); !slices.Equal(got, want) {
		t.Errorf("received from levels %v, want %v", got, want)
	}
}

// TestPriorityDefaultMaxPassed: without the option a level is passed over 16 times.
func TestPriorityDefaultMaxPassed(t *testing.T) {
	for _, o := range []*sluice.PriorityOptions[int]{nil, {}} {
		p := sluice.NewPriority(2, 100, o)
		sendAll(t, p.Level(1), 1)
		sendAll(t, p.Level(0), make([]int, 30)...)
		if got := received(t, p, 17); slices.Index(got, 1) != 16 {
			t.Errorf("level 1 was passed over %d times, want 16", slices.Index(got, 1))
		}
	}
}

// TestPriorityStrict: with Unlimited as MaxPassed, urgent values always come first.
func TestPriorityStrict(t *testing.T) {
	p := sluice.NewPriority(2, 10, &sluice.PriorityOptions[int]{MaxPassed: sluice.Unlimited})
	sendAll(t, p.Level(1), 1)
	for range 5000 {
		sendAll(t, p.Level(0), 0)
		if v := received(t, p, 1)[0]; v != 0 {
			t.Fatal("a less urgent value came first")
		}
	}
	if v := received(t, p, 1)[0]; v != 1 {
		t.Errorf("received %d last", v)
	}
}

// TestPriorityIdleLevel: a level is not passed over while it is empty, so a value that comes
// later does not overtake urgent ones.
func TestPriorityIdleLevel(t *testing.T) {
	p := sluice.NewPriority(2, 100, &sluice.PriorityOptions[int]{MaxPassed: 2})
	sendAll(t, p.Level(0), make([]int, 20)...)
	received(t, p, 10)
	sendAll(t, p.Level(1), 1)
	if got := received(t, p, 3); !slices.Equal(got, []int{0, 0, 1}) {
		t.Errorf("received %v", got)
	}
}

func TestPriorityDropLeastUrgent(t *testing.T) {
	var dropped []int
	p := sluice.NewPriority(3, 3, &sluice.PriorityOptions[int]{
		Overflow: sluice.DropLeastUrgent, OnUndelivered: func(v int, _ sluice.Reason) { dropped = append(dropped, v) }})
	sendAll(t, p.Level(1), 10, 11)
	sendAll(t, p.Level(2), 20)
	sendAll(t, p.Level(2), 21) // is the newest of the least urgent itself
	sendAll(t, p.Level(0), 0)  // 20
	sendAll(t, p.Level(2), 22) // itself
	sendAll(t, p.Level(0), 1)  // 11
	sendAll(t, p.Level(1), 12) // itself
	if want := []int{21, 20, 22, 11, 12}; !slices.Equal(dropped, want) {
		t.Errorf("dropped %v, want %v", dropped, want)
	}
	s := p.Stats()
	if s.Dropped != 5 || s.Sent != 8 || s.Len != 3 {
		t.Errorf("Dropped %d, Sent %d, Len %d, want 5, 8, 3", s.Dropped, s.Sent, s.Len)
	}
	if n, err := p.Level(0).SendBatch(context.Background(), []int{2, 3}); n != 2 || err != nil {
		t.Errorf("SendBatch: %d, %v", n, err)
	}
	if got := received(t, p, 3); !slices.Equal(got, []int{0, 1, 2}) {
		t.Errorf("received %v", got)
	}
}

// TestPriorityLevelOf: the Priority asks for the level of each value, a Level does not.
func TestPriorityLevelOf(t *testing.T) {
	var p *sluice.Priority[int]
	asked := 0
	p = sluice.NewPriority(3, 100, &sluice.PriorityOptions[int]{LevelOf: func(v int) int {
		asked += 1 + p.Len() - p.Len() // it may use the channel
		return v / 10
	}})
	sendAll(t, p, 20)
	if n, err := p.SendBatch(context.Background(), []int{21, 10, 11, 0, 22}); n != 5 || err != nil {
		t.Fatalf("SendBatch: %d, %v", n, err)
	}
	if err := p.Send(context.Background(), 1); err != nil {
		t.Fatal(err)
	}
	if asked != 7 {
		t.Errorf("LevelOf was called %d times for 7 values", asked)
	}
	sendAll(t, p.Level(1), 99)
	if got := received(t, p, 8); !slices.Equal(got, []int{0, 1, 10, 11, 99, 20, 21, 22}) || asked != 7 {
		t.Errorf("received %v, LevelOf was called %d times", got, asked)
	}
	for method, send := range map[string]func(v int){
		"Send":      func(v int) { _ = p.Send(context.Background(), v) },
		"TrySend":   func(v int) { _ = p.TrySend(v) },
		"SendBatch": func(v int) { _, _ = p.SendBatch(context.Background(), []int{v}) },
	} {
		for _, v := range []int{30, -10} {
			mustPanic(t, method, []string{"LevelOf", fmt.Sprint(v / 10), "0 to 2"}, func() { send(v) })
		}
	}
	sendAll(t, p, 1) // the channel still works
}

func TestPriorityLevels(t *testing.T) {
	p := sluice.NewPriority[int](3, 1, nil)
	if first, again := p.Level(1), p.Level(1); first != again {
		t.Error("two calls of Level return two values")
	}
	for _, i := range []int{-1, 3} {
		mustPanic(t, "Level", []string{fmt.Sprint(i), "0 to 2"}, func() { p.Level(i) })
	}
	mustPanic(t, "Send", []string{"nil context"}, func() { _ = p.Level(0).Send(noContext, 1) })
	mustPanic(t, "SendBatch", []string{"nil context"}, func() { _, _ = p.Level(0).SendBatch(noContext, []int{1}) })
	if n, err := p.Level(0).SendBatch(context.Background(), nil); n != 0 || err != nil {
		t.Errorf("an empty batch: %d, %v", n, err)
	}
	var l sluice.Level[int]
	for method, call := range map[string]func(){
		"Send":      func() { _ = l.Send(context.Background(), 1) },
		"TrySend":   func() { _ = l.TrySend(1) },
		"SendBatch": func() { _, _ = l.SendBatch(context.Background(), []int{1}) },
		"Len":       func() { l.Len() },
		"Close":     func() { l.Close() },
		"OnSend":    func() { sluice.OnSend(&l, 1) },
	} {
		func() {
			defer func() {
				if message, _ := recover().(string); !strings.HasPrefix(message, "sluice: ") {
					t.Errorf("%s of a zero value: panic %q", method, message)
				}
			}()
			call()
		}()
	}
}

// TestPriorityMemory: a level keeps 1024 slots, and gives back what is more than four times
// its queue.
func TestPriorityMemory(t *testing.T) {
	p := sluice.NewPriority[uint64](2, sluice.Unlimited, nil)
	if bytes := p.Stats().Bytes; bytes != 0 {
		t.Errorf("an unused Priority has %d bytes of slots", bytes)
	}
	for range 5000 {
		_ = p.TrySend(1)
	}
	if bytes := p.Stats().Bytes; bytes != 8*8192 {
		t.Errorf("5000 values are in %d bytes, want %d", bytes, 8*8192)
	}
	buf := make([]uint64, 5000)
	if n, err := p.RecvBatch(context.Background(), buf); n != 5000 || err != nil {
		t.Fatalf("RecvBatch: %d, %v", n, err)
	}
	if bytes := p.Stats().Bytes; bytes != 8*1024 {
		t.Errorf("%d bytes are kept, want %d", bytes, 8*1024)
	}
}

// TestPriorityOldestValue: the age is that of the oldest value of any level, also when values
// were dropped from the end of a level.
func TestPriorityOldestValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := sluice.NewPriority(2, 3, &sluice.PriorityOptions[int]{Overflow: sluice.DropLeastUrgent})
		age := func(want time.Duration) {
			t.Helper()
			if got := p.Stats(); got.OldestAtLeast != want || got.OldestAtMost < want {
				t.Errorf("the age is %v to %v, want %v", got.OldestAtLeast, got.OldestAtMost, want)
			}
		}
		sendAll(t, p.Level(1), 1)
		age(0)
		time.Sleep(time.Second)
		sendAll(t, p.Level(1), 2)
		age(time.Second)
		sendAll(t, p.Level(0), 0, 1) // drops 2
		age(time.Second)
		time.Sleep(time.Second)
		received(t, p, 2)
		age(2 * time.Second)
		received(t, p, 1)
		sendAll(t, p.Level(1), 3) // at the index of 2
		age(0)
		time.Sleep(time.Second)
		age(time.Second)
	})
}

// TestPriorityInspect: the levels are in the snapshot.
func TestPriorityInspect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		name := fmt.Sprint(t.Name(), rand.Uint64()) // the channel of an earlier run may still be listed
		p := sluice.NewPriority(2, 3, &sluice.PriorityOptions[int]{Name: name})
		sendAll(t, p.Level(0), 1)
		sendAll(t, p.Level(1), 1, 1)
		go func() { _ = p.Level(1).Send(context.Background(), 1) }()
		synctest.Wait()
		p.Level(0).Close()
		time.Sleep(time.Second)
		for _, c := range inspect.Channels() {
			if c.Name != name {
				continue
			}
			in, ok := c.Snapshot()
			want := []inspect.Lane{
				{Len: 1, Cap: 3, HighWater: 1},
				{InUse: true, Len: 2, Cap: 3, HighWater: 2, Senders: 1, OldestSender: time.Second},
			}
			if !ok || c.Kind != "Priority" || !slices.Equal(in.Lanes, want) || !slices.Equal(in.Senders, []time.Duration{time.Second}) {
				t.Errorf("%s: %+v", c.Kind, in)
			}
			p.Close()
			return
		}
		t.Error("it is not listed")
	})
}
