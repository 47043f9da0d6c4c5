package main

import (
	"context"
	"database/sql"
	"math/rand/v2"
	"net/http"
	"runtime"
	"sync"
	"time"

	"github.com/sluice-go/sluice/bench/doctorlab/remote"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
)

// Services that get stuck: goroutines that are left behind by each request, those that wait for
// each other for ever, while new requests wait too, and pools whose holders wait for the pool.

// leftRate is how many a second are.
const leftRate = 250

type watcher struct{ changes chan int }

func (w *watcher) follow(ctx context.Context) {
	for {
		if _, err := recv(ctx, w.changes); err != nil {
			return
		}
	}
}

// folders: a watcher for each client.
func folders(s *service) {
	go every(leftRate, func(int) {
		ctx, cancel := context.WithCancel(context.Background())
		w := &watcher{make(chan int, 1)}
		go w.follow(ctx)
		w.changes <- 1
		if s.with(release) {
			cancel()
		}
		runtime.KeepAlive(cancel)
		s.done(1)
	})
}

// merge passes values of two channels on.
func merge[T any](a, b <-chan T) <-chan T {
	out := make(chan T)
	var wg sync.WaitGroup
	for _, in := range []<-chan T{a, b} {
		wg.Go(func() {
			for v := range in {
				out <- v
			}
		})
	}
	go func() { wg.Wait(); close(out) }()
	return out
}

// hikes: results of two sources are merged for each request.
func hikes(s *service) {
	go every(leftRate, func(n int) {
		a, b := make(chan int, 1), make(chan int, 1)
		all := merge(a, b)
		a <- n
		b <- n
		<-all
		<-all
		if s.with(release) {
			close(a)
			close(b)
		}
		s.done(1)
	})
}

type searcher interface{ search(text string) int }

type replica struct{ delay time.Duration }

func (r *replica) search(text string) int {
	time.Sleep(r.delay)
	return len(text)
}

func first(all []searcher, text string, capacity int) int {
	results := make(chan int, capacity)
	for _, r := range all {
		go func() { results <- r.search(text) }()
	}
	return <-results
}

// libraries: the first of three replicas answers.
func libraries(s *service) {
	replicas := []searcher{&replica{0}, &replica{time.Millisecond}, &replica{2 * time.Millisecond}}
	go every(leftRate, func(int) {
		keep(uint32(first(replicas, "title", s.choose(release, 3, 0))))
		s.done(1)
	})
}

// bridges: two accounts are locked in two orders.
func bridges(s *service) {
	var north, south sync.Mutex
	cross := func(a, b *sync.Mutex) {
		a.Lock()
		defer a.Unlock()
		time.Sleep(time.Millisecond)
		b.Lock()
		defer b.Unlock()
		s.done(1)
	}
	go cross(&south, &north)
	spawn(20, func() { cross(&north, &south) })
}

type newsroom struct {
	mu    sync.Mutex
	desks map[int]chan string
}

func (n *newsroom) publish(text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, d := range n.desks {
		d <- text
	}
}

func (n *newsroom) leave(id int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.desks, id)
}

func (n *newsroom) read(id int, desk <-chan string) {
	for range 3 {
		<-desk
	}
	n.leave(id)
}

// papers: a reader leaves, while a publisher sends to it.
func papers(s *service) {
	n := &newsroom{desks: map[int]chan string{}}
	for id := range 4 {
		n.desks[id] = make(chan string)
		go n.read(id, n.desks[id])
	}
	s.loop(6, func() { n.publish("text") })
}

// surveys: answers are read when all are in, and there is no room for them.
func surveys(s *service) {
	type answer struct{ yes bool }
	ask := func(people int) (yes int) {
		answers := make(chan answer, 4)
		var wg sync.WaitGroup
		for range people {
			wg.Go(func() { answers <- answer{true} })
		}
		wg.Wait()
		close(answers)
		for range answers {
			yes++
		}
		return yes
	}
	s.loop(5, func() { keep(uint32(ask(3 + rand.IntN(3)))) })
}

type settings struct {
	mu     sync.RWMutex
	values map[string]string
}

func (t *settings) get(name string) string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.values[name]
}

func (t *settings) both(a, b string) string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	time.Sleep(time.Millisecond)
	return t.get(a) + t.get(b)
}

func (t *settings) set(name, value string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.values[name] = value
}

// themes: a reader reads again while a writer waits.
func themes(s *service) {
	t := &settings{values: map[string]string{}}
	s.grouped(8, func(context.Context) error {
		keep(uint32(len(t.both("font", "color"))))
		return nil
	})
	go func() {
		for range time.Tick(5 * time.Millisecond) {
			t.set("font", "serif")
		}
	}()
}

type warehouse struct{ db *sql.DB }

func (w *warehouse) ship(item int) error {
	tx, err := w.db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.Exec("INSERT", item); err != nil {
		return err
	}
	if _, err := w.db.Exec("UPDATE", item); err != nil { // not of the transaction
		return err
	}
	return tx.Commit()
}

// shipments: items are booked twice.
func shipments(s *service) {
	w := &warehouse{remote.StartBackend().Database(time.Millisecond)}
	w.db.SetMaxOpenConns(4)
	visit(40, func(http.ResponseWriter, *http.Request) {
		if w.ship(1) == nil {
			s.done(1)
		}
	})
}

// lookups: an address needs two connections.
func lookups(s *service) {
	free := newPool(4).free
	s.loop(24, func() {
		l := <-free
		_ = l.Ask(time.Millisecond)
		second := <-free
		_ = second.Ask(time.Millisecond)
		free <- l
		free <- second
	})
}

type kitchen struct{ ovens *semaphore.Weighted }

func (k *kitchen) cook(ctx context.Context, parts int) error {
	if err := k.ovens.Acquire(ctx, 1); err != nil {
		return err
	}
	defer k.ovens.Release(1)
	time.Sleep(time.Millisecond)
	if parts == 0 {
		return nil
	}
	return k.cook(ctx, parts-1)
}

// menus: a dish has parts, which need an oven too.
func menus(s *service) {
	k := &kitchen{semaphore.NewWeighted(3)}
	start(20, new(sync.WaitGroup).Go, func() {
		for k.cook(context.Background(), 1) == nil {
			s.done(1)
		}
	})
}

// families: members are visited by a limited group, and so are theirs.
func families(s *service) {
	var group errgroup.Group
	group.SetLimit(4)
	var call func(depth int) error
	call = func(depth int) error {
		time.Sleep(time.Millisecond)
		if depth > 0 {
			start(3, group.Go, func() error { return call(depth - 1) })
		}
		s.done(1)
		return nil
	}
	go func() { forever(func() { group.Go(func() error { return call(3) }) }) }()
}
