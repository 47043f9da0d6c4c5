package paced

import (
	"context"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/bench/contender"
)

// load returns a short load.
func load(senders, receivers int) Load {
	return Load{Rate: 100_000, Senders: senders, Receivers: receivers, Values: 1000, Seed: 1}
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		rate  float64
		group int
	}{{1, 1}, {20_000, 1}, {20_001, 2}, {100_000, 5}, {1_000_000, 50}} {
		if l := (Load{Rate: c.rate}); l.group() != c.group {
			t.Errorf("rate %v: groups of %d (want %d)", c.rate, l.group(), c.group)
		}
	}
	for _, wrong := range []Load{
		{},
		{Rate: math.NaN(), Senders: 1, Receivers: 1, Values: 1},
		{Rate: 1, Senders: 0, Receivers: 1, Values: 1},
		{Rate: 1, Senders: 1, Receivers: 0, Values: 1},
		{Rate: 1, Senders: 2, Receivers: 1, Values: 1},
	} {
		if err := wrong.check(); err == nil || !strings.Contains(err.Error(), "want") {
			t.Errorf("%+v: %v", wrong, err)
		}
		if _, err := wrong.Run(contender.Native(), 1); err == nil {
			t.Errorf("Run accepts %+v", wrong)
		}
		if _, err := wrong.Without(); err == nil {
			t.Errorf("Without accepts %+v", wrong)
		}
	}
}

// The schedules are the same each time, in order, complete, and of the right rate.
func TestSchedule(t *testing.T) {
	l := Load{Rate: 140_000, Senders: 3, Receivers: 1, Values: 70_000, Seed: 5} // in groups of 7
	values := 0
	for i := range l.Senders {
		s, again := l.schedule(i), l.schedule(i)
		last, mine := time.Duration(0), 0
		for {
			at, size := s.take()
			if sameAt, same := again.take(); sameAt != at || same != size {
				t.Fatalf("sender %d: %v, %d and then %v, %d", i, at, size, sameAt, same)
			}
			if size == 0 {
				break
			}
			if at < last || size > l.group() || size < l.group() && s.left > 0 {
				t.Fatalf("sender %d: group of %d at %v after %v", i, size, at, last)
			}
			last = at
			mine += size
		}
		if rate := float64(mine) / last.Seconds() * 3; math.Abs(rate/l.Rate-1) > 0.1 {
			t.Errorf("sender %d: a rate of %v, want %v", i, rate, l.Rate)
		}
		values += mine
	}
	if values != l.Values {
		t.Errorf("%d values, want %d", values, l.Values)
	}
	other := l
	other.Seed++
	a, _ := l.schedule(0).take()
	b, _ := other.schedule(0).take()
	c, _ := l.schedule(1).take()
	if a == b || a == c {
		t.Errorf("another seed begins at %v, another sender at %v: both like the first, %v", b, c, a)
	}
}

func TestStamp(t *testing.T) {
	for _, c := range []struct{ sent, lag, want time.Duration }{
		{0, 0, 0},
		{12345, 0, 0},
		{time.Second, 999, 992},
		{60 * time.Second, 4 * time.Second, 4 * time.Second},
		{60 * time.Second, 59 * time.Second, maxLag},
		{5, -3, 0},
	} {
		sent, intended := times(stamp(c.sent, c.sent-c.lag))
		if sent != c.sent || sent-intended != c.want {
			t.Errorf("sent at %v, %v late: got %v, %v late", c.sent, c.lag, sent, sent-intended)
		}
	}
}

// All kinds carry all values, with either kind of arrivals.
func TestRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	plain := context.Background()
	all := []contender.Contender{
		contender.Native(), contender.NativeSelect(ctx), contender.Rendezvous(ctx, nil), contender.Bounded(plain, nil),
		contender.Elastic(plain, nil), contender.Sharded(ctx), contender.Pipe(nil),
	}
	for _, c := range all {
		capacity := 128
		if c.Bound == contender.UnbufferedOnly {
			capacity = 0
		}
		for _, l := range []Load{load(1, 1), load(8, 1), load(1, 8), load(8, 8)} {
			for _, l.sleep = range []bool{false, true} {
				r, err := l.Run(c, capacity)
				if err != nil {
					t.Fatalf("%s: %s: %v", c.Name, l.Shape(), err)
				}
				if r.Values != 1000 || len(r.FromSend) != 1000 || len(r.FromIntended) != 1000 {
					t.Errorf("%s: %s: %d values, %d and %d delays", c.Name, l.Shape(), r.Values, len(r.FromSend), len(r.FromIntended))
				}
				if r.FromIntended.Quantile(1) < r.FromSend.Quantile(0) {
					t.Errorf("%s: %s: the longest delay from the intended time is shorter than the shortest from Send", c.Name, l.Shape())
				}
			}
		}
	}
	for _, l := range []Load{load(1, 1), load(8, 1)} {
		if r, err := l.Without(); err != nil || r.Values != 1000 || len(r.FromSend) != 1000 {
			t.Errorf("without a channel: %+v, %v", r, err)
		}
	}
}

// No sender sends before the intended time, whichever timer wakes it.
func TestNothingIsEarly(t *testing.T) {
	for _, sleep := range []bool{false, true} {
		l := load(1, 1)
		l.sleep, l.Values = sleep, 100
		senders, err := l.senders()
		if err != nil {
			t.Fatal(err)
		}
		s, plan := senders[0], l.schedule(0)
		s.base = time.Now()
		var at time.Duration
		left := 0
		s.send(func(uint64) {
			if left == 0 {
				at, left = plan.take()
			}
			left--
			if now := time.Since(s.base); now < at {
				t.Errorf("sent at %v what is intended at %v", now, at)
			}
		})
		if s.err != nil || s.tally.Count != 100 || left != 0 {
			t.Errorf("sent %d of 100 values, %v", s.tally.Count, s.err)
		}
	}
}

// With a clock that stands still while goroutines run, every value is sent and received
// when it is intended.
func TestPromptChannel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := load(8, 1)
		l.sleep = true
		r, err := l.Run(contender.Native(), 128)
		if err != nil {
			t.Fatal(err)
		}
		if r.FromSend.Quantile(1) != 0 || r.FromIntended.Quantile(1) != 0 {
			t.Errorf("delays of up to %v and %v ns", r.FromSend.Quantile(1), r.FromIntended.Quantile(1))
		}
	})
}

// hasty is a timer that wakes its sender once before the time.
type hasty struct {
	sleeper
	woken, armed int
}

func (h *hasty) arm(time.Duration) error {
	h.armed++
	return nil
}

func (h *hasty) wait() error {
	if h.woken++; h.woken == 1 {
		return nil
	}
	return h.sleeper.wait()
}

// A sender that is woken too early arms its timer again, and waits again.
func TestEarlyWakeup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sender{base: time.Now()}
		h := &hasty{sleeper: sleeper{s}}
		s.timer = h
		s.sleep(time.Second, true)
		if now := time.Since(s.base); now != time.Second || h.woken != 2 || h.armed != 1 || s.err != nil {
			t.Errorf("after %v, %d wake-ups and armed %d times, %v", now, h.woken, h.armed, s.err)
		}
	})
}

// altered is a built-in channel with another Send.
type altered struct {
	contender.Channel
	send func(contender.Channel, uint64)
}

func (a altered) Send(lo, _ uint64) bool {
	a.send(a.Channel, lo)
	return true
}

// alter returns the built-in channel with another Send.
func alter(send func(contender.Channel, uint64)) contender.Contender {
	native := contender.Native()
	return contender.Contender{Name: "altered", Make: func(capacity int) contender.Channel {
		return altered{native.Make(capacity), send}
	}}
}

// A channel whose Send takes 1 ms does not slow its load: the values queue up behind it,
// and the delay from the intended time includes that.
func TestOpenLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := load(1, 1)
		l.sleep = true
		r, err := l.Run(alter(func(c contender.Channel, v uint64) {
			time.Sleep(time.Millisecond)
			c.Send(v, v+1)
		}), 128)
		if err != nil {
			t.Fatal(err)
		}
		const ms = float64(time.Millisecond)
		if least, most := r.FromSend.Quantile(0), r.FromSend.Quantile(1); least < ms || most > 1.04*ms {
			t.Errorf("from Send: %v to %v ns, want 1 ms", least, most)
		}
		// 1000 values in 10 ms, and 1 s to send them.
		if last := r.FromIntended.Quantile(1); last < 970*ms || last > 1030*ms {
			t.Errorf("the last value is %v ns late, want about 990 ms", last)
		}
	})
}

func TestLostValues(t *testing.T) {
	lossy := alter(func(c contender.Channel, v uint64) {
		if v%3 != 0 {
			c.Send(v, v+1)
		}
	})
	if _, err := load(8, 1).Run(lossy, 128); err == nil || !strings.Contains(err.Error(), "altered: received") {
		t.Errorf("lost values are not reported: %v", err)
	}
	changing := alter(func(c contender.Channel, v uint64) { c.Send(v+1, v+2) })
	if _, err := load(8, 1).Run(changing, 128); err == nil || !strings.Contains(err.Error(), "sum") {
		t.Errorf("changed values are not reported: %v", err)
	}
}

func TestRefused(t *testing.T) {
	if _, err := load(1, 1).Run(contender.NativeSlices(64), 128); err == nil || !strings.Contains(err.Error(), "cannot do 1->1") {
		t.Errorf("a channel of batches: %v", err)
	}
}

// The quantile of a share is the least delay that so many do not exceed.
func TestQuantiles(t *testing.T) {
	d := Delays{1, 2, 3, 4}
	for q, want := range map[float64]float64{0: 1, 0.25: 1, 0.26: 2, 0.5: 2, 0.99: 4, 1: 4} {
		if got := d.Quantile(q); got != want {
			t.Errorf("Quantile(%v) = %v, want %v", q, got, want)
		}
	}
	if empty := Delays(nil).Quantile(0.5); !math.IsNaN(empty) {
		t.Errorf("no delays have the median %v", empty)
	}
}
