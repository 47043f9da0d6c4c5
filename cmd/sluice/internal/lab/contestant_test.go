package lab

import (
	"runtime"
	"slices"
	"testing"

	"github.com/sluice-go/sluice/bench/contender"
	"github.com/sluice-go/sluice/bench/workload"
	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
)

// A lossy channel is a built-in channel that forgets or swaps a value: the
// faults that tallies detect.
type lossy struct {
	contender.Channel
	forget, swap uint64
}

func (l lossy) Send(lo, hi uint64) bool {
	for v := lo; v < hi; v++ {
		switch v {
		case l.forget:
		case l.swap:
			l.Channel.Send(v+1, v+2)
		default:
			l.Channel.Send(v, v+1)
		}
	}
	return true
}

func faulty(forget, swap uint64) contestant {
	return contestant{"faulty", contender.Contender{
		Name: "faulty",
		Make: func(capacity int) contender.Channel {
			return lossy{contender.Native().Make(capacity), forget, swap}
		},
	}, slotEach, false}
}

func TestWrongTalliesAreErrors(t *testing.T) {
	const none, n = 1 << 40, 1000
	con := func(c contestant) measure.Entry { return c.bothAtOnce(n) }
	seq := func(c contestant) measure.Entry { entry, _ := c.fillFirst(n); return entry }
	tests := []struct {
		name  string
		enter func(contestant) measure.Entry
		fault contestant
	}{
		{"both at once, a lost value", con, faulty(7, none)},
		{"both at once, the last one lost", con, faulty(n-1, none)},
		{"both at once, a value twice", con, faulty(none, 7)},
		{"fill first, the first one lost", seq, faulty(0, none)},
		{"fill first, a value twice", seq, faulty(none, 7)},
		{"swing, a value twice", func(c contestant) measure.Entry { return c.entry(workload.Swing(swingAround, swingWidth), n) }, faulty(none, swingAround+50)},
		{"footprint, a value twice", func(c contestant) measure.Entry { return c.footprint(n, 4) }, faulty(none, 7)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := tt.enter(tt.fault).Pass(); err == nil {
				t.Error("no error")
			}
			sound := faulty(none, none)
			if _, err := tt.enter(sound).Pass(); err != nil {
				t.Errorf("without the fault: %v", err)
			}
		})
	}
}

func TestFillFirstNeedsRoom(t *testing.T) {
	for _, tt := range []struct {
		capacity int
		can      bool
	}{{0, false}, {1024, false}, {slotEach, true}, {unbounded, true}} {
		c := contestant{"native", contender.Native(), tt.capacity, false}
		entry, whyNot := c.fillFirst(2000)
		if (entry.Pass != nil) != tt.can || (whyNot == "") != tt.can {
			t.Errorf("capacity %d: entered %v, left out because %q", tt.capacity, entry.Pass != nil, whyNot)
		}
	}
}

func TestPowerOfTwo(t *testing.T) {
	var got []int
	for _, n := range []int{1, 2, 3, 1024, 1025} {
		got = append(got, powerOfTwo(n))
	}
	if want := []int{1, 2, 4, 1024, 2048}; !slices.Equal(got, want) {
		t.Errorf("powers of two %v, want %v", got, want)
	}
}

// A sweep has the study's values of GOMAXPROCS, and larger ones of the machine.
func TestDoubling(t *testing.T) {
	procs := Scale{}.doubling(4)
	if !slices.Equal(procs[:3], []int{1, 2, 4}) {
		t.Errorf("%v does not begin with the study's values", procs)
	}
	if last := procs[len(procs)-1]; last > max(4, runtime.NumCPU()) || 2*last <= runtime.NumCPU() {
		t.Errorf("%v ends too early or too late for %d CPUs", procs, runtime.NumCPU())
	}
}
