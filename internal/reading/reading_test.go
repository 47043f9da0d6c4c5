package reading

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/inspect"
)

// A foreign channel answers after pause, and never while gate is set.
type foreign struct {
	pause time.Duration
	gate  atomic.Pointer[chan struct{}]
	calls atomic.Int64 // that have begun
	now   atomic.Int64 // that are under way
	fault string       // if not empty, Stats panics
}

func (f *foreign) Stats() sluice.Stats {
	f.now.Add(1)
	defer f.now.Add(-1)
	n := f.calls.Add(1)
	time.Sleep(f.pause)
	if gate := f.gate.Load(); gate != nil {
		<-*gate
	}
	if f.fault != "" {
		panic(f.fault)
	}
	return sluice.Stats{Sent: uint64(n)}
}

func (f *foreign) block() (unblock func()) {
	gate := make(chan struct{})
	f.gate.Store(&gate)
	return func() {
		f.gate.Store(nil)
		close(gate)
	}
}

// register lists the channels, and returns them as inspect does, with what was listed since
// before: earlier runs of a test leave channels that are not garbage yet.
func register(t *testing.T, before uint64, channels ...*foreign) []inspect.Channel {
	for i, f := range channels {
		inspect.Register(fmt.Sprint(t.Name(), i), "foreign", f)
	}
	return slices.DeleteFunc(inspect.Channels(), func(c inspect.Channel) bool { return c.ID <= before })
}

// newest returns the ID of the newest channel, or 0.
func newest() (id uint64) {
	for _, c := range inspect.Channels() {
		id = c.ID
	}
	return id
}

// read is a round, and returns what each channel has sent, or -1 if it did not answer.
func read(r *Reader, channels []inspect.Channel) (sent []int) {
	r.Begin(channels, time.Second)
	for _, c := range channels {
		stats, ok, failure := r.Stats(c)
		switch {
		case !ok:
		case failure != "":
			sent = append(sent, -1)
		default:
			sent = append(sent, int(stats.Sent))
		}
	}
	return sent
}

// TestBlocked: the other channels are read, a round waits for a call once, and a channel that
// blocks has one call until it answers.
func TestBlocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		good, bad := new(foreign), new(foreign)
		listed := register(t, newest(), good, bad)
		r := new(Reader)
		if got := read(r, listed); !slices.Equal(got, []int{1, 1}) {
			t.Fatalf("%v", got)
		}
		unblock := bad.block()
		for i := range 100 {
			begun := time.Now()
			if got := read(r, listed); !slices.Equal(got, []int{2 + i, -1}) {
				t.Fatalf("round %d: %v", i, got)
			}
			want := time.Duration(0)
			if i == 0 {
				want = time.Second
			}
			if waited := time.Since(begun); waited != want {
				t.Errorf("round %d waited %v, want %v", i, waited, want)
			}
			if n := bad.now.Load(); n != 1 {
				t.Fatalf("round %d: %d calls are under way", i, n)
			}
		}
		unblock()
		synctest.Wait()
		if got := read(r, listed); !slices.Equal(got, []int{102, 3}) {
			t.Errorf("it answers again: %v", got)
		}
		runtime.KeepAlive(good)
		runtime.KeepAlive(bad)
	})
}

// TestSlow: a round waits no longer than its slowest channel, and for all of them at once.
func TestSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all []*foreign
		for i := range 50 {
			all = append(all, &foreign{pause: time.Duration(i) * time.Millisecond})
		}
		listed := register(t, newest(), all...)
		begun := time.Now()
		if got := read(new(Reader), listed); slices.Contains(got, -1) || len(got) != 50 {
			t.Errorf("%v", got)
		}
		if waited := time.Since(begun); waited != 49*time.Millisecond {
			t.Errorf("it waited %v", waited)
		}
		runtime.KeepAlive(all)
	})
}

// TestFailures: a panic is the reason why there are no Stats, cut to its maximum length.
func TestFailures(t *testing.T) {
	f := &foreign{fault: strings.Repeat("x", 2*maxFailure)}
	listed := register(t, newest(), f)
	r := new(Reader)
	if got := read(r, listed); !slices.Equal(got, []int{-1}) {
		t.Errorf("%v", got)
	}
	if _, ok, failure := r.Stats(listed[0]); !ok || !strings.HasPrefix(failure, "Stats panicked: xxx") || len(failure) > maxFailure {
		t.Errorf("%v %q", ok, failure)
	}
	runtime.KeepAlive(f)
}

// TestKinds: a kind of the library is read in place, and garbage is not read.
func TestKinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := newest()
		c := sluice.NewBounded[int](3, &sluice.BoundedOptions[int]{Name: t.Name()})
		listed := register(t, before)
		r := new(Reader)
		r.Begin(listed, time.Hour)
		if stats, ok, failure := r.Stats(listed[0]); stats.Cap != 3 || !ok || failure != "" || len(r.open) != 0 {
			t.Errorf("%v %v %q", stats, ok, failure)
		}
		runtime.KeepAlive(c)
		if _, ok, failure := r.Stats(inspect.Channel{}); ok || failure != "" {
			t.Errorf("no channel: %v %q", ok, failure)
		}
		r.Begin(nil, time.Hour)
	})
}
