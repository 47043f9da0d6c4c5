package main

import (
	"context"
	"sync"
	"time"

	"github.com/sluice-go/sluice"
	"golang.org/x/sync/errgroup"
)

// Services that pass small values: copies, chains of stages that do little, dispatchers, actors
// that own something small, channels as locks, mailboxes, goroutines for tiny pieces of work,
// and receives with something made for each.

type sample struct{ sensor, at, value float64 }

// sensors: readings of eight sensors are gathered in a slice.
func sensors(s *service) {
	recent, n := make([]sample, 4096), 0
	gather := func(v sample) { recent[n%len(recent)] = v; n++ }
	if direct(s, plan{from: 8, to: 1, batch: 64}, sample{1, 2, 3}, gather) {
		return
	}
	readings := make(chan sample, s.choose(buffer, 4096, 64))
	spawn(8, func() { forever(func() { readings <- sample{1, 2, 3} }) })
	go func() { take(s, readings, gather) }()
}

// gatherInto keeps the last values of a channel.
func gatherInto[T any](s *service, c <-chan T, into []T) {
	for i := 0; ; i++ {
		into[i%len(into)] = <-c
		s.done(1)
	}
}

func emit[T any](ctx context.Context, c chan<- T, v T) (err error) {
	for err == nil {
		err = send(ctx, c, v)
	}
	return err
}

// positions: vehicles report where they are.
func positions(s *service) {
	type position struct{ lat, lon, speed float64 }
	last, here, n := make([]position, 512), position{47, 8, 3}, 0
	if direct(s, plan{from: 6, to: 1, batch: 64}, here, func(p position) { last[n%len(last)] = p; n++ }) {
		return
	}
	reports := make(chan position, 16)
	group, ctx := errgroup.WithContext(context.Background())
	start(6, group.Go, func() error { return emit(ctx, reports, here) })
	go gatherInto(s, reports, last)
}

type quote struct{ symbol, bid, ask int }

// quotes: five feeds write to a book of the last quotes.
func quotes(s *service) {
	ctx, book, latest := context.Background(), sluice.NewBounded[quote](64, nil), make([]quote, 1024)
	note := func(q quote) { latest[q.bid&1023] = q }
	if direct(s, plan{from: 5, to: 1, capacity: 4, batch: 64}, quote{bid: 1}, note) {
		return
	}
	spawn(5, func() {
		for n := 0; book.Send(ctx, quote{1, n, n + 1}) == nil; n++ {
		}
	})
	go func() {
		for q := range book.Values(ctx).All() {
			note(q)
			s.done(1)
		}
	}()
}

func scan(out chan<- int) {
	for n := 0; ; n++ {
		out <- n
	}
}

func trim(in <-chan int, out chan<- int) {
	for n := range in {
		out <- n >> 1
	}
}

func classify(in <-chan int, out chan<- int) {
	for n := range in {
		out <- n % 7
	}
}

func tally(s *service, in <-chan int) {
	var classes [7]int
	for n := range in {
		classes[n]++
		s.done(1)
	}
}

// words: lines are scanned, trimmed, classified and counted.
func words(s *service) {
	if direct(s, plan{from: 1, to: 1, batch: 64}, 9, func(v int) { keep(uint32(v >> 1 % 7)) }) {
		return
	}
	capacity := s.choose(buffer, 256, 0)
	a, b, c := make(chan int, capacity), make(chan int, capacity), make(chan int, capacity)
	go scan(a)
	go trim(a, b)
	go classify(b, c)
	go tally(s, c)
}

func through[A, B any](in <-chan A, capacity int, f func(A) B) <-chan B {
	out := make(chan B, capacity)
	go func() {
		for a := range in {
			out <- f(a)
		}
	}()
	return out
}

// prices: amounts are converted, rounded and taxed.
func prices(s *service) {
	capacity := s.choose(buffer, 256, 0)
	amounts := make(chan int64, capacity)
	feed(amounts, 1, 100)
	tax := func(n int64) float64 { return float64(n) * 1.08 }
	taxed := through(amounts, capacity, tax)
	if !s.with(removeHop) {
		rounded := through(taxed, capacity, func(x float64) int64 { return int64(x) / 5 })
		taxed = through(rounded, capacity, tax)
	}
	go drain(s, taxed)
}

type letter struct {
	id   int
	mark string
}

type office struct{ next chan letter }

func (o *office) forward(ctx context.Context, from *office, mark string) error {
	for {
		l, err := recv(ctx, from.next)
		if err != nil {
			return err
		}
		l.mark = mark
		if err := send(ctx, o.next, l); err != nil {
			return err
		}
	}
}

// letters: letters pass three offices, which watch a context.
func letters(s *service) {
	capacity := s.choose(buffer, 256, 0)
	group, ctx := errgroup.WithContext(context.Background())
	entry := &office{make(chan letter, capacity)}
	exit := entry
	for _, mark := range []string{"north", "west", "south"}[:s.choose(removeHop, 1, 3)] {
		from, to := exit, &office{make(chan letter, capacity)}
		group.Go(func() error { return to.forward(ctx, from, mark) })
		exit = to
	}
	group.Go(func() error { return emit(ctx, entry.next, letter{id: 1}) })
	go drain(s, exit.next)
}

// Dispatchers that hand out the channels of idle workers. One channel in its place is the
// same without the dispatcher.

type job struct{ size int }

func (j job) do() { keep(work(j.size)) }

// taxis: each ride is given to a free taxi by its number.
func taxis(s *service) {
	const fleet = 6
	if direct(s, plan{3, fleet, 16, 32}, job{150}, job.do) {
		return
	}
	rides, free := make(chan job, 1), make(chan int, fleet)
	var seats [fleet]chan job
	for i := range seats {
		seats[i] = make(chan job)
		s.loop(1, func() {
			free <- i
			ride := <-seats[i]
			ride.do()
		})
	}
	go func() {
		for ride := range rides {
			seats[<-free] <- ride
		}
	}()
	feed(rides, 3, job{150})
}

// A roster is idle workers for values of type T.
type roster[T any] struct {
	idle chan chan<- T
	in   chan T
}

func (b *roster[T]) serve(ctx context.Context, f func(T)) {
	for own := make(chan T); send(ctx, b.idle, own) == nil; {
		f(<-own)
	}
}

func (b *roster[T]) share(ctx context.Context) {
	for v := range b.in {
		w, err := recv(ctx, b.idle)
		if err != nil {
			return
		}
		w <- v
	}
}

// orders: kitchens that cook small orders.
func orders(s *service) {
	if direct(s, plan{2, 4, 16, 32}, job{128}, job.do) {
		return
	}
	b, ctx := &roster[job]{make(chan chan<- job), make(chan job)}, context.Background()
	spawn(4, func() { b.serve(ctx, func(j job) { j.do(); s.done(1) }) })
	go b.share(ctx)
	feed(b.in, 2, job{128})
}

type agent struct{ questions, answers chan job }

// calls: questions go to a free agent, and answers come back over its channel.
func calls(s *service) {
	if direct(s, plan{5, 5, 16, 32}, job{96}, job.do) {
		return
	}
	agents, incoming := make(chan *agent, 5), make(chan chan job)
	var wg sync.WaitGroup
	start(cap(agents), wg.Go, func() {
		a := &agent{make(chan job), make(chan job)}
		agents <- a
		take(s, a.questions, func(q job) {
			q.do()
			a.answers <- q
		})
	})
	wg.Go(func() {
		for reply := range incoming {
			a := <-agents
			go func() {
				a.questions <- job{96}
				reply <- <-a.answers
				agents <- a
			}()
		}
	})
	start(10, wg.Go, func() {
		for reply := make(chan job, 1); ; <-reply {
			incoming <- reply
		}
	})
}

// inventory: changes of a stock are functions that its goroutine runs.
func inventory(s *service) {
	changes, stock := make(chan func(), 4), make([]int, 256)
	if s.guarded(8, func() { stock[7]++ }) {
		return
	}
	go func() { forever(func() { (<-changes)() }) }()
	s.loop(8, func() {
		ready := make(chan struct{})
		changes <- func() { stock[7]++; close(ready) }
		<-ready
	})
}

type owner[S any] struct {
	inbox chan func(*S)
	state S
}

func (o *owner[S]) ask(ctx context.Context, f func(*S) int) (int, error) {
	answer := make(chan int, 1)
	if err := send(ctx, o.inbox, func(s *S) { answer <- f(s) }); err != nil {
		return 0, err
	}
	return recv(ctx, answer)
}

func (o *owner[S]) live() {
	for f := range o.inbox {
		f(&o.state)
	}
}

// sessions: a goroutine owns the table of sessions.
func sessions(s *service) {
	o := &owner[[512]int]{inbox: make(chan func(*[512]int))}
	touch := func(table *[512]int) int { table[3]++; return table[3] }
	if s.guarded(10, func() { touch(&o.state) }) {
		return
	}
	go o.live()
	s.loop(10, func() {
		if n, err := o.ask(context.Background(), touch); err == nil {
			keep(uint32(n))
		}
	})
}

// vouchers: one goroutine knows how often the voucher of each customer was used.
func vouchers(s *service) {
	ctx, desk := context.Background(), sluice.NewBounded[int](16, nil)
	var used [6]int
	redeem := func(customer int) int { used[customer]++; return used[customer] }
	if s.guarded(len(used), func() { redeem(1) }) {
		return
	}
	var results [len(used)]*sluice.Rendezvous[int]
	for customer := range results {
		results[customer] = sluice.NewRendezvous[int](nil)
		s.callers(1, func() error {
			_ = desk.Send(ctx, customer)
			_, err := results[customer].Recv(ctx)
			return err
		})
	}
	go func() {
		for customer := range desk.Values(ctx).All() {
			_ = results[customer].Send(ctx, redeem(customer))
		}
	}()
}

// seats: the plan of a theater goes from hand to hand.
func seats(s *service) {
	type hall struct{ taken [256]int }
	box, plan := make(chan *hall, 1), new(hall)
	if s.guarded(12, func() { plan.taken[1]++ }) {
		return
	}
	box <- plan
	s.loop(12, func() {
		h := <-box
		h.taken[1]++
		box <- h
	})
}

type baton chan struct{}

func (b baton) Lock()   { <-b }
func (b baton) Unlock() { b <- struct{}{} }

// scores: players add to one table of scores.
func scores(s *service) {
	points := 0
	if s.guarded(20, func() { points++ }) {
		return
	}
	var guard sync.Locker = make(baton, 1)
	guard.Unlock()
	s.loop(20, func() {
		guard.Lock()
		points++
		guard.Unlock()
	})
}

// meters: readings change one total at a time.
func meters(s *service) {
	ctx, turn, total := context.Background(), sluice.NewBounded[int](1, nil), 0
	if s.guarded(8, func() { total++ }) {
		return
	}
	_ = turn.Send(ctx, total) // there is room
	s.callers(8, func() error {
		n, err := turn.Recv(ctx)
		if err != nil {
			return err
		}
		return turn.Send(ctx, n+1)
	})
}

type mail struct{ kind, sum int }

type party struct{ inbox chan mail }

func (p *party) negotiate(s *service, other *party) {
	for offer := 0; ; s.done(1) {
		other.inbox <- mail{1, offer}
		answer := <-p.inbox
		offer = answer.sum & 1023
	}
}

func (p *party) respond(other *party) {
	for m := range p.inbox {
		other.inbox <- mail{2, m.sum + 1}
	}
}

// bids: a buyer and a seller exchange offers.
func bids(s *service) {
	if direct(s, plan{from: 1, to: 1, batch: 64}, mail{1, 2}, func(m mail) { keep(uint32(m.sum)) }) {
		return
	}
	a, b := &party{make(chan mail)}, &party{make(chan mail)}
	go a.negotiate(s, b)
	go b.respond(a)
}

type peer[T any] struct{ in, out *sluice.Rendezvous[T] }

func (p peer[T]) trade(ctx context.Context, v T) (T, error) {
	if err := p.out.Send(ctx, v); err != nil {
		return v, err
	}
	return p.in.Recv(ctx)
}

// clocks: two clocks agree on the time, again and again.
func clocks(s *service) {
	ctx, ticks := context.Background(), s.choose(batch, 64, 1)
	a, b := sluice.NewRendezvous[int](nil), sluice.NewRendezvous[int](nil)
	go func() {
		left := peer[int]{a, b}
		for now, err := 0, error(nil); err == nil; s.done(ticks) {
			now, err = left.trade(ctx, now)
		}
	}()
	go func() {
		right := peer[int]{b, a}
		for now, err := right.in.Recv(ctx); err == nil; {
			now, err = right.trade(ctx, now+ticks)
		}
	}()
}

type player interface {
	play(ctx context.Context, s *service)
}

type server struct{ to, from chan int }

func (p *server) play(ctx context.Context, s *service) {
	for ball := 0; send(ctx, p.to, ball) == nil; s.done(1) {
		ball, _ = recv(ctx, p.from)
	}
}

type returner struct{ server }

func (p *returner) play(ctx context.Context, s *service) {
	for ball, err := recv(ctx, p.from); err == nil; ball, err = recv(ctx, p.from) {
		p.to <- ball + 1
	}
}

// tennis: three pairs of players.
func tennis(s *service) {
	if s.with(removeHop) {
		s.loop(3, func() { keep(7) })
		return
	}
	for range 3 {
		a, b := make(chan int), make(chan int)
		for _, p := range []player{&server{a, b}, &returner{server{b, a}}} {
			go p.play(context.Background(), s)
		}
	}
}

// events: each event is handled by a new goroutine, which reports a number.
func events(s *service) {
	results, steady := make(chan int, 64), make(chan int, 64)
	handle := func(n int) { results <- n * 2654435761 >> 7 }
	go numbers(func(n int) {
		if s.with(reuse) {
			steady <- n
		} else {
			go handle(n)
		}
	})
	spawn(s.choose(reuse, 4, 0), func() { forever(func() { handle(<-steady) }) })
	go drain(s, results)
}

// rows: each row of a table is checked in an errgroup.
func rows(s *service) {
	table, size := make([][8]int, 500), s.choose(batch, 50, 1)
	check := func(rows [][8]int) error {
		for i := range rows {
			for k := range rows[i] {
				rows[i][k] += k
			}
		}
		return nil
	}
	go func() {
		for ; ; s.done(len(table)) {
			var group errgroup.Group
			for begin := 0; begin < len(table); begin += size {
				part := table[begin : begin+size]
				if s.with(removeHop) {
					_ = check(part)
				} else {
					group.Go(func() error { return check(part) })
				}
			}
			_ = group.Wait()
		}
	}()
}

type result[T any] struct {
	ready chan struct{}
	value T
}

// async computes a value elsewhere.
func async[T any](f func() T) *result[T] {
	r := &result[T]{ready: make(chan struct{})}
	go func() {
		r.value = f()
		close(r.ready)
	}()
	return r
}

func (r *result[T]) await() T { <-r.ready; return r.value }

// totals: sums of small columns, two at a time.
func totals(s *service) {
	sum := func(column *[16]int) (n int) {
		for i := range column {
			column[i]++
			n += column[i]
		}
		return n
	}
	spawn(2, func() {
		var columns [2][16]int
		for ; ; s.done(2) {
			if s.with(removeHop) {
				keep(uint32(sum(&columns[0]) + sum(&columns[1])))
				continue
			}
			a := async(func() int { return sum(&columns[0]) })
			b := async(func() int { return sum(&columns[1]) })
			keep(uint32(a.await() + b.await()))
		}
	})
}

// waitOne is the limit of a receive: it never passes here.
const waitOne = 30 * time.Second

// alarms: the next alarm, or a note that all is quiet.
func alarms(s *service) {
	c := make(chan uint32, 512)
	feed(c, 2, 7)
	quiet := time.After(waitOne)
	s.loop(1, func() {
		if !s.with(reuse) {
			quiet = time.After(waitOne)
		}
		select {
		case v := <-c:
			keep(v)
		case <-quiet:
		}
	})
}

// within receives a value in time.
func within[T any](c <-chan T, limit time.Duration) (v T, ok bool) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case v, ok = <-c:
	case <-timer.C:
	}
	return v, ok
}

// parcels: two counters take parcels that must come in time.
func parcels(s *service) {
	c := make(chan uint32, 512)
	feed(c, 2, 7)
	s.loop(2, func() {
		if s.with(reuse) {
			keep(<-c)
		} else if v, ok := within(c, waitOne); ok {
			keep(v)
		}
	})
}

// flights: an arrival in time, of a channel with contexts.
func flights(s *service) {
	arrivals, ctx := sluice.NewBounded[int](512, nil), context.Background()
	many := make([]int, 128)
	go func() { forever(func() { _, _ = arrivals.SendBatch(ctx, many) }) }()
	s.loop(1, func() {
		one, cancel := ctx, func() {}
		if !s.with(reuse) {
			one, cancel = context.WithDeadline(ctx, time.Now().Add(waitOne))
		}
		defer cancel()
		if v, err := arrivals.Recv(one); err == nil {
			keep(uint32(v))
		}
	})
}
