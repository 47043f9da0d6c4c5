package lab

import (
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
)

// The study's work is done by either contender at each kind of capacity, and a
// value that is missing or wrong is an error.
func TestSharingProvesItsWork(t *testing.T) {
	for _, s := range sharers {
		for _, capacity := range []int{0, 1, 25, 2 * totalRound} {
			for _, workers := range []int{1, 10} {
				if err := s.round(capacity, workers); err != nil {
					t.Errorf("capacity %d, %d workers: %v", capacity, workers, err)
				}
			}
		}
	}
	fault := func(spoil func(*total)) sharer {
		return sharer{"faulty", func(capacity int) sharing {
			c := shareNative(capacity)
			work := c.work
			c.work = func(t *total) { work(t); spoil(t) }
			return c
		}}
	}
	for name, spoil := range map[string]func(*total){
		"a value less": func(t *total) { t.count.Add(^uint32(0)) },
		"a wrong sum":  func(t *total) { t.sum.Add(1) },
	} {
		s := fault(spoil)
		if _, err := s.timed(5, 1).Pass(); err == nil || !strings.Contains(err.Error(), "faulty: received") {
			t.Errorf("%s, timed: %v", name, err)
		}
		if _, err := s.blocked(5, 1, 1).Pass(); err == nil {
			t.Errorf("%s, blocked: no error", name)
		}
	}
}

// A parked goroutine counts on its side. In a bubble the wait is certain:
// synctest.Wait returns once all other goroutines are parked.
func TestBlockedSides(t *testing.T) {
	for _, s := range sharers {
		for _, capacity := range []int{0, 1, 25, 2 * totalRound} {
			// blocked runs one side until it is parked, and then the other.
			blocked := func(first, second func(sharing)) map[string]time.Duration {
				spent, err := measure.Blocked(func() error {
					synctest.Test(t, func(*testing.T) {
						c := s.share(capacity)
						go first(c)
						synctest.Wait()
						second(c)
					})
					return nil
				}, sideOf)
				if err != nil {
					t.Fatal(err)
				}
				return spent
			}
			produce := func(c sharing) { c.produce() }
			work := func(c sharing) { c.work(new(total)) }
			roomForAll := capacity > totalRound
			spent := blocked(work, produce)
			if spent[blockedReceive] <= 0 || roomForAll && spent[blockedSend] != 0 {
				t.Errorf("%s, capacity %d, the worker waits first: %v", s.id, capacity, spent)
			}
			spent = blocked(produce, work)
			if spent[blockedSend] > 0 == roomForAll || roomForAll && spent[blockedReceive] != 0 {
				t.Errorf("%s, capacity %d, the sender waits first: %v", s.id, capacity, spent)
			}
		}
	}
}

func TestSideOf(t *testing.T) {
	const root = library + "/cmd/sluice/internal/lab.shareSluice.func2"
	for want, stacks := range map[string][][]string{
		blockedSend: {
			{"runtime.chansend1", library + "/cmd/sluice/internal/lab.shareNative.func1"},
			{"runtime.chanrecv1", library + "/internal/park.Parker.Park", library + ".(*channel[...]).Send", root},
		},
		blockedReceive: {
			{"runtime.chanrecv2", library + "/cmd/sluice/internal/lab.shareNative.func2"},
			{"runtime.selectgo", library + "/internal/park.Parker.Park", library + ".(*channel[...]).Recv", root},
		},
		"": {
			{"sync.(*WaitGroup).Wait", library + "/cmd/sluice/internal/lab.sharer.round"},
			{"runtime.chanrecv1", "runtime.gcBgMarkStartWorkers", library + "/cmd/sluice/internal/measure.waits"},
			{"runtime.selectgo", library + "/cmd/sluice/internal/measure.(*Runner).pass"},
			{"runtime.chanrecv1", library + ".(*channel[...]).Recv", "main.main"},
			{"sync.(*Mutex).Lock", root},
		},
	} {
		for _, stack := range stacks {
			if got := sideOf(stack); got != want {
				t.Errorf("%v is counted as %q, want %q", stack, got, want)
			}
		}
	}
}

// madeUpBuffers returns made-up times: the built-in channel takes half the time
// with 25 slots or more, and with the most slots insignificantly less; sluice
// takes a tenth less everywhere.
func madeUpBuffers(contender ContenderID, p *Point) float64 {
	ns := 100.0
	switch p.X {
	case studyBuffer, "100":
		ns = 50
	case "1024":
		ns = 49.99
	}
	if contender == withHandOff {
		ns *= 0.9
	}
	return ns
}

func TestBuffersConclusion(t *testing.T) {
	c := buffersConclusion(pretend(buffersStudy, Scale{CPUs: 8}, madeUpBuffers))
	for _, want := range []string{
		"One sender and 10 workers: a built-in channel with 25 slots instead of none is 2.00 (1.99 to 2.01) times as fast at GOMAXPROCS 2 and 8.",
		"One sender and 100 workers: more slots of a built-in channel save nothing beyond noise above 25 slots at GOMAXPROCS 2 and 8.",
		"One sender and 1 worker: sluice instead of the built-in channel, without a buffer, is 1.11 (1.11 to 1.11) times as fast at GOMAXPROCS 2",
		"the goroutines of a built-in channel are blocked 0.500 (0.497 to 0.503) times as long in send and receive.",
	} {
		contains(t, c.Findings, want)
	}
	if want := "Give such a channel 25 slots: more save nothing beyond noise."; c.Advice != want {
		t.Errorf("advice %q, want %q", c.Advice, want)
	}
}

// No buffer is large enough where a larger one still saves time, or where there
// are too few repetitions.
func TestNoBufferIsEnough(t *testing.T) {
	falling := func(_ ContenderID, p *Point) float64 {
		capacity, _ := strconv.Atoi(p.X)
		return 1000 / float64(capacity+1)
	}
	for name, m := range map[string]Measured{
		"falling": pretend(buffersStudy, Scale{CPUs: 8}, falling),
		"too few": pretend(buffersStudy, Scale{CPUs: 8, Count: 2}, madeUpBuffers),
	} {
		for _, f := range buffersFindings(m) {
			if strings.Contains(f, "more slots") {
				t.Errorf("%s: %s", name, f)
			}
		}
	}
}
