package main

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/bench/doctorlab/remote"
	"github.com/sluice-go/sluice/hub"
	"github.com/sluice-go/sluice/workers"
	"golang.org/x/sync/errgroup"
)

// Services with a slow stage: pipelines, one goroutine that makes a system call, a sync or a
// transaction for each value, workers that wait outside, shards of which one has most of the
// work, and values that go to all, of which one is slow.

type step struct {
	in, out chan int
	link    *remote.Link
	delay   time.Duration
}

func (t *step) run() {
	for v := range t.in {
		if t.delay > 0 && t.link.Ask(t.delay) != nil {
			return
		}
		t.out <- v + 1
	}
}

// recipes: three steps, of which one asks elsewhere.
func recipes(s *service) {
	b := remote.StartBackend()
	first, second, third, last := make(chan int, 16), make(chan int, 16), make(chan int, 16), make(chan int, 16)
	feed(first, 1, 1)
	go (&step{in: first, out: second}).run()
	for range s.choose(moreReceivers, 8, 1) {
		go (&step{second, third, b.Dial(), 800 * time.Microsecond}).run()
	}
	go (&step{in: third, out: last}).run()
	go drain(s, last)
}

// videos: eight cameras, and workers of package workers.
func videos(s *service) {
	frames := sluice.NewBounded[int](32, nil)
	fill(frames, 8, 40_000)
	employ(s, frames, s.choose(moreReceivers, 2, 1), func(size int) error {
		hash(page[:size])
		return nil
	})
}

// pass calls f in n goroutines.
func pass[A, B any](ctx context.Context, group *errgroup.Group, in <-chan A, n int, f func(A) B) <-chan B {
	out := make(chan B, 8)
	for range n {
		group.Go(func() error {
			for a := range in {
				if err := send(ctx, out, f(a)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return out
}

func compress(b []byte) int {
	hash(b)
	return len(b)
}

// songs: recordings are cut, compressed and named.
func songs(s *service) {
	group, ctx := errgroup.WithContext(context.Background())
	in := make(chan int, 8)
	feed(in, 1, 3)
	cut := pass(ctx, group, in, 1, func(n int) []byte { return page[n:20_000] })
	compressed := pass(ctx, group, cut, s.choose(moreReceivers, 2, 1), compress)
	named := pass(ctx, group, compressed, 1, func(n int) string { return "song" })
	go drain(s, named)
}

// stores: pictures are drawn and stored over channels with contexts.
func stores(s *service) {
	ctx, b := context.Background(), remote.StartBackend()
	wanted, drawn := sluice.NewBounded[int](32, nil), sluice.NewBounded[int](32, nil)
	fill(wanted, 1, 2000)
	go func() {
		for n := range wanted.Values(ctx).All() {
			_ = drawn.Send(ctx, int(work(n)))
		}
	}()
	spawn(s.choose(moreReceivers, 12, 1), func() {
		link := b.Dial()
		for range drawn.Values(ctx).All() {
			_ = link.Ask(500 * time.Microsecond)
			s.done(1)
		}
	})
}

type audit struct {
	file  *os.File
	lines chan string
	at    int64
}

// put writes at the next place of a file that does not grow for ever.
func (a *audit) put(text []byte) {
	n, _ := a.file.WriteAt(text, a.at%(8<<20))
	a.at += int64(n)
}

func (a *audit) run(s *service) {
	var text []byte
	for line := range a.lines {
		if text = append(text, line...); !s.with(batch) || len(text) > 16<<10 {
			a.put(text)
			text = text[:0]
		}
		s.done(1)
	}
}

// audits: sixteen requests report to one log.
func audits(s *service) {
	a := &audit{file: scratch(), lines: make(chan string, 64)}
	feed(a.lines, 16, "a user has logged in\n")
	go a.run(s)
}

// entry is a record whose sender waits until it is safe.
type entry struct {
	text string
	safe chan struct{}
}

// commit receives entries, saves them, by many with the remedy, and answers.
func commit(s *service, entries <-chan entry, save func(n int)) {
	for e := range entries {
		many := []entry{e}
		for s.with(batch) && len(many) < 16 && len(entries) > 0 {
			many = append(many, <-entries)
		}
		save(len(many))
		for _, e := range many {
			e.safe <- struct{}{}
		}
		s.done(len(many))
	}
}

type store interface{ save(n int) error }

type table struct{ db *sql.DB }

// save inserts n rows in a transaction.
func (t *table) save(n int) error {
	tx, err := t.db.Begin()
	if err != nil {
		return err
	}
	if _, err := tx.Exec("INSERT", n); err != nil {
		return err
	}
	return tx.Commit()
}

// invoices: numbers are written by one goroutine, each in a transaction.
func invoices(s *service) {
	var to store = &table{remote.StartBackend().Database(200 * time.Microsecond)}
	numbers, size := make(chan int, 256), s.choose(batch, 64, 1)
	feed(numbers, 8, 1)
	go func() {
		for {
			for range size {
				<-numbers
			}
			if to.save(size) == nil {
				s.done(size)
			}
		}
	}()
}

type guestbook struct {
	entries chan entry
	to      store
}

func (g *guestbook) write(s *service) {
	commit(s, g.entries, func(n int) { _ = g.to.save(n) })
}

func (g *guestbook) sign(w http.ResponseWriter, r *http.Request) {
	e := entry{r.URL.Path, make(chan struct{}, 1)}
	g.entries <- e
	<-e.safe
	fmt.Fprintln(w, "thank you")
}

// guests: entries of a guest book, in transactions.
func guests(s *service) {
	g := &guestbook{make(chan entry, 64), &table{remote.StartBackend().Database(300 * time.Microsecond)}}
	spawn(s.choose(moreReceivers, 8, 1), func() { g.write(s) })
	visit(48, g.sign)
}

// polls: votes are in a file before the answer.
func polls(s *service) {
	file, votes := scratch(), sluice.NewBounded[*entry](64, nil)
	new(sync.WaitGroup).Go(func() {
		for many := make([]*entry, s.choose(batch, 64, 1)); ; {
			n, _ := votes.RecvBatch(context.Background(), many)
			_, _ = file.WriteAt([]byte("vote"), 0)
			_ = file.Sync()
			for _, vote := range many[:n] {
				close(vote.safe)
			}
			s.done(n)
		}
	})
	visit(24, func(w http.ResponseWriter, r *http.Request) {
		vote := &entry{safe: make(chan struct{})}
		if votes.Send(r.Context(), vote) == nil {
			<-vote.safe
		}
	})
}

// mails: mails are sent, one after the other.
func mails(s *service) {
	ask, box := s.asker(2*time.Millisecond), sluice.NewBounded[int](100, nil)
	fill(box, 2, 1)
	employ(s, box, s.choose(moreReceivers, 32, 1), func(int) error { return ask() })
}

// scans: pictures are read by a service, and the lengths of their texts counted.
func scans(s *service) {
	ask, pictures := s.asker(2*time.Millisecond), sluice.NewRendezvous[int](nil)
	fill(pictures, 4, 7)
	recognize := func(context.Context, int) (int, error) { return len("text"), ask() }
	texts := workers.Map(context.Background(), pictures, s.choose(moreReceivers, 16, 1), recognize, nil)
	go func() {
		for range texts.All() {
			s.done(1)
		}
	}()
}

// A delivery is the number of a street.
type delivery int

func (delivery) deliver(ask func() error) error { return ask() }

// couriers: deliveries of a street stay in order.
func couriers(s *service) {
	ctx, ask, in := context.Background(), s.asker(1500*time.Microsecond), sluice.NewBounded[int](64, nil)
	go numbers(func(n int) { _ = in.Send(ctx, n%50) })
	s.keyed(in, s.choose(moreReceivers, 16, 1), func(street int) error { return delivery(street).deliver(ask) })
}

// keyed calls f with the values of a channel, by n workers that keep those of a key in order.
func (s *service) keyed(c *sluice.Bounded[int], n int, f func(key int) error) {
	go workers.RunKeyed(context.Background(), c, n, func(key int) int { return key }, func(_ context.Context, key int) error {
		defer s.done(1)
		return f(key)
	}, nil)
}

// place returns the shard of the n-th value: the first has nine of ten.
func (s *service) place(n, shards int) int {
	if n%10 != 0 && !s.with(balance) {
		return 0
	}
	return n * 7 % shards
}

// regions: votes are counted by region.
func regions(s *service) {
	counts := make([]chan int, 4)
	for i := range counts {
		counts[i] = make(chan int, 64)
		go func() { take(s, counts[i], func(n int) { keep(work(n)) }) }()
	}
	spawn(2, func() { numbers(func(n int) { counts[s.place(n, len(counts))] <- 32_000 }) })
}

// lanes are channels that values are spread over by a function of their key.
type lanes[T any] struct {
	lanes []chan T
	lane  func(T) int
}

func (l *lanes[T]) send(ctx context.Context, v T) error { return send(ctx, l.lanes[l.lane(v)], v) }

// buses: the reports of bus lines.
func buses(s *service) {
	l := &lanes[int]{make([]chan int, 6), func(n int) int { return s.place(n, 6) }}
	ask := s.asker(time.Millisecond)
	group, ctx := errgroup.WithContext(context.Background())
	for i := range l.lanes {
		l.lanes[i] = make(chan int, 8)
		group.Go(s.until(func() error {
			<-l.lanes[i]
			return ask()
		}))
	}
	start(4, group.Go, func() error {
		for n := 0; l.send(ctx, n) == nil; n++ {
		}
		return nil
	})
}

// shops: sales of a shop stay in order, and one shop has nearly all.
func shops(s *service) {
	ask, sales := s.asker(time.Millisecond), sluice.NewBounded[int](64, nil)
	go numbers(func(n int) { _ = sales.Send(context.Background(), s.place(n, 40)) })
	s.keyed(sales, 8, func(int) error { return ask() })
}

type crate interface{ add(grams int) }

type lined chan int

func (c lined) add(grams int) { c <- grams }

// orchards: fruit is weighed, a crate for each sort.
func orchards(s *service) {
	crates := map[int]crate{}
	for sort := range 9 {
		c := make(lined, 32)
		crates[sort] = c
		go func() { take(s, c, func(n int) { hash(page[:n]) }) }()
	}
	go numbers(func(n int) { crates[s.place(n, len(crates))].add(30_000) })
}

// weather: subscriptions of a hub, of which one asks elsewhere about each value.
func weather(s *service) {
	reports, link, size := hub.New[int](64, nil), remote.StartBackend().Dial(), s.choose(batch, 32, 1)
	for i := range 4 {
		sub, n := remote.Must(reports.Subscribe(nil)), 0
		s.callers(1, func() error {
			_, err := sub.Recv(context.Background())
			if n++; i == 1 && n%size == 0 {
				_ = link.Ask(400 * time.Microsecond)
			}
			return err
		})
	}
	fill(reports, 1, 3)
}

// sinks opens connections, the last of which is read slowly. With the remedy, each gets blocks
// from a goroutine of its own.
func (s *service) sinks(n int, block []byte) (all []io.Writer, apart bool) {
	b := remote.StartBackend()
	for i := range n {
		client := b.Sink(i == n-1)
		all = append(all, client)
		if s.with(moreReceivers) {
			s.loop(1, func() { _, _ = client.Write(block) })
		}
	}
	return all, s.with(moreReceivers)
}

// stocks: blocks of prices go to four clients.
func stocks(s *service) {
	clients, apart := s.sinks(4, page[:8192])
	if apart {
		return
	}
	blocks := make(chan []byte, 64)
	feed(blocks, 1, page[:8192])
	go func() {
		for b := range blocks {
			for _, c := range clients {
				_, _ = c.Write(b)
				s.done(1)
			}
		}
	}()
}

// writeAll writes a value to each writer.
func writeAll[W io.Writer](s *service, to []W, b []byte) error {
	for _, w := range to {
		if _, err := w.Write(b); err != nil {
			return err
		}
		s.done(1)
	}
	return nil
}

// chats: rooms whose lines go to each of five members.
func chats(s *service) {
	members, apart := s.sinks(5, page[:4096])
	if apart {
		return
	}
	lines := sluice.NewBounded[int](32, nil)
	fill(lines, 3, 4096)
	go func() {
		for length := range lines.Values(context.Background()).All() {
			_ = writeAll(s, members, page[:length])
		}
	}()
}
