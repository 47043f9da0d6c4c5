package age

import (
	"math"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/sluice-go/sluice/internal/park"
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
		if l.Lacks(base+9+Every, 1) || !l.Lacks(base+10+Every, 1) || l.Lacks(base+10+Every, 2) {
			t.Errorf("base %d: Lacks does not follow the last observation", base)
		}
		if l.Due(base+11, base+10+Every-1, 1) || !l.Due(base+11, base+10+Every, 1) || l.Due(base+11+Every-minLength, base+10+Every, 1) {
			t.Errorf("base %d: Due does not follow the last observation and the length", base)
		}
		record(50, 10, 10)
		if l.n != 0 {
			t.Errorf("base %d: %d observations of an empty queue", base, l.n)
		}
	}
	if word, size := unsafe.Sizeof(Log{}), unsafe.Sizeof(observations{}); word != unsafe.Sizeof(uintptr(0)) || size > 512 {
		t.Errorf("a Log takes %d bytes, and %d once it has observations", word, size)
	}
}

// TestInspect: an inspection adds an observation, after it has estimated the age, unless the queue
// is empty. A queue that nobody has observed has no list of observations.
func TestInspect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Log
		l.Truncate(0)
		if l.Inspect(park.Now(), 3, 3) != 0 || l.Oldest(park.Now(), 3, 4) != 0 || l.observations != nil {
			t.Error("the empty queue has a value, or a list of observations")
		}
		if age := l.Inspect(park.Now(), 3, 5); age != 0 {
			t.Errorf("the age is %v before the first observation", age)
		}
		time.Sleep(time.Minute)
		for range 2 {
			if age := l.Inspect(park.Now(), 4, 7); age != time.Minute {
				t.Errorf("value 4 is %v old, was observed a minute ago", age)
			}
		}
		time.Sleep(time.Minute)
		if now := l.Observe(5, 9); now != park.Now() || l.Oldest(now, 5, 9) != time.Minute || l.Oldest(now, 7, 9) != 0 {
			t.Errorf("values 5 and 7 are %v and %v old, want 1m and 0", l.Oldest(now, 5, 9), l.Oldest(now, 7, 9))
		}
	})
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
	const values = 1 << 16
	for _, length := range []uint64{64, 128, 512, values} {
		var l Log
		observations := 0
		for tail := uint64(64); tail <= values; tail += 64 {
			if l.Lacks(tail, 1) {
				l.Record(time.Duration(tail), (tail-1)/length*length, tail)
				observations++
			}
		}
		if observations < values/Every-1 || observations > values/Every+1 {
			t.Errorf("drained at a length of %d: %d observations of %d values, want one per %d", length, observations, values, Every)
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
