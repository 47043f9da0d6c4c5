package age

import (
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/sluice-go/sluice/internal/park"
)

// TestLog: an age lies between the observations around its value. There is an estimate if they are
// close to each other, or if the queue has turned over lately.
func TestLog(t *testing.T) {
	const s, ms, unbounded = time.Second, time.Millisecond, Unbounded
	for _, base := range []uint64{0, math.MaxUint64 - 5} {
		var l Log
		want := func(now time.Duration, head, tail uint64, want Age) {
			t.Helper()
			if got := l.Oldest(now, base+head, base+tail, 1); got != want {
				t.Errorf("base %d: at %v with values %d to %d the age is %v, want %v", base, now, head, tail-1, got, want)
			}
		}
		record := func(now time.Duration, head, tail uint64) { l.Record(now, base+head, base+tail) }
		want(s, 0, 0, Age{})                       // empty
		want(s, 0, 3, Age{0, 0, unbounded})        // never observed
		record(10*s, 0, 3)                         // 0 to 2 by 10 s
		want(17*s, 0, 5, Age{0, 7 * s, unbounded}) // no observation without value 0
		want(5*s, 0, 5, Age{0, 0, unbounded})      // now was read before the observation was made
		record(20*s, 3, 13)                        // 3 to 12 from 10 s to 20 s, one per second
		want(30*s, 3, 13, Age{19500 * ms, 10 * s, 20 * s})
		want(21*s, 11, 13, Age{2200 * ms, s, 11 * s}) // turned over: of ten in eleven seconds, two are queued
		want(21*s, 5, 13, Age{0, s, 11 * s})          // not turned over, and the bounds are far apart
		want(23*s, 11, 13, Age{4500 * ms, 3 * s, 13 * s})
		record(130*s, 13, 13)
		record(140*s, 13, 13)
		want(141*s, 13, 15, Age{0, 0, s}) // arrived in an empty queue
		record(150*s, 13, 13)
		if len(l.marks) != 2 {
			t.Errorf("base %d: %d observations of an empty queue, want 2", base, len(l.marks))
		}
		for at := range time.Duration(3) {
			record((160+10*at)*s, 13, 14) // the last observation without the value counts, and the first one with it
			want(190*s, 13, 14, Age{35 * s, 30 * s, 40 * s})
		}
		if l.Lacks(base+13+Every, 1) || !l.Lacks(base+14+Every, 1) || l.Lacks(base+14+Every, 2) {
			t.Errorf("base %d: Lacks does not follow the last observation", base)
		}
		if l.Due(base+15, base+14+Every-1, 1) || !l.Due(base+15, base+14+Every, 1) || l.Due(base+15+Every-minLength, base+14+Every, 1) {
			t.Errorf("base %d: Due does not follow the last observation and the length", base)
		}
	}
	if word := unsafe.Sizeof(Log{}); word != unsafe.Sizeof(uintptr(0)) {
		t.Errorf("a Log takes %d bytes", word)
	}
}

// TestLately: a rate of long ago is not the current one.
func TestLately(t *testing.T) {
	for _, test := range []struct {
		over time.Duration
		want Age
	}{
		{lately, Age{lately / 10, 0, lately}},
		{lately + 1, Age{0, 0, lately + 1}},
	} {
		var l Log
		l.Record(0, 0, 0)
		if got := l.Oldest(test.over, 1800, 2000, 2); got != test.want {
			t.Errorf("200 of 2000 values in %v: %v, want %v", test.over, got, test.want)
		}
	}
}

// TestInspect: an inspection adds an observation, after it has determined the age. A queue that
// was not inspected has no list of observations.
func TestInspect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Log
		if l.Truncate(0); l.Oldest(park.Now(), 3, 4, 1) != (Age{0, 0, Unbounded}) || l.observations != nil {
			t.Error("the queue has an age, or a list of observations")
		}
		if age := l.Inspect(park.Now(), 3, 3, 1); age != (Age{}) {
			t.Errorf("the age of an empty queue is %v", age)
		}
		time.Sleep(time.Minute)
		for range 2 {
			if age := l.Inspect(park.Now(), 4, 7, 1); age != (Age{0, 0, time.Minute}) && age != (Age{}) {
				t.Errorf("the age is %v, of values that were sent in the last minute", age)
			}
		}
		time.Sleep(time.Minute)
		if now := l.Observe(5, 9); now != park.Now() || l.Oldest(now, 5, 9, 1) != (Age{82500 * time.Millisecond, time.Minute, 2 * time.Minute}) {
			t.Errorf("value 5 is %v old", l.Oldest(now, 5, 9, 1))
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
				if got := l.Oldest(10, base+head, base+9, 1).AtLeast; got != want {
					t.Errorf("base %d, truncated at %d: the age of value %d is at least %d, want %d", base, tail, head, got, want)
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

// paces are the times between two sends.
var paces = map[string]func(i int) time.Duration{
	"steady":          func(int) time.Duration { return time.Second },
	"at random":       func(int) time.Duration { return time.Duration(rand.ExpFloat64() * float64(time.Second)) },
	"slower":          func(i int) time.Duration { return time.Duration(i) * time.Millisecond },
	"faster":          func(i int) time.Duration { return time.Duration(5000-i) * time.Millisecond },
	"in bursts":       func(i int) time.Duration { return time.Duration(i%100/99) * time.Minute },
	"with one lull":   func(i int) time.Duration { return time.Duration(1+i%5000/4999*1000) * time.Second },
	"with two speeds": func(i int) time.Duration { return time.Second << (i / 1000 % 2 * 5) },
}

// TestBounds: the bounds hold, and are as close to each other as documented, for a queue that grows
// and is then drained, whatever the pace of its senders and of the observations. What is shown without
// a sign is right to a fifth.
func TestBounds(t *testing.T) {
	for name, pace := range paces {
		for _, every := range []int{1, 7, 100} { // values to one observation
			var l Log
			var sent []time.Duration
			now, head, lull := time.Duration(1), 0, time.Duration(0)
			l.Record(now, 0, 0)
			check := func() {
				if head == len(sent) {
					return
				}
				got, age := l.Oldest(now, uint64(head), uint64(len(sent)), 1), now-sent[head]
				if age < got.AtLeast || age > got.AtMost || got.Estimate != 0 && (got.Estimate < got.AtLeast || got.Estimate > got.AtMost) {
					t.Fatalf("%s, %d: value %d of %d is %v old, not %v", name, every, head, len(sent), age, got)
				}
				if width := got.AtMost - got.AtLeast; width > max(time.Duration(2*every)*lull, now/6) {
					t.Fatalf("%s, %d: value %d of %d is %v old, the bounds are %v apart", name, every, head, len(sent), age, width)
				}
				if sign, _ := got.Shown(); got.Estimate > 0 && sign == "" && off(got.Estimate, age) > 0.2 {
					t.Fatalf("%s, %d: value %d of %d is %v old, not %v", name, every, head, len(sent), age, got.Estimate)
				}
			}
			for i := range 5000 {
				pause := pace(i)
				lull = max(lull, pause)
				now += pause
				sent = append(sent, now)
				if i%every == 0 {
					l.Record(now, uint64(head), uint64(len(sent)))
				}
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
}

func off(got, want time.Duration) float64 {
	return math.Abs(float64(got-want)) / float64(want)
}

// TestTurnover: in a full queue that is inspected now and then, Little's law is right from the second
// inspection on, whether its length is more or less than what it turns over between two
// inspections, and however many inspections there are.
func TestTurnover(t *testing.T) {
	for _, length := range []int{1, 2, 8, 64, 500} {
		for name, looks := range map[string]func(i int) bool{
			"at each value":   func(int) bool { return true },
			"at every tenth":  func(i int) bool { return i%10 == 0 },
			"twice in 100":    func(i int) bool { return i%100 < 2 },
			"once in 1,000":   func(i int) bool { return i%1000 == 0 },
			"once in a while": func(i int) bool { return i%997 < i%13 },
		} {
			var l Log
			l.Record(0, 0, 0)
			seen := 0
			for i := range 20_000 {
				now, head, tail := time.Duration(i)*time.Millisecond, uint64(max(0, i-length)), uint64(i)
				if !looks(i) {
					continue
				}
				got := l.Oldest(now, head, tail, 1)
				if l.Record(now, head, tail); i < 2*length {
					continue
				}
				want := time.Duration(length) * time.Millisecond
				if seen++; seen > 1 && (got.Estimate < want-time.Millisecond || got.Estimate > want+time.Millisecond) {
					t.Fatalf("%d values, observed %s: at value %d the age is %v, want %v", length, name, i, got, want)
				}
			}
		}
	}
}

// TestOlder: the age of the older one of two values, one of which may be unknown.
func TestOlder(t *testing.T) {
	for _, test := range []struct{ a, b, want Age }{
		{Age{}, Age{}, Age{}},
		{Age{}, Age{3, 2, 4}, Age{3, 2, 4}},
		{Age{Estimate: 7}, Age{}, Age{7, 7, 7}}, // exact
		{Age{Estimate: 7}, Age{3, 2, 4}, Age{7, 7, 7}},
		{Age{Estimate: 7}, Age{3, 2, 9}, Age{7, 7, 9}},
		{Age{3, 2, 4}, Age{4, 1, 5}, Age{4, 2, 5}},
		{Age{7, 6, 8}, Age{0, 0, 7}, Age{7, 6, 8}}, // unknown, but the younger one
		{Age{7, 6, 8}, Age{0, 0, 9}, Age{0, 6, 9}},
		{Age{7, 6, 8}, Age{0, 10, Unbounded}, Age{0, 10, Unbounded}},
		{Age{0, 0, 7}, Age{0, 3, 9}, Age{0, 3, 9}},
	} {
		for _, got := range []Age{test.a.Older(test.b), test.b.Older(test.a)} {
			if got != test.want {
				t.Errorf("the older one of %v and %v is %v, want %v", test.a, test.b, got, test.want)
			}
		}
	}
}

// TestShown: a bound and an estimate never look like a figure.
func TestShown(t *testing.T) {
	for _, test := range []struct {
		age    Age
		sign   string
		figure time.Duration
	}{
		{Age{}, "", 0},
		{Age{Estimate: 5}, "", 5},
		{Age{100, 84, 119}, "", 100},
		{Age{100, 80, 101}, "≈", 100},
		{Age{100, 100, 121}, "≈", 100},
		{Age{0, 3, Unbounded}, "≥", 3},
		{Age{0, 3, 9}, "≥", 3},
		{Age{0, 0, 9}, "<", 9},
		{Age{0, 0, Unbounded}, "unknown", 0},
	} {
		if sign, figure := test.age.Shown(); sign != test.sign || figure != test.figure {
			t.Errorf("%v is shown as %s%v, want %s%v", test.age, sign, figure, test.sign, test.figure)
		}
	}
}
