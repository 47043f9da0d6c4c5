package contender

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// combinations returns every remedy alone, and every pair.
func combinations() []Remedy {
	var all []Remedy
	for _, channels := range []int{0, 3} {
		for _, slice := range []int{0, 10} {
			for _, timeout := range []Timeout{NoTimeout, TimeAfter, ReusedTimer} {
				for _, flags := range []struct{ clock, scaled, locked bool }{
					{}, {clock: true}, {scaled: true}, {locked: true}, {true, true, true},
				} {
					all = append(all, Remedy{channels, flags.clock, flags.scaled, slice, timeout, flags.locked})
				}
			}
		}
	}
	return all
}

// Every combination delivers each value once.
func TestEveryCombinationDelivers(t *testing.T) {
	const n, senders = 1003, 4
	for _, r := range combinations() {
		t.Run(fmt.Sprintf("%+v", r), func(t *testing.T) {
			ch := r.Contender().Make(5)
			var sending, receiving sync.WaitGroup
			for i := range uint64(senders) {
				sending.Go(func() { ch.Send(i*n, (i+1)*n) })
			}
			tallies := make([]Tally, max(1, r.Channels)+1) // one channel has two receivers
			for i := range tallies {
				receiving.Go(func() { tallies[i] = ch.Recv(All) })
			}
			sending.Wait()
			ch.Close()
			receiving.Wait()
			var count, sum uint64
			for _, tally := range tallies {
				count, sum = count+tally.Count, sum+tally.Sum
			}
			const total = senders * n
			if count != total || sum != total*(total-1)/2 {
				t.Errorf("%d values of %d arrived, with the sum %d instead of %d", count, total, sum, total*(total-1)/2)
			}
		})
	}
}

// A remedy with one channel, or with one per sender, keeps a sender's order, so
// it must not be declared AnyOrder.
func TestOrderIsPromised(t *testing.T) {
	for _, tt := range []struct {
		r        Remedy
		anyOrder bool
	}{
		{Remedy{}, false},
		{Remedy{Slice: 8, Timeout: TimeAfter, Locked: true}, false},
		{Remedy{Channels: 4}, false},
		{Remedy{Channels: 4, Slice: 8}, false},
		{Remedy{Channels: 4, ByClock: true}, true},
		{Remedy{Channels: 4, Scaled: true}, true},
		{Remedy{Channels: 4, Timeout: ReusedTimer}, true},
	} {
		if got := tt.r.Contender().AnyOrder; got != tt.anyOrder {
			t.Errorf("%v: any order %v, want %v", tt.r, got, tt.anyOrder)
		}
	}
}

// queued returns the number of values in each channel.
func queued[E any](l *lines[E]) []int {
	var lengths []int
	for _, c := range l.channels {
		lengths = append(lengths, len(c))
	}
	return lengths
}

func wantQueued[E any](t *testing.T, l *lines[E], want ...int) {
	t.Helper()
	if got := queued(l); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the channels hold %v values, want %v", got, want)
	}
}

func TestEachSenderHasAChannel(t *testing.T) {
	b := newByValue(Remedy{Channels: 3}, 100).(byValue)
	for i := range uint64(4) {
		b.Send(0, 1+i)
	}
	wantQueued(t, b.lines, 1+4, 2, 3)
}

// The clock of a synctest bubble advances only while its goroutines sleep.
func TestTheClockPicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newByValue(Remedy{Channels: 3, ByClock: true}, 100).(byValue)
		for range 2 {
			time.Sleep(time.Nanosecond)
			b.Send(0, 5)
		}
		got := queued(b.lines)
		if got[0]+got[1]+got[2] != 10 || max(got[0], got[1], got[2]) != 5 {
			t.Errorf("ten values at two successive nanoseconds: the channels hold %v", got)
		}
	})
}

func TestChannelsAsNeeded(t *testing.T) {
	b := newByValue(Remedy{Channels: 3, Scaled: true}, 2).(byValue)
	o := b.outlet()
	o.own = 1
	for _, step := range []struct {
		used int64
		want []int
	}{
		{1, []int{1, 0, 0}},
		{1, []int{2, 0, 0}},
		{2, []int{2, 1, 0}}, // the first is full, so the sender uses its second channel
		{2, []int{2, 2, 0}},
	} {
		o.put(o.pick(), 7)
		if got := b.used.Load(); got != step.used {
			t.Fatalf("%d channels in use, want %d", got, step.used)
		}
		wantQueued(t, b.lines, step.want...)
	}
	for range 5 {
		o.grow()
	}
	if got := b.used.Load(); got != 3 {
		t.Errorf("%d channels in use of 3", got)
	}
}

// A send tries the next channel after its timeout, and not before.
func TestATimeoutTriesTheNextChannel(t *testing.T) {
	for _, timeout := range []Timeout{TimeAfter, ReusedTimer} {
		synctest.Test(t, func(t *testing.T) {
			b := newByValue(Remedy{Channels: 3, Timeout: timeout}, 1).(byValue)
			for i, waits := range []time.Duration{0, 1, 2} {
				began := time.Now()
				o := b.outlet()
				o.own = 0
				o.put(0, uint64(i))
				if took := time.Since(began); took != waits*SendTimeout {
					t.Errorf("timeout %d: send %d took %v, want %v", timeout, i, took, waits*SendTimeout)
				}
			}
			wantQueued(t, b.lines, 1, 1, 1)
		})
	}
}

func TestSlices(t *testing.T) {
	b := newBySlice(Remedy{Channels: 1, Slice: 4}, 10).(bySlice)
	if got := cap(b.channels[0]); got != 3 {
		t.Errorf("%d slots for 10 values in slices of 4, want 3", got)
	}
	b.Send(0, 3)
	wantQueued(t, b.lines, 0)
	b.Send(3, 10)
	wantQueued(t, b.lines, 2)
	b.Close()
	var sizes []int
	for values := range b.channels[0] {
		sizes = append(sizes, len(values))
	}
	if fmt.Sprint(sizes) != "[4 4 2]" {
		t.Errorf("slices of %v values, want two of 4 and the rest", sizes)
	}
}

func TestLockedLoops(t *testing.T) {
	pinned := func() bool {
		stack := make([]byte, 1<<10)
		header, _, _ := strings.Cut(string(stack[:runtime.Stack(stack, false)]), "\n")
		return strings.Contains(header, "locked to thread")
	}
	for _, locked := range []bool{false, true} {
		end := newLines[uint64](Remedy{Channels: 1, Locked: locked}, 1).begin()
		if pinned() != locked {
			t.Errorf("Locked is %v, but the goroutine is locked to its thread: %v", locked, pinned())
		}
		end()
		if pinned() {
			t.Error("the goroutine is still locked to its thread at the end")
		}
	}
}

// Several channels with fewer receivers would block forever.
func TestEachChannelNeedsAReceiver(t *testing.T) {
	c := Remedy{Channels: 4}.Contender()
	if c.Can(1, 4, 3) || !c.Can(1, 4, 4) || !c.Can(0, 1, 5) {
		t.Error("four channels need exactly four receivers")
	}
	if !(Remedy{Slice: 8}).Contender().Can(128, 8, 1) {
		t.Error("one receiver suffices for one channel")
	}
}
