package main

import (
	"encoding/json"
	"hash/adler32"
	"math/rand/v2"
	"net/http"
	"os"
	"sync/atomic"
	"time"
)

// A service counts the items that it has finished, and knows the remedy in force.
type service struct {
	remedy  string // "" as found
	started time.Time
	err     error // why it cannot run here

	counters [64]counter
	given    atomic.Int64
}

// A counter counts items in its own cache lines: counting must not become the bottleneck.
type counter struct {
	n atomic.Int64
	_ [120]byte
}

func (c *counter) add(n int) { c.n.Add(int64(n)) }

// counter returns a counter of the service.
func (s *service) counter() *counter { return &s.counters[s.given.Add(1)%int64(len(s.counters))] }

// done counts items in any counter.
func (s *service) done(n int) { s.counters[rand.Uint32()%uint32(len(s.counters))].add(n) }

// with reports whether a remedy is in force.
func (s *service) with(remedy string) bool { return s.remedy == remedy }

// choose returns a number that a remedy changes.
func (s *service) choose(remedy string, changed, found int) int {
	if s.with(remedy) {
		return changed
	}
	return found
}

// fail notes why a service cannot run.
func (s *service) fail(err error) {
	if err != nil && s.err == nil {
		s.err = err
	}
}

// A reading is the response of /items.
type reading struct {
	Items   int64   `json:"items"`
	Seconds float64 `json:"seconds"` // since the start
}

func (s *service) read() reading {
	r := reading{Seconds: time.Since(s.started).Seconds()}
	for i := range s.counters {
		r.Items += s.counters[i].n.Load()
	}
	return r
}

func (s *service) answer(w http.ResponseWriter, _ *http.Request) {
	// It fails only if the client has gone.
	_ = json.NewEncoder(w).Encode(s.read())
}

// A plan is how flow passes values.
type plan struct {
	from, to int // goroutines
	capacity int
	batch    int
}

// flow passes slices of values from goroutines that make them to goroutines that take
// them, each with its number. Remedies that change how values are passed are built on it.
func flow[T any](p plan, next func() T, take func(n int, v T)) {
	c := make(chan []T, p.capacity)
	for range p.from {
		go func() {
			for {
				values := make([]T, max(p.batch, 1))
				for k := range values {
					values[k] = next()
				}
				c <- values
			}
		}()
	}
	for range p.to {
		go func() {
			n := 0
			for values := range c {
				for _, v := range values {
					take(n, v)
					n++
				}
			}
		}()
	}
}

// feed sends a value to a channel, again and again, from n goroutines.
func feed[T any](c chan<- T, n int, v T) {
	for range n {
		go func() {
			for {
				c <- v
			}
		}()
	}
}

// loop calls f in n goroutines, and counts.
func (s *service) loop(n int, f func()) {
	for range n {
		go func() {
			for ; ; s.done(1) {
				f()
			}
		}()
	}
}

// drain counts the values of a channel.
func drain[T any](s *service, c <-chan T) {
	for range c {
		s.done(1)
	}
}

// callers calls f in n goroutines, until it fails.
func (s *service) callers(n int, f func() error) {
	for range n {
		go func() {
			for f() == nil {
				s.done(1)
			}
		}()
	}
}

// page is data to work on.
var page = func() (b [64 << 10]byte) {
	for i := range b {
		b[i] = byte(i*i>>3 + i)
	}
	return b
}()

// work is a few hundred nanoseconds for each kilobyte.
func work(bytes int) uint32 { return adler32.Checksum(page[:bytes]) }

// keep uses a result, so that the compiler keeps the work.
func keep(x uint32) {
	if x == 0xdeadbeef {
		kept.Add(1)
	}
}

var kept atomic.Int64

// scratch returns a new file that is removed already.
func (s *service) scratch() *os.File {
	f, err := os.CreateTemp("", "scenario")
	if err != nil {
		s.fail(err)
		return nil
	}
	os.Remove(f.Name()) // it lives on until the process ends
	return f
}

// every calls f at a rate per second, in bursts of a millisecond or more, whatever
// happened before: an open load.
func every(rate int, f func(n int)) {
	const tick = 2 * time.Millisecond
	begin, done := time.Now(), 0
	for range time.Tick(tick) {
		for due := int(time.Since(begin).Seconds() * float64(rate)); done < due; done++ {
			f(done)
		}
	}
}
