package lab

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
)

// totalRound is how many values the study sends through one channel.
const totalRound = 1000

// A total is what the workers of the study add to, and how many values each adds
// up. The count is the proof of work, and is added once for each worker.
type total struct {
	sum   atomic.Uint32
	count atomic.Uint32
}

// A sharing is a channel of the study and the loops over it: written out for each
// kind, as a user of that kind would write them. The contenders of the other
// studies carry values of eight bytes; this one's are of four.
type sharing struct {
	produce func()       // sends 1 … totalRound and closes
	work    func(*total) // receives until the end
}

func shareNative(capacity int) sharing {
	c := make(chan uint32, capacity)
	return sharing{
		produce: func() {
			for v := range uint32(totalRound) {
				c <- v + 1
			}
			close(c)
		},
		work: func(t *total) {
			var received uint32
			for v := range c {
				t.sum.Add(v)
				received++
			}
			t.count.Add(received)
		},
	}
}

// shareSluice is sluice.Rendezvous at capacity 0 and sluice.Bounded above.
func shareSluice(capacity int) sharing {
	if capacity == 0 {
		return shareRendezvous()
	}
	c := sluice.NewBounded[uint32](capacity, nil)
	return sharing{
		produce: func() {
			for v := range uint32(totalRound) {
				if c.Send(background, v+1) != nil {
					return // the count tells
				}
			}
			c.Close()
		},
		work: func(t *total) {
			var received uint32
			for {
				v, err := c.Recv(background)
				if err != nil {
					break
				}
				t.sum.Add(v)
				received++
			}
			t.count.Add(received)
		},
	}
}

func shareRendezvous() sharing {
	c := sluice.NewRendezvous[uint32](nil)
	return sharing{
		produce: func() {
			for v := range uint32(totalRound) {
				if c.Send(background, v+1) != nil {
					return
				}
			}
			c.Close()
		},
		work: func(t *total) {
			var received uint32
			for {
				v, err := c.Recv(background)
				if err != nil {
					break
				}
				t.sum.Add(v)
				received++
			}
			t.count.Add(received)
		},
	}
}

// A sharer is a contender of this study.
type sharer struct {
	id    ContenderID
	share func(capacity int) sharing
}

var sharers = []sharer{{Native, shareNative}, {withHandOff, shareSluice}}

// round is an iteration of the study: channel and goroutines are made anew, and
// all are joined.
func (s sharer) round(capacity, workers int) error {
	var t total
	var all sync.WaitGroup
	c := s.share(capacity)
	for range workers {
		all.Go(func() { c.work(&t) })
	}
	all.Go(c.produce)
	all.Wait()
	const sum = totalRound * (totalRound + 1) / 2
	if got, count := t.sum.Load(), t.count.Load(); got != sum || count != totalRound {
		return fmt.Errorf("%s: received %d values that add up to %d, not %d to %d", s.id, count, got, totalRound, sum)
	}
	return nil
}

// timed enters s in the study's work. All of an iteration counts, as in the study.
func (s sharer) timed(capacity, workers int) measure.Entry {
	return measure.Entry{Contender: s.id, Pass: func() (measure.Reading, error) {
		began := time.Now()
		err := s.round(capacity, workers)
		return measure.Reading{Ops: totalRound, Elapsed: time.Since(began)}, err
	}}
}

// Units of the time blocked, all goroutines added up, for each value sent.
const (
	blockedSend    = "blocked-send-ns/op"
	blockedReceive = "blocked-receive-ns/op"
)

// blocked enters s in so many rounds of the study's work under the block profile.
func (s sharer) blocked(capacity, workers, rounds int) measure.Entry {
	return measure.Entry{Contender: s.id, Pass: func() (measure.Reading, error) {
		spent, err := measure.Blocked(func() error {
			for range rounds {
				if err := s.round(capacity, workers); err != nil {
					return err
				}
			}
			return nil
		}, sideOf)
		if err != nil {
			return measure.Reading{}, err
		}
		values := rounds * totalRound
		figures := make([]measure.Figure, 0, 2)
		for _, unit := range []string{blockedSend, blockedReceive} {
			figures = append(figures, measure.Figure{Unit: unit, Value: float64(spent[unit].Nanoseconds()) / float64(values)})
		}
		return measure.Reading{Ops: values, Figures: figures}, nil
	}}
}

// sideOf tells on which side of a channel a goroutine of the study's work was
// blocked, as the unit to count it in; "" if on neither. Our kinds park their
// goroutines on a built-in channel, always in a receive: their own methods, further
// out, say which side it was.
func sideOf(functions []string) string {
	side := map[string]string{
		"runtime.chansend1": blockedSend,
		"runtime.chanrecv1": blockedReceive,
		"runtime.chanrecv2": blockedReceive,
	}[functions[0]]
	ours := false
	for _, function := range functions {
		switch {
		case strings.HasPrefix(function, library+".(") && strings.HasSuffix(function, ".Send"):
			side = blockedSend
		case strings.HasPrefix(function, library+".(") && strings.HasSuffix(function, ".Recv"):
			side = blockedReceive
		case strings.HasPrefix(function, library+"/cmd/sluice/internal/lab.share"):
			ours = true
		}
	}
	if !ours {
		return "" // another goroutine of the process
	}
	return side
}

// library is the path of the library's package.
const library = "github.com/sluice-go/sluice"
