package profile

import (
	"bytes"
	"errors"
	"runtime"
	"runtime/pprof"
	"runtime/trace"
	"strings"
	"sync"
	"testing"
	"time"

	exp "golang.org/x/exp/trace"
)

// exchanges is the number of values in an exchange.
const exchanges = 500

//go:noinline
func give(c chan<- int) {
	for i := range exchanges {
		c <- i
	}
}

//go:noinline
func take(c <-chan int) {
	for range exchanges {
		<-c
	}
}

// exchange passes values without a buffer. For each, exactly one side comes
// first, parks, and is woken by the other.
func exchange() {
	c := make(chan int)
	var both sync.WaitGroup
	both.Go(func() { give(c) })
	both.Go(func() { take(c) })
	both.Wait()
}

// traced returns the trace of an exchange.
func tracedExchange(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := trace.Start(&b); err != nil {
		t.Fatal(err)
	}
	exchange()
	trace.Stop()
	return b.Bytes()
}

const here = "github.com/sluice-go/sluice/cmd/sluice/internal/profile."

func TestTrace(t *testing.T) {
	tr, procs, err := readTrace(bytes.NewReader(tracedExchange(t)), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if procs != runtime.GOMAXPROCS(0) || tr.Truncated || tr.Window <= 0 || tr.Running <= 0 {
		t.Errorf("GOMAXPROCS %d, %+v", procs, tr)
	}
	var parks, wakes int64
	for _, s := range tr.Sites {
		if s.At.Function == here+"give" && s.Op == Send || s.At.Function == here+"take" && s.Op == Receive {
			parks += s.Parks
			if s.Still != 0 || s.Waited <= 0 && s.Parks > 0 {
				t.Errorf("%+v", s)
			}
		}
	}
	for _, p := range tr.Pairs {
		give, take := p.Waker, p.Sleeper
		if take.Op.Sends() {
			give, take = take, give
		}
		if give.Op == Send && give.At.Function == here+"give" && take.Op == Receive && take.At.Function == here+"take" {
			wakes += p.Count
		}
	}
	if parks != exchanges || wakes != exchanges {
		t.Errorf("%d parks and %d wake-ups between the two, want %d", parks, wakes, exchanges)
	}
	if tr.Wakeups < wakes {
		t.Errorf("%d wake-ups in total, %d of the two", tr.Wakeups, wakes)
	}
	var roots []string
	for _, s := range tr.Stages {
		roots = append(roots, s.Root)
	}
	if all := strings.Join(roots, " "); !strings.Contains(all, "WaitGroup") && !strings.Contains(all, "exchange.func1") {
		t.Errorf("stages %q", roots)
	}
}

// A goroutine that waits for the garbage collector in a send does not wait for
// a receiver.
func TestParkedForTheCollector(t *testing.T) {
	events, err := exp.NewReader(bytes.NewReader(tracedExchange(t)))
	if err != nil {
		t.Fatal(err)
	}
	tally, seen := traceTally{stacks: map[exp.Stack]placed{}}, 0
	for {
		event, err := events.ReadEvent()
		if err != nil {
			break
		}
		if event.Kind() != exp.EventStateTransition {
			continue
		}
		change := event.StateTransition()
		if change.Reason != "chan send" {
			continue
		}
		for reason, want := range map[string]Op{change.Reason: Send, "GC mark assist wait for work": Other} {
			change.Reason = reason
			if site := tally.waiting(change); site.Op != want || site.At.Function != here+"give" {
				t.Errorf("%s: %+v", reason, site)
			}
		}
		seen++
	}
	if seen == 0 {
		t.Error("no goroutine parked in a send")
	}
}

// The part before the cut is read; a file without any is an error.
func TestTruncatedTrace(t *testing.T) {
	whole := tracedExchange(t)
	for cut := len(whole) - 1; cut > 0; cut -= len(whole)/97 + 1 {
		tr, _, err := readTrace(bytes.NewReader(whole[:cut]), time.Time{})
		if err == nil && !tr.Truncated && tr.Wakeups < exchanges {
			t.Errorf("cut to %d of %d bytes: %d wake-ups, not reported as truncated", cut, len(whole), tr.Wakeups)
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("cut to %d: %q", cut, err)
		}
	}
	tr, _, err := readTrace(bytes.NewReader(append(bytes.Clone(whole), noise(100)...)), time.Time{})
	if err != nil || !tr.Truncated || tr.Wakeups < exchanges {
		t.Errorf("broken after the first second: %+v, %v", tr, err)
	}
	if _, _, err := readTrace(bytes.NewReader(whole[:len(whole)/1000+16]), time.Time{}); err == nil {
		t.Error("a header was accepted as a trace")
	}
}

// noise is random bytes, always the same.
func noise(n int) []byte {
	b, x := make([]byte, n), uint32(1)
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	return b
}

func TestDamagedTrace(t *testing.T) {
	whole := tracedExchange(t)
	for i, b := range noise(200) {
		damaged := bytes.Clone(whole)
		damaged[16+(i*len(whole)/200+int(b))%(len(whole)-16)] ^= b | 1
		_, _, err := readTrace(bytes.NewReader(damaged), time.Time{})
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("more than one line: %q", err)
		}
	}
	for _, version := range []string{"go 1.99 trace\x00\x00\x00", "go 1.26 trace\x00\x00\x00"} {
		if _, _, err := readTrace(strings.NewReader(version+string(noise(1000))), time.Time{}); err == nil {
			t.Errorf("noise after %q was accepted as a trace", version)
		}
	}
}

// The block profile of an exchange counts the same waits, and the goroutine
// profile has the parked goroutines.
func TestRealProfiles(t *testing.T) {
	runtime.SetBlockProfileRate(1)
	defer runtime.SetBlockProfileRate(0)
	before := realProfile(t, "block")
	exchange()
	after := realProfile(t, "block")
	var both parts
	if err := errors.Join(both.read("block-before", bytes.NewReader(before)), both.read("block", bytes.NewReader(after))); err != nil {
		t.Fatal(err)
	}
	c, err := both.capture()
	if err != nil {
		t.Fatal(err)
	}
	var waits int64
	for _, s := range c.Block.Sites {
		if s.At.Function == here+"give" && s.Op == Send || s.At.Function == here+"take" && s.Op == Receive {
			waits += s.Count
		}
	}
	if waits != exchanges {
		t.Errorf("%d waits in %+v, want %d", waits, c.Block.Sites, exchanges)
	}

	full, done := make(chan int), make(chan struct{})
	var parked sync.WaitGroup
	for range 3 {
		parked.Go(func() { park(full, done) })
	}
	defer parked.Wait()
	defer close(done)
	for {
		var one parts
		if err := one.read("goroutine", bytes.NewReader(realProfile(t, "goroutine"))); err != nil {
			t.Fatal(err)
		}
		if err := one.read("text", bytes.NewReader(realText(t))); err != nil {
			t.Fatal(err)
		}
		g := one.goroutines()
		for _, s := range g.Sites {
			if s.At.Function == here+"park" && s.Op == Select && s.In == 3 && s.Waiting == 3 {
				return
			}
		}
		runtime.Gosched() // not there yet
	}
}

//go:noinline
func park(c chan<- int, done <-chan struct{}) {
	select {
	case c <- 1:
	case <-done:
	}
}

func realProfile(t testing.TB, name string) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := pprof.Lookup(name).WriteTo(&b, 0); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func realText(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&b, 2); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
