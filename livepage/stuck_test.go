package livepage

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/inspect"
)

// A stuck channel answers until it is told to block, or to panic.
type stuck struct {
	calls  atomic.Int64
	does   atomic.Int32
	blocks chan struct{}
}

const (
	answers = iota
	blocks
	panics
)

func (s *stuck) Stats() sluice.Stats {
	n := s.calls.Add(1)
	switch s.does.Load() {
	case blocks:
		<-s.blocks
	case panics:
		panic("out of order")
	}
	return sluice.Stats{Sent: uint64(100 * n)}
}

// A Stats that blocks concerns its own row only: requests are answered, the row has the
// figures of the last answer, and Stats is not called again until it returns.
func TestStuckStats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad, good := &stuck{blocks: make(chan struct{})}, new(meter)
		defer bad.does.Store(answers) // other tests read it, too, until it is garbage
		inspect.Register(nameOf(t), "Stuck", bad)
		inspect.Register("beside "+nameOf(t), "Meter", good)
		h := new(handler)
		id := idOf(t, nameOf(t))
		rows := func() (was, beside Channel) {
			t.Helper()
			one := reportOf(t, h, fmt.Sprint("channel=", id))
			all := reportOf(t, h, "filter="+strings.ToLower(nameOf(t)))
			if len(all.Channels) != 2 || all.Channels[0].Unanswered != one.Channels[0].Unanswered {
				t.Fatalf("%+v, and alone %+v", all.Channels, one.Channels)
			}
			return all.Channels[0], all.Channels[1]
		}
		if was, _ := rows(); was.Unanswered != "" || was.Sent == 0 {
			t.Errorf("it answers: %+v", was)
		}
		last := bad.calls.Load()
		bad.does.Store(blocks)
		for range 3 {
			time.Sleep(2 * period)
			begun := time.Now()
			was, beside := rows()
			if !strings.Contains(was.Unanswered, "did not return") || was.Sent != uint64(100*last) || was.SentRate != nil {
				t.Errorf("it blocks: %+v", was)
			}
			if beside.Unanswered != "" || beside.SentRate == nil {
				t.Errorf("another channel: %+v", beside)
			}
			if waited := time.Since(begun); waited > answerWithin || waited > 0 && bad.calls.Load() != last+1 {
				t.Errorf("the requests took %v", waited)
			}
		}
		if n := bad.calls.Load() - last; n != 1 {
			t.Errorf("%d calls that do not return", n)
		}
		bad.does.Store(answers)
		close(bad.blocks)
		synctest.Wait()
		time.Sleep(2 * period)
		if was, _ := rows(); was.Unanswered != "" || was.Sent <= uint64(100*last) || was.SentRate != nil {
			t.Errorf("it answers again: %+v", was)
		}
		bad.does.Store(panics)
		time.Sleep(2 * period)
		if was, _ := rows(); was.Unanswered != "Stats panicked: out of order" {
			t.Errorf("it panics: %+v", was)
		}
		runtime.KeepAlive(bad)
		runtime.KeepAlive(good)
	})
}

// A name and a warning from outside do not make a report longer than they should.
func TestLongTexts(t *testing.T) {
	long := fmt.Sprint("long", rand.Uint64()) // the channel of an earlier run may still be listed
	c := &warned{strings.Repeat("w", 1<<20)}
	inspect.Register(long+strings.Repeat("n", 1<<20), "Warned", c)
	if body := get(new(handler), "format=json&filter="+long).Body; body.Len() > 4096 || !strings.Contains(body.String(), "nnn…") || !strings.Contains(body.String(), "www…") {
		t.Errorf("%d bytes: %.500s", body.Len(), body)
	}
	runtime.KeepAlive(c)
}

type warned struct{ text string }

func (w *warned) Stats() (s sluice.Stats) {
	s.Disk.Warning = w.text
	return s
}
