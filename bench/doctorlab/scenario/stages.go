package main

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/bench/doctorlab/scenario/remote"
	"github.com/sluice-go/sluice/hub"
	"github.com/sluice-go/sluice/workers"
	"golang.org/x/sync/errgroup"
)

// backend starts a backend.
func (s *service) backend() *remote.Backend {
	b, err := remote.StartBackend()
	s.fail(err)
	return b
}

// dial opens a link to a backend.
func (s *service) dial(b *remote.Backend) *remote.Link {
	l, err := b.Dial()
	s.fail(err)
	return l
}

// fill sends a value to a channel of this module, again and again, from n goroutines.
func fill[T any](c sluice.Sender[T], n int, v T) {
	for range n {
		go func() {
			for c.Send(context.Background(), v) == nil {
			}
		}()
	}
}

// hash is work of a microsecond for about a kilobyte.
func hash(b []byte) {
	sum := sha256.Sum256(b)
	keep(uint32(sum[0]))
}

// Pipelines with one slow stage.

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
	b := s.backend()
	first, second, third, last := make(chan int, 16), make(chan int, 16), make(chan int, 16), make(chan int, 16)
	feed(first, 1, 1)
	go (&step{in: first, out: second}).run()
	for range s.choose(moreReceivers, 8, 1) {
		go (&step{second, third, s.dial(b), 800 * time.Microsecond}).run()
	}
	go (&step{in: third, out: last}).run()
	go drain(s, last)
}

// videos: eight cameras, and workers of package workers.
func videos(s *service) {
	frames := sluice.NewBounded[[]byte](32, nil)
	fill(frames, 8, page[:40_000])
	go workers.Run(context.Background(), frames, s.choose(moreReceivers, 2, 1), func(_ context.Context, frame []byte) error {
		hash(frame)
		s.done(1)
		return nil
	}, nil)
}

// pass calls f in n goroutines.
func pass[A, B any](ctx context.Context, group *errgroup.Group, in <-chan A, n int, f func(A) B) <-chan B {
	out := make(chan B, 8)
	for range n {
		group.Go(func() error {
			for a := range in {
				select {
				case out <- f(a):
				case <-ctx.Done():
					return ctx.Err()
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
	ctx, b := context.Background(), s.backend()
	wanted, drawn := sluice.NewBounded[int](32, nil), sluice.NewBounded[int](32, nil)
	fill(wanted, 1, 2000)
	go func() {
		for {
			n, err := wanted.Recv(ctx)
			if err != nil || drawn.Send(ctx, int(work(n))) != nil {
				return
			}
		}
	}()
	for range s.choose(moreReceivers, 12, 1) {
		link := s.dial(b)
		s.callers(1, func() error {
			if _, err := drawn.Recv(ctx); err != nil {
				return err
			}
			return link.Ask(500 * time.Microsecond)
		})
	}
}

// One goroutine that makes a system call, a sync or a transaction for each value.

type audit struct {
	file  *os.File
	lines chan string
	at    int64
}

// put writes at the next place of a file that does not grow for ever.
func (a *audit) put(text string) {
	if a.at > 8<<20 {
		a.at = 0
	}
	n, _ := a.file.WriteAt([]byte(text), a.at)
	a.at += int64(n)
}

func (a *audit) run(s *service) {
	var text strings.Builder
	for line := range a.lines {
		if s.with(batch) && text.Len() < 16<<10 {
			text.WriteString(line)
		} else {
			a.put(text.String() + line)
			text.Reset()
		}
		s.done(1)
	}
}

// audits: sixteen requests report to one log.
func audits(s *service) {
	a := &audit{file: s.scratch(), lines: make(chan string, 64)}
	feed(a.lines, 16, "a user has logged in\n")
	go a.run(s)
}

// entry is a record whose sender waits until it is safe.
type entry struct {
	text string
	safe chan struct{}
}

// commit receives entries, syncs them, by many with the remedy, and answers.
func commit(s *service, entries <-chan entry, safe func(many []entry)) {
	for e := range entries {
		many := []entry{e}
		for s.with(batch) && len(many) < 16 {
			select {
			case e := <-entries:
				many = append(many, e)
				continue
			default:
			}
			break
		}
		safe(many)
		for _, e := range many {
			e.safe <- struct{}{}
		}
		s.done(len(many))
	}
}

type store interface{ save(n ...int) error }

type table struct{ db *sql.DB }

func (t *table) save(numbers ...int) error {
	tx, err := t.db.Begin()
	if err != nil {
		return err
	}
	if _, err := tx.Exec("INSERT", len(numbers)); err != nil { // with any number of rows
		return err
	}
	return tx.Commit()
}

// invoices: numbers are written by one goroutine, each in a transaction.
func invoices(s *service) {
	var to store = &table{s.backend().Database(200 * time.Microsecond)}
	numbers, size := make(chan int, 256), s.choose(batch, 64, 1)
	feed(numbers, 8, 1)
	go func() {
		for many := make([]int, 0, size); ; many = many[:0] {
			for len(many) < size {
				many = append(many, <-numbers)
			}
			if to.save(many...) == nil {
				s.done(size)
			}
		}
	}()
}

// visit serves a handler to visitors of another process.
func (s *service) visit(n int, h http.HandlerFunc) {
	listener, err := net.Listen("tcp", "localhost:0")
	s.fail(err)
	go http.Serve(listener, h)
	s.fail(remote.StartVisitors(n, "http://"+listener.Addr().String()))
}

type guestbook struct {
	entries chan entry
	to      store
}

func (g *guestbook) write(s *service) {
	commit(s, g.entries, func(many []entry) { _ = g.to.save(len(many)) })
}

func (g *guestbook) sign(w http.ResponseWriter, r *http.Request) {
	e := entry{r.URL.Path, make(chan struct{}, 1)}
	g.entries <- e
	<-e.safe
	fmt.Fprintln(w, "thank you")
}

// guests: entries of a guest book, in transactions.
func guests(s *service) {
	g := &guestbook{make(chan entry, 64), &table{s.backend().Database(300 * time.Microsecond)}}
	for range s.choose(moreReceivers, 8, 1) {
		go g.write(s)
	}
	s.visit(48, g.sign)
}

// polls: votes are in a file before the answer.
func polls(s *service) {
	file, votes := s.scratch(), sluice.NewBounded[func()](64, nil)
	var wg sync.WaitGroup
	wg.Go(func() {
		for many := make([]func(), s.choose(batch, 64, 1)); ; {
			n, _ := votes.RecvBatch(context.Background(), many)
			_, _ = file.WriteAt([]byte("vote"), 0)
			_ = file.Sync()
			for _, ack := range many[:n] {
				ack()
			}
			s.done(n)
		}
	})
	s.visit(24, func(w http.ResponseWriter, r *http.Request) {
		counted := make(chan struct{})
		if votes.Send(r.Context(), func() { close(counted) }) == nil {
			<-counted
		}
	})
}

// Workers of this module that wait outside.

// mails: mails are sent, one after the other.
func mails(s *service) {
	ask, box := s.asker(2*time.Millisecond), sluice.NewBounded[string](100, nil)
	fill(box, 2, "hello")
	go workers.Run(context.Background(), box, s.choose(moreReceivers, 32, 1), func(context.Context, string) error {
		s.done(1)
		return ask()
	}, nil)
}

// scans: pictures are read by a service, and their texts counted.
func scans(s *service) {
	ask, pictures := s.asker(2*time.Millisecond), sluice.NewRendezvous[int](nil)
	fill(pictures, 4, 7)
	recognize := func(context.Context, int) (string, error) { return "text", ask() }
	texts := workers.Map(context.Background(), pictures, s.choose(moreReceivers, 16, 1), recognize, nil)
	go func() {
		for range texts.All() {
			s.done(1)
		}
	}()
}

type delivery struct{ street int }

func (d delivery) deliver(ask func() error) error { return ask() }

// couriers: deliveries of a street stay in order.
func couriers(s *service) {
	ask, in := s.asker(1500*time.Microsecond), sluice.NewBounded[delivery](64, nil)
	go func() {
		for n := 0; in.Send(context.Background(), delivery{n % 50}) == nil; n++ {
		}
	}()
	go workers.RunKeyed(context.Background(), in, s.choose(moreReceivers, 16, 1), func(d delivery) int { return d.street },
		func(_ context.Context, d delivery) error {
			s.done(1)
			return d.deliver(ask)
		}, nil)
}

// Shards of which one has most of the work.

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
		go func() {
			for n := range counts[i] {
				keep(work(n))
				s.done(1)
			}
		}()
	}
	for range 2 {
		go func() {
			for n := 0; ; n++ {
				counts[s.place(n, len(counts))] <- 32_000
			}
		}()
	}
}

// lanes are channels that values are spread over by a function of their key.
type lanes[T any] struct {
	lanes []chan T
	lane  func(T) int
}

func (l *lanes[T]) send(ctx context.Context, v T) error {
	select {
	case l.lanes[l.lane(v)] <- v:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// buses: the reports of bus lines.
func buses(s *service) {
	l := &lanes[int]{make([]chan int, 6), func(n int) int { return s.place(n, 6) }}
	ask := s.asker(time.Millisecond)
	group, ctx := errgroup.WithContext(context.Background())
	for i := range l.lanes {
		l.lanes[i] = make(chan int, 8)
		group.Go(func() error {
			for range l.lanes[i] {
				_ = ask()
				s.done(1)
			}
			return nil
		})
	}
	for range 4 {
		group.Go(func() error {
			for n := 0; l.send(ctx, n) == nil; n++ {
			}
			return nil
		})
	}
}

// shops: sales of a shop stay in order, and one shop has nearly all.
func shops(s *service) {
	ask, sales := s.asker(time.Millisecond), sluice.NewBounded[int](64, nil)
	go func() {
		for n := 0; sales.Send(context.Background(), s.place(n, 40)) == nil; n++ {
		}
	}()
	go workers.RunKeyed(context.Background(), sales, 8, func(shop int) int { return shop }, func(context.Context, int) error {
		s.done(1)
		return ask()
	}, nil)
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
		go func() {
			for n := range c {
				hash(page[:n])
				s.done(1)
			}
		}()
	}
	go func() {
		for n := 0; ; n++ {
			crates[s.place(n, len(crates))].add(30_000)
		}
	}()
}

// Hubs with one slow subscriber.

// weather: subscriptions of a hub, of which one asks elsewhere about each value.
func weather(s *service) {
	reports, ctx := hub.New[int](64, nil), context.Background()
	link, size := s.dial(s.backend()), s.choose(batch, 32, 1)
	for i := range 4 {
		sub, err := reports.Subscribe(nil)
		s.fail(err)
		go func() {
			for n := 1; ; n++ {
				if _, err := sub.Recv(ctx); err != nil {
					return
				}
				if i == 1 && n%size == 0 {
					_ = link.Ask(400 * time.Microsecond)
				}
				s.done(1)
			}
		}()
	}
	fill(reports, 1, 3)
}

// Clients of which one reads slowly.

// sinks opens connections, the last of which is read slowly. With a remedy, each gets a
// goroutine with a channel of its own, which drops blocks when it is full.
func (s *service) sinks(n int, block []byte) (all []net.Conn, apart bool) {
	b := s.backend()
	for i := range n {
		c, err := b.Sink(i == n-1)
		s.fail(err)
		all = append(all, c)
	}
	if !s.with(moreReceivers) {
		return all, false
	}
	queues := make([]chan []byte, n)
	for i, c := range all {
		queues[i] = make(chan []byte, 16)
		go func() {
			for b := range queues[i] {
				_, _ = c.Write(b)
				s.done(1)
			}
		}()
	}
	go func() {
		for {
			for _, q := range queues[:n-1] {
				q <- block
			}
			select {
			case queues[n-1] <- block:
			default:
			}
		}
	}()
	return nil, true
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
	lines := sluice.NewBounded[[]byte](32, nil)
	fill(lines, 3, page[:4096])
	go func() {
		for {
			line, err := lines.Recv(context.Background())
			if err != nil || writeAll(s, members, line) != nil {
				return
			}
		}
	}()
}
