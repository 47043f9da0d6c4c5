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

// totalRound is the number of values that the study sends through one channel.
const totalRound = 1000

// A total is the sum of the values of a round and their number. Each worker
// adds its count once: it proves that the work was done.
type total struct {
	sum   atomic.Uint32
	count atomic.Uint32
}

// A sharing is a channel of the study with its loops, written out for each kind
// as its users would write them. The contenders of the other studies carry
// values of eight bytes; the values of this study have four.
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
					return // the count is too low
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

// round is an iteration of the study, with a new channel and new goroutines.
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

// timed enters s in the study's work. As in the study, the time of a whole
// iteration counts.
func (s sharer) timed(capacity, workers int) measure.Entry {
	return measure.Entry{Contender: s.id, Pass: func() (measure.Reading, error) {
		began := time.Now()
		err := s.round(capacity, workers)
		return measure.Reading{Ops: totalRound, Elapsed: time.Since(began)}, err
	}}
}

// Units of the time blocked, summed over all goroutines, per value sent.
const (
	blockedSend    = "blocked-send-ns/op"
	blockedReceive = "blocked-receive-ns/op"
)

// blocked enters s in a number of rounds of the study's work under the block
// profile.
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

// sideOf returns the side of the channel on which a goroutine of the study's
// work was blocked, as the unit of its time, or "" if it is not the study's.
// The kinds of this library park goroutines on a built-in channel, always in a
// receive: their methods, further out on the stack, show the side.
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

// library is the import path of the library.
const library = "github.com/sluice-go/sluice"
