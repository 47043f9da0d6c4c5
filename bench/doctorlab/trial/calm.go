package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/sluice-go/sluice"
	batches "github.com/sluice-go/sluice/batch"
	"golang.org/x/sync/errgroup"
)

// Services that are fine, idle, or refuse bursts. The load is theirs to choose: with moreLoad,
// which is no remedy, it is as much as they take, and shows their headroom.

// loads returns the rate of an open load.
func (s *service) loads(rate int) int { return s.choose(moreLoad, 100*rate, rate) }

// trips: fares are computed and booked.
func trips(s *service) {
	fares, booked := make(chan int, 64), make(chan uint32, 64)
	go every(s.loads(10_000), func(n int) { fares <- n & 1023 })
	go func() { forever(func() { booked <- work(40_000 + <-fares) }) }()
	go func() { take(s, booked, keep) }()
}

type tailor struct{ in chan int }

func (t *tailor) sew(s *service) {
	take(s, t.in, func(n int) { keep(work(n)) })
}

// dresses: four tailors with little to do.
func dresses(s *service) {
	t := &tailor{make(chan int, 64)}
	spawn(4, func() { t.sew(s) })
	go every(s.loads(10_000), func(int) { t.in <- 50_000 })
}

// butlers: a hundred and fifty butlers wait for guests.
func butlers(s *service) {
	bells := make(chan int)
	spawn(150, func() { drain(s, bells) })
	go every(5, func(n int) { bells <- n })
}

// lawyers: workers of this module wait for cases.
func lawyers(s *service) {
	cases := sluice.NewBounded[int](16, nil)
	employ(s, cases, 120, func(int) error { return nil })
	go every(6, func(n int) { _ = cases.Send(context.Background(), n) })
}

// repeatEvery calls f again and again, with pauses.
func repeatEvery[T any](ctx context.Context, pause time.Duration, f func() T, out chan<- T) error {
	for {
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
			out <- f()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// tides: levels of water, every so often.
func tides(s *service) {
	levels := make(chan uint32)
	s.grouped(6, func(ctx context.Context) error {
		return repeatEvery(ctx, 80*time.Millisecond, func() uint32 { return work(64) }, levels)
	})
	go drain(s, levels)
}

// rewrite writes n lines at the begin of a file, which does not grow for ever.
func (s *service) rewrite(f *os.File, lines []byte, n int) {
	if _, err := f.WriteAt(lines, 0); err == nil {
		s.done(n)
	}
}

// diaries: lines are written every 50 ms, or by 500.
func diaries(s *service) {
	lines, f := make(chan string, 1000), scratch()
	go every(s.loads(15_000), func(n int) { lines <- "a line of a diary, number " + strconv.Itoa(n) })
	go func() {
		var held []byte
		n := 0
		for flush := time.Tick(50 * time.Millisecond); ; {
			select {
			case l := <-lines:
				held = append(append(held, l...), '\n')
				if n++; n < 500 {
					continue
				}
			case <-flush:
			}
			s.rewrite(f, held, n)
			held, n = held[:0], 0
		}
	}()
}

// poems: batches of package batch.
func poems(s *service) {
	verses, f := sluice.NewBounded[int](2048, nil), scratch()
	go every(s.loads(12_000), func(n int) { _ = verses.Send(context.Background(), n) })
	go func() {
		received := batches.Receive(context.Background(), verses, 512, &batches.Options[int]{Linger: 20 * time.Millisecond})
		var lines []byte
		for many := range received.All() {
			lines = lines[:0]
			for _, n := range many {
				lines = fmt.Appendln(lines, "verse", n)
			}
			s.rewrite(f, lines, len(many))
		}
	}()
}

// bursts calls f many times every so often.
func bursts(n int, pause time.Duration, f func(n int)) {
	for range time.Tick(pause) {
		for i := range n {
			f(i)
		}
	}
}

// tickets: a queue of sixteen, and bursts of two hundred.
func tickets(s *service) {
	queue := make(chan int, s.choose(buffer, 256, 16))
	refused := 0
	go func() { take(s, queue, func(n int) { keep(work(10_000 + n)) }) }()
	go bursts(200, 50*time.Millisecond, func(n int) {
		select {
		case queue <- n:
		default:
			refused++
		}
	})
}

// tryPut sends a value if there is room.
func tryPut[T any](c chan<- T, v T) bool {
	select {
	case c <- v:
		return true
	default:
		return false
	}
}

// lotteries: draws come in bursts.
func lotteries(s *service) {
	draws := make(chan uint32, s.choose(buffer, 1000, 32))
	var group errgroup.Group
	group.Go(func() error {
		take(s, draws, func(d uint32) { keep(work(4000) + d) })
		return nil
	})
	group.Go(func() error {
		bursts(800, 60*time.Millisecond, func(n int) { tryPut(draws, uint32(n)) })
		return nil
	})
}

// parades: values come in bursts, in a channel that refuses.
func parades(s *service) {
	floats := sluice.NewBounded[int](s.choose(buffer, 500, 10), nil)
	employ(s, floats, 2, func(n int) error {
		keep(work(16_000))
		return nil
	})
	go bursts(250, 80*time.Millisecond, func(n int) { _ = floats.TrySend(n) })
}
