package age

import (
	"math"
	"testing"
	"time"
	"unsafe"
)

func TestLog(t *testing.T) {
	for _, base := range []uint64{0, math.MaxUint64 - 5} {
		var l Log
		want := func(now time.Duration, head, tail uint64, want time.Duration) {
			t.Helper()
			if got := l.Oldest(now, base+head, base+tail); got != want {
				t.Errorf("base %d: at %d with values %d to %d the age is %d, want %d", base, now, head, tail-1, got, want)
			}
		}
		record := func(now time.Duration, head, tail uint64) { l.Record(now, base+head, base+tail) }
		want(1, 0, 0, 0) // empty
		want(1, 0, 3, 0) // unknown
		record(10, 0, 3)
		want(10, 0, 3, 0)
		want(17, 0, 5, 7)
		record(20, 0, 3) // no new value
		want(25, 0, 3, 15)
		record(30, 0, 10)
		want(40, 2, 10, 30) // value 2 was sent at 10 or before
		want(40, 3, 10, 10) // value 3 at 30 or before
		want(40, 10, 12, 0) // after the last observation
		want(40, 10, 10, 0) // empty
		want(5, 2, 10, 0)   // now was read before the observation was made
		if l.Lacks(base+12, 3) || !l.Lacks(base+13, 3) {
			t.Errorf("base %d: Lacks does not follow the last observation", base)
		}
		record(50, 10, 10)
		if l.n != 0 {
			t.Errorf("base %d: %d observations of an empty queue", base, l.n)
		}
	}
	if size := unsafe.Sizeof(Log{}); size > 512 {
		t.Errorf("a Log takes %d bytes", size)
	}
}

// TestTruncate: values that were removed at the end leave no observation of later ones with
// the same indices.
func TestTruncate(t *testing.T) {
	for _, base := range []uint64{0, math.MaxUint64 - 5} {
		for tail := range uint64(9) {
			var l Log
			for i := range uint64(3) { // values 0 to 2 at 1, 3 to 5 at 2, 6 to 8 at 3
				l.Record(time.Duration(i+1), base, base+3*(i+1))
			}
			l.Truncate(base + tail)
			if l.last != base+tail {
				t.Errorf("base %d, truncated at %d: the last observation is of %d", base, tail, l.last-base)
			}
			for head := range uint64(9) {
				want := time.Duration(0)
				if head < tail {
					want = time.Duration(10 - 1 - head/3)
				}
				if got := l.Oldest(10, base+head, base+9); got != want {
					t.Errorf("base %d, truncated at %d: the age of value %d is %d, want %d", base, tail, head, got, want)
				}
			}
		}
	}
}

// TestLacks: a queue that is filled and drained again and again asks for no more
// observations than one that only grows.
func TestLacks(t *testing.T) {
	const every, values = 256, 1 << 16
	for _, length := range []uint64{64, 128, 512, values} {
		var l Log
		observations := 0
		for tail := uint64(64); tail <= values; tail += 64 {
			if l.Lacks(tail, every) {
				l.Record(time.Duration(tail), (tail-1)/length*length, tail)
				observations++
			}
		}
		if observations < values/every-1 || observations > values/every+1 {
			t.Errorf("drained at a length of %d: %d observations of %d values, want one per %d", length, observations, values, every)
		}
	}
}

// TestError: the estimate is a lower bound, and its error is within the documented
// one, for a queue that grows and is then drained, whatever the pace of its senders
// and of the observations.
func TestError(t *testing.T) {
	for name, pace := range map[string]func(i int) time.Duration{
		"steady":          func(int) time.Duration { return time.Second },
		"slower":          func(i int) time.Duration { return time.Duration(i) * time.Millisecond },
		"faster":          func(i int) time.Duration { return time.Duration(5000-i) * time.Millisecond },
		"in bursts":       func(i int) time.Duration { return time.Duration(i%100/99) * time.Minute },
		"with one lull":   func(i int) time.Duration { return time.Duration(1+i%5000/4999*1000) * time.Second },
		"with two speeds": func(i int) time.Duration { return time.Second << (i / 1000 % 2 * 5) },
	} {
		var l Log
		var sent []time.Duration
		now, head, lull := time.Duration(1), 0, time.Duration(0)
		check := func() {
			if head == len(sent) {
				return
			}
			got, age := l.Oldest(now, uint64(head), uint64(len(sent))), now-sent[head]
			if limit := max(lull, now/8); got > age || got < age-limit {
				t.Fatalf("%s: value %d of %d is %v old, the estimate is %v", name, head, len(sent), age, got)
			}
		}
		for i := range 5000 {
			lull = max(lull, pace(i))
			now += pace(i)
			sent = append(sent, now)
			l.Record(now, uint64(head), uint64(len(sent)))
			if check(); i%3 == 0 {
				head++
				check()
			}
		}
		for ; head < len(sent); head++ {
			check()
		}
	}
}
