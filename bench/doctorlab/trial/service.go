package main

import (
	"context"
	"crypto/sha256"
	"hash/adler32"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/bench/doctorlab/remote"
	"github.com/sluice-go/sluice/workers"
	"golang.org/x/sync/errgroup"
)

// A service counts the items that it has finished, and knows the remedy in force.
type service struct {
	remedy string // "" as found
	// Counters are in cache lines of their own: counting must not become the bottleneck.
	counters [64]struct {
		n atomic.Int64
		_ [120]byte
	}
}

// done counts items in any counter.
func (s *service) done(n int) { s.counters[rand.Uint32()%uint32(len(s.counters))].n.Add(int64(n)) }

// items returns the number of finished items.
func (s *service) items() (n int64) {
	for i := range s.counters {
		n += s.counters[i].n.Load()
	}
	return n
}

// with reports whether a remedy is in force.
func (s *service) with(remedy string) bool { return s.remedy == remedy }

// choose returns a number that a remedy changes.
func (s *service) choose(remedy string, changed, found int) int {
	if s.with(remedy) {
		return changed
	}
	return found
}

// What follows is what services are made of. A function that returns or starts a closure is
// not inlined, so that stacks have its name.

// spawn starts n goroutines.
func spawn(n int, f func()) {
	for range n {
		go f()
	}
}

// start starts n goroutines by a WaitGroup or an errgroup.
func start[F any](n int, by func(F), f F) {
	for range n {
		by(f)
	}
}

// forever calls f again and again.
func forever(f func()) {
	for {
		f()
	}
}

// numbers calls f with 0, 1, 2 and so on.
func numbers(f func(n int)) {
	for n := 0; ; n++ {
		f(n)
	}
}

// again returns a loop that calls f and counts.
//
//go:noinline
func (s *service) again(f func()) func() {
	return func() {
		for ; ; s.done(1) {
			f()
		}
	}
}

// until returns a loop that calls f, until it fails, and counts.
//
//go:noinline
func (s *service) until(f func() error) func() error {
	return func() error {
		for ; ; s.done(1) {
			if err := f(); err != nil {
				return err
			}
		}
	}
}

// grouped calls f in n goroutines of an errgroup, until it fails, and counts.
func (s *service) grouped(n int, f func(ctx context.Context) error) {
	group, ctx := errgroup.WithContext(context.Background())
	start(n, group.Go, s.until(func() error { return f(ctx) }))
}

// loop calls f in n goroutines, and counts.
func (s *service) loop(n int, f func()) { spawn(n, s.again(f)) }

// callers calls f in n goroutines, until it fails, and counts.
//
//go:noinline
func (s *service) callers(n int, f func() error) {
	spawn(n, func() { _ = s.until(f)() })
}

// feed sends a value to a channel, again and again, from n goroutines.
//
//go:noinline
func feed[T any](c chan<- T, n int, v T) {
	spawn(n, func() { forever(func() { c <- v }) })
}

// send sends a value, unless the context ends.
func send[T any](ctx context.Context, c chan<- T, v T) error {
	select {
	case c <- v:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// recv receives a value, unless the context ends.
func recv[T any](ctx context.Context, c <-chan T) (v T, err error) {
	select {
	case v = <-c:
		return v, nil
	case <-ctx.Done():
		return v, ctx.Err()
	}
}

// take calls f with the values of a channel, and counts.
func take[T any](s *service, c <-chan T, f func(T)) {
	for v := range c {
		f(v)
		s.done(1)
	}
}

// drain counts the values of a channel.
func drain[T any](s *service, c <-chan T) { take(s, c, func(T) {}) }

// A plan is how direct passes values.
type plan struct {
	from, to int // goroutines
	capacity int
	batch    int // with the remedy of this name, and otherwise 1
}

// direct passes copies of a value by a channel of slices, and reports that it does, if a
// remedy is in force that leaves out what is between the goroutines, or passes many values
// at once.
func direct[T any](s *service, p plan, v T, use func(T)) bool {
	if !s.with(removeHop) && !s.with(batch) {
		return false
	}
	c, size := make(chan []T, p.capacity), s.choose(batch, p.batch, 1)
	spawn(p.from, func() { forever(func() { c <- slices.Repeat([]T{v}, size) }) })
	spawn(p.to, func() {
		for values := range c {
			for _, v := range values {
				use(v)
				s.done(1)
			}
		}
	})
	return true
}

// guarded calls f in n goroutines, under one mutex, and reports that it does, if that is the
// remedy in force.
func (s *service) guarded(n int, f func()) bool {
	var mu sync.Mutex
	if s.with(mutex) {
		s.loop(n, func() {
			mu.Lock()
			f()
			mu.Unlock()
		})
	}
	return s.with(mutex)
}

// fill sends a value to a channel of this module, again and again, from n goroutines.
//
//go:noinline
func fill[T any](c sluice.Sender[T], n int, v T) {
	spawn(n, func() {
		for c.Send(context.Background(), v) == nil {
		}
	})
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

// page is data to work on.
var page = func() (b [64 << 10]byte) {
	for i := range b {
		b[i] = byte(i*i>>3 + i)
	}
	return b
}()

// work is a few hundred nanoseconds for each kilobyte.
func work(bytes int) uint32 { return adler32.Checksum(page[:bytes]) }

// hash is work of a microsecond for about a kilobyte.
func hash(b []byte) {
	sum := sha256.Sum256(b)
	keep(uint32(sum[0]))
}

// keep uses a result, so that the compiler keeps the work.
func keep(x uint32) {
	if x == 0xdeadbeef {
		kept.Add(1)
	}
}

var kept atomic.Int64

// employ calls f with the values of a channel of this module, by n workers, and counts.
func employ[T any](s *service, c sluice.BatchReceiver[T], n int, f func(T) error) {
	go workers.Run(context.Background(), c, n, func(_ context.Context, v T) error {
		defer s.done(1)
		return f(v)
	}, nil)
}

// asker returns a function that asks a backend, over as many links as are needed.
func (s *service) asker(delay time.Duration) func() error {
	b := remote.StartBackend()
	pool := sync.Pool{New: func() any { return b.Dial() }}
	return func() error {
		l := pool.Get().(*remote.Link)
		defer pool.Put(l)
		return l.Ask(delay)
	}
}

// visit serves a handler to visitors of another process.
func visit(n int, h http.HandlerFunc) {
	listener := remote.Must(net.Listen("tcp", "localhost:0"))
	go http.Serve(listener, h)
	remote.StartVisitors(n, "http://"+listener.Addr().String())
}

// scratch returns a new file that is removed already.
func scratch() *os.File {
	f := remote.Must(os.CreateTemp("", "trial"))
	os.Remove(f.Name()) // it lives on until the process ends
	return f
}
