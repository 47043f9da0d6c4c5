package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/bench/doctorlab/remote"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
)

// Services whose cost is something else: locks, conditions, loops that poll beside goroutines
// that need the cores, memory, and cores that the program has, or believes that it has.

// profiles: views of profiles are read and sometimes changed.
func profiles(s *service) {
	type section struct {
		sync.RWMutex
		views [256]uint32
		_     [64]byte
	}
	sections := make([]section, s.choose(split, 64, 1))
	s.loop(12, func() {
		n := rand.IntN(1 << 16)
		p := &sections[n%len(sections)]
		if n%3 == 0 {
			p.RLock()
			defer p.RUnlock()
			keep(work(1024) + p.views[n&255])
			return
		}
		p.Lock()
		p.views[n&255] += work(4096)
		p.Unlock()
	})
}

// Memo remembers results by key.
type memo[K comparable, V any] struct {
	mu   sync.Mutex
	seen map[K]V
	_    [64]byte
}

func (m *memo[K, V]) load(k K, f func() V) V {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.seen) > 64 {
		clear(m.seen)
	}
	if _, ok := m.seen[k]; !ok {
		m.seen[k] = f()
	}
	return m.seen[k]
}

// routes: ways between towns are remembered.
func routes(s *service) {
	memos := make([]memo[int, uint32], s.choose(split, 32, 1))
	for i := range memos {
		memos[i].seen = map[int]uint32{}
	}
	start(10, new(sync.WaitGroup).Go, s.again(func() {
		n := rand.IntN(1 << 16)
		keep(memos[n%len(memos)].load(n, func() uint32 { return work(4096) }))
	}))
}

type counts struct {
	sync.Mutex
	words map[string]int
}

func (c *counts) locked(f func()) {
	c.Lock()
	f()
	c.Unlock()
}

func (c *counts) count(text string) {
	c.locked(func() {
		for word := range strings.FieldsSeq(text) {
			c.words[word]++
		}
	})
}

// essays: words of texts are counted.
func essays(s *service) {
	shelves := make([]*counts, s.choose(split, 16, 1))
	for i := range shelves {
		shelves[i] = &counts{words: map[string]int{}}
	}
	text := strings.Repeat("to be or not to be ", 12)
	s.grouped(8, func(context.Context) error {
		shelves[rand.IntN(len(shelves))].count(text)
		return nil
	})
}

// wakes returns what a service wakes the waiters of a condition with.
func (s *service) wakes(c *sync.Cond) func() {
	if s.with(wakeOne) {
		return c.Signal
	}
	return c.Broadcast
}

// trains: passengers wait on a platform for a seat.
func trains(s *service) {
	var mu sync.Mutex
	arrived, free, ask := sync.NewCond(&mu), 0, s.asker(0)
	arrive := s.wakes(arrived)
	s.loop(300, func() {
		mu.Lock()
		for free == 0 {
			arrived.Wait()
		}
		free--
		mu.Unlock()
	})
	spawn(6, func() {
		for ask() == nil {
			mu.Lock()
			free++
			arrive()
			mu.Unlock()
		}
	})
}

// Backlog is a queue.
type backlog[T any] struct {
	sync.Mutex
	filled *sync.Cond
	items  []T
	wake   func()
}

func (b *backlog[T]) put(v T) {
	b.Lock()
	b.items = append(b.items, v)
	b.Unlock()
	b.wake()
}

func (b *backlog[T]) get() T {
	b.Lock()
	defer b.Unlock()
	for len(b.items) == 0 {
		b.filled.Wait()
	}
	v := b.items[0]
	b.items = append(b.items[:0], b.items[1:]...)
	return v
}

// tasks: a queue with many idle workers.
func tasks(s *service) {
	b, ask := new(backlog[uint32]), s.asker(0)
	b.filled = sync.NewCond(b)
	b.wake = s.wakes(b.filled)
	var wg sync.WaitGroup
	start(250, wg.Go, s.again(func() { keep(b.get()) }))
	start(8, wg.Go, func() {
		for ask() == nil {
			b.put(2)
		}
	})
}

type valve struct {
	sync.Mutex
	open  *sync.Cond
	drops int
}

// turn takes drops, or gives them.
func (v *valve) turn(drops int, after func()) {
	v.Lock()
	for v.drops+drops < 0 {
		v.open.Wait()
	}
	v.drops += drops
	v.Unlock()
	after()
}

// fountains: a drop for many cups.
func fountains(s *service) {
	v, ask := new(valve), s.asker(0)
	v.open = sync.NewCond(v)
	notify := s.wakes(v.open)
	var group errgroup.Group
	start(350, group.Go, func() error {
		for {
			v.turn(-1, func() { s.done(1) })
		}
	})
	start(5, group.Go, func() error {
		for ask() == nil {
			v.turn(1, notify)
		}
		return nil
	})
}

// compute starts goroutines that hash on all cores.
func compute(s *service, bytes int) { s.loop(2, func() { hash(page[:bytes]) }) }

// slowly sends a value now and then.
func slowly[T any](c chan<- T, v T) {
	for range time.Tick(20 * time.Millisecond) {
		c <- v
	}
}

// rest sleeps between two polls, with the remedy.
func (s *service) rest() {
	if s.with(stopPolling) {
		time.Sleep(5 * time.Millisecond)
	}
}

// radars: echoes and commands, beside a hash of pictures.
func radars(s *service) {
	compute(s, 4096)
	echoes, commands := make(chan int), make(chan int)
	go slowly(echoes, 1)
	go slowly(commands, 2)
	spawn(2, func() {
		for {
			select {
			case <-echoes:
			case <-commands:
			default:
				s.rest()
			}
		}
	})
}

// seminars: a closed channel stays in a select.
func seminars(s *service) {
	compute(s, 1024)
	talks, breaks := make(chan int), make(chan int)
	close(breaks)
	go slowly(talks, 1)
	spawn(2, func() {
		pause := breaks
		for {
			select {
			case <-talks:
			case _, ok := <-pause:
				if !ok && s.with(stopPolling) {
					pause = nil
				}
			}
		}
	})
}

// ferries: cars are counted before a ferry takes one.
func ferries(s *service) {
	compute(s, 4096)
	cars := make(chan int, 8)
	go slowly(cars, 1)
	spawn(2, func() {
		for {
			if s.with(stopPolling) || len(cars) > 0 {
				keep(uint32(<-cars) | 2)
			}
		}
	})
}

type lamp struct{ on chan bool }

func (l *lamp) wait(block bool) bool {
	for !block && len(l.on) == 0 {
		runtime.Gosched()
	}
	return <-l.on
}

// lamps: switches wait for each other, beside a little work.
func lamps(s *service) {
	go every(500, func(int) { keep(work(20_000)); s.done(1) })
	l, block := &lamp{make(chan bool, 2)}, s.with(stopPolling)
	go slowly(l.on, true)
	spawn(2, func() {
		for l.wait(block) {
		}
	})
}

// harbors: berths are looked at in turn.
func harbors(s *service) {
	compute(s, 4096)
	berths := map[string]chan int{}
	for i := range 20 {
		c := make(chan int, 1)
		berths[fmt.Sprint("berth", i)] = c
		go slowly(c, i)
	}
	spawn(2, func() {
		for {
			s.rest()
			for _, c := range berths {
				select {
				case n := <-c:
					keep(uint32(n) | 2)
				default:
				}
			}
		}
	})
}

// images: pictures are decoded into new memory.
func images(s *service) {
	files, buffer := make(chan int, 8), make([]byte, 256<<10)
	go numbers(func(n int) { files <- n & 1023 })
	go func() {
		take(s, files, func(n int) {
			if !s.with(reuse) {
				buffer = make([]byte, 256<<10)
			}
			copy(buffer[n:], page[:4096])
		})
	}()
}

type counterOf interface{ count([]byte) int }

type fresh struct{}

func (fresh) count(text []byte) int {
	seen := make(map[[2]byte]int, 4096)
	for i := 1; i < len(text); i += 16 {
		seen[[2]byte(text[i-1:])]++
	}
	return len(seen)
}

type lasting map[[2]byte]int

func (seen lasting) count(text []byte) int {
	clear(seen)
	for i := 1; i < len(text); i += 16 {
		seen[[2]byte(text[i-1:])]++
	}
	return len(seen)
}

// languages: pairs of letters are counted.
func languages(s *service) {
	lengths := sluice.NewBounded[int](16, nil)
	fill(lengths, 3, 1024)
	var c counterOf = fresh{}
	if s.with(reuse) {
		c = lasting{}
	}
	employ(s, lengths, 1, func(n int) error {
		keep(uint32(c.count(page[:n])) + 2)
		return nil
	})
}

type report struct {
	Title string
	Rows  []map[string]any
}

func (r *report) fill(rows int) *report {
	for i := range rows {
		r.Rows = append(r.Rows, map[string]any{"row": i, "name": strings.Repeat("x", 200), "sum": float64(i)})
	}
	return r
}

// summaries: reports are built and their rows counted.
func summaries(s *service) {
	spawn(3, func() {
		for r := new(report).fill(200); ; s.done(1) {
			if !s.with(reuse) {
				r = new(report).fill(200)
			}
			for _, row := range r.Rows {
				keep(uint32(len(row)))
			}
		}
	})
}

type encoder struct {
	words []string
	out   []byte
}

// encode joins words, a copy for each.
func (e *encoder) encode() {
	text := ""
	for _, w := range e.words {
		text += w + " "
	}
	e.out = append(e.out[:0], text...)
}

func (e *encoder) encodeInto() {
	e.out = e.out[:0]
	for _, w := range e.words {
		e.out = append(append(e.out, w...), ' ')
	}
}

// documents: words are joined in several goroutines.
func documents(s *service) {
	start(4, new(sync.WaitGroup).Go, func() {
		e := &encoder{words: strings.Fields(strings.Repeat("and so on for a while ", 100))}
		encode := e.encode
		if s.with(reuse) {
			encode = e.encodeInto
		}
		s.again(encode)()
	})
}

// hashes: hashes on each core.
func hashes(s *service) { compute(s, 32<<10) }

// fractals: parts of a picture are computed by an errgroup.
func fractals(s *service) {
	s.loop(1, func() {
		var group errgroup.Group
		start(4, group.Go, func() error {
			hash(page[:50_000])
			return nil
		})
		_ = group.Wait()
	})
}

// mapAll returns f of each value, by n goroutines with parts of the same size.
func mapAll[A, B any](values []A, n int, f func(A) B) []B {
	all := make([]B, len(values))
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			for k := i; k < len(values); k += n {
				all[k] = f(values[k])
			}
		})
	}
	wg.Wait()
	return all
}

// confine takes cores from the service, unless the remedy gives more.
func (s *service) confine(f func()) {
	if !s.with(moreCores) {
		f()
	}
}

// signatures: documents are signed by workers, in a small container.
func signatures(s *service) {
	s.confine(func() { remote.Check(quota(0.4)) })
	documents := make(chan int, 16)
	feed(documents, 1, 20_000)
	spawn(4, func() { take(s, documents, func(n int) { hash(page[:n]) }) })
}

// archives: parts are hashed and joined, beside other processes.
func archives(s *service) {
	s.confine(remote.StartNeighbors)
	s.loop(1, func() {
		keep(mapAll([]int{1, 2, 3, 4}, 2, func(n int) uint32 { return work(60_000 + n) })[0])
	})
}

type studio struct{ easels *semaphore.Weighted }

func (d *studio) draw() {
	_ = d.easels.Acquire(context.Background(), 1)
	hash(page[:50_000])
	d.easels.Release(1)
}

// mosaics: tiles are drawn at a few easels, beside other processes.
func mosaics(s *service) {
	s.confine(remote.StartNeighbors)
	d := &studio{semaphore.NewWeighted(4)}
	s.loop(6, d.draw)
}
