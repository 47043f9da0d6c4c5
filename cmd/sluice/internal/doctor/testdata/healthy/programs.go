package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/rpc"
	"os"
	"os/signal"
	"sync"
	"time"

	"github.com/sluice-go/sluice"
)

// The programs are healthy: at rest, at work, or as fast as their slowest part allows.
func init() {
	for name, program := range map[string]func(){
		// At rest: goroutines that wait for work.
		"pool":             func() { newPool(100) },
		"condQueue":        condQueue,
		"actors":           actors,
		"waitForSignal":    waitForSignal,
		"mainWaitsForAll":  mainWaitsForAll,
		"closerWaits":      closerWaits,
		"forever":          func() { go func() { select {} }(); select {} },
		"background":       func() { go func() { <-context.Background().Done() }() },
		"idGenerator":      idGenerator,
		"tokenBucket":      tokenBucket,
		"tokensByMethod":   func() { go (&bucket{make(chan struct{}, 2)}).loop() },
		"freeList":         freeList,
		"prefetchAndWait":  prefetchAndWait,
		"twoGenerators":    func() { idGenerator(); tokenBucket() },
		"onceInit":         onceInit,
		"afterFunc":        func() { context.AfterFunc(context.Background(), func() {}); time.AfterFunc(time.Hour, func() {}) },
		"errgroupAtRest":   errgroupAtRest,
		"sluiceBounded":    sluiceBounded,
		"sluiceRendezvous": sluiceRendezvous,
		// Timers and the outside.
		"httpServer": httpServer,
		"slowServer": slowServer,
		"batcher":    batcher,
		// At work: senders and lock waiters that wait for something slow.
		"slowSink":          slowSink,
		"slowNetwork":       slowNetwork,
		"contendedLock":     contendedLock,
		"lockDuringIO":      lockDuringIO,
		"readersAndWriter":  readersAndWriter,
		"semaphoreBusy":     semaphoreBusy,
		"computeBehindLock": computeBehindLock,
		"fanIn":             fanIn,
		"hotChannel":        hotChannel,
		"backpressure":      backpressure,
		"growingPool":       growingPool,
		"parallelHash":      parallelHash,
	} {
		register(name, program)
	}
}

type pool struct {
	jobs chan func()
	done sync.WaitGroup
}

func newPool(n int) *pool {
	p := &pool{jobs: make(chan func())}
	for range n {
		p.done.Go(p.work)
	}
	return p
}

func (p *pool) work() {
	for job := range p.jobs {
		job()
	}
}

type queue struct {
	mu     sync.Mutex
	ready  sync.Cond
	values []int
}

func (q *queue) get() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.values) == 0 {
		q.ready.Wait()
	}
	v := q.values[0]
	q.values = q.values[1:]
	return v
}

func (q *queue) put(v int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.values = append(q.values, v)
	q.ready.Signal()
}

func condQueue() {
	q := new(queue)
	q.ready.L = &q.mu
	for range 10 {
		go func() {
			for {
				q.get()
			}
		}()
	}
	for i := range 100 {
		q.put(i)
	}
}

type actor struct {
	inbox chan int
	peer  *actor
}

func (a *actor) send(v int) { a.inbox <- v }

func (a *actor) run() {
	for v := range a.inbox {
		if v > 0 {
			a.peer.send(v - 1)
		}
	}
}

func actors() {
	a, b := &actor{inbox: make(chan int, 1)}, &actor{inbox: make(chan int, 1)}
	a.peer, b.peer = b, a
	go a.run()
	go b.run()
	a.send(100)
}

func waitForSignal() {
	newPool(3)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	<-ctx.Done()
}

func mainWaitsForAll() { newPool(10).done.Wait() }

func closerWaits() {
	p := newPool(4)
	results := make(chan int)
	go func() {
		p.done.Wait()
		close(results)
	}()
	for range results {
	}
}

func idGenerator() {
	ids := make(chan int)
	go func() {
		for i := 0; ; i++ {
			ids <- i
		}
	}()
	<-ids
}

type bucket struct{ tokens chan struct{} }

func (b *bucket) fill() {
	for range time.Tick(time.Millisecond) {
		b.tokens <- struct{}{}
	}
}

func (b *bucket) put() { b.tokens <- struct{}{} }

func (b *bucket) loop() {
	for {
		b.put()
	}
}

func tokenBucket() {
	b := &bucket{make(chan struct{}, 10)}
	go b.fill()
}

func freeList() {
	free := make(chan []byte, 8)
	go func() {
		for {
			free <- make([]byte, 1024)
		}
	}()
}

func prefetchAndWait() {
	pages := make(chan int)
	var both sync.WaitGroup
	both.Go(func() {
		for page := range 100 {
			pages <- page
		}
	})
	both.Go(func() {
		for range time.Tick(time.Hour) {
			<-pages
		}
	})
	both.Wait()
}

func onceInit() {
	loaded := make(chan struct{})
	load := sync.OnceFunc(func() { <-loaded })
	for range 3 {
		go load()
	}
	go func() {
		time.Sleep(time.Hour)
		close(loaded)
	}()
}

func errgroupAtRest() {
	ctx, cancel := context.WithCancelCause(context.Background())
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			<-ctx.Done()
		})
	}
	all.Wait()
	cancel(errors.New("ended"))
}

func sluiceBounded() {
	c := sluice.NewBounded[int](8, nil)
	for range 5 {
		go func() {
			for {
				if _, err := c.Recv(context.Background()); err != nil {
					return
				}
			}
		}()
	}
	c.Send(context.Background(), 1)
}

func sluiceRendezvous() {
	c := sluice.NewRendezvous[int](nil)
	go func() { // a generator
		for i := 0; c.Send(context.Background(), i) == nil; i++ {
		}
	}()
	c.Recv(context.Background())
}

func serve(handler http.HandlerFunc, clients int) {
	s := httptest.NewServer(handler)
	for range clients {
		go func() {
			for {
				r, err := http.Get(s.URL)
				if err != nil {
					return
				}
				io.Copy(io.Discard, r.Body)
				r.Body.Close()
			}
		}()
	}
}

func httpServer() {
	newPool(4)
	serve(func(http.ResponseWriter, *http.Request) { time.Sleep(20 * time.Millisecond) }, 8)
}

// slowServer has a client whose server takes its time.
func slowServer() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return
	}
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return
	}
	c := rpc.NewClient(conn)
	go feed(4, func(v int) { c.Call("Slow.Answer", v, new(int)) })
}

func batcher() {
	values := make(chan int)
	go func() {
		for batch := []int(nil); ; {
			select {
			case v := <-values:
				batch = append(batch, v)
			case <-time.After(time.Minute):
				batch = nil
			}
		}
	}()
	values <- 1
}

// feed has n senders to a channel with one slow receiver.
func feed(n int, receive func(int)) {
	values := make(chan int)
	for range n {
		go func() {
			for i := 0; ; i++ {
				values <- i
			}
		}()
	}
	go func() {
		for v := range values {
			receive(v)
		}
	}()
}

func slowSink() { feed(4, func(int) { time.Sleep(500 * time.Millisecond) }) }

func slowNetwork() {
	here, there := net.Pipe()
	go func() {
		for b := make([]byte, 1); ; time.Sleep(400 * time.Millisecond) {
			there.Read(b)
		}
	}()
	feed(6, func(int) { here.Write([]byte("a")) })
}

type account struct {
	mu      sync.Mutex
	balance int
}

func (a *account) deposit(wait func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	wait()
	a.balance++
}

func deposits(n int, wait func()) {
	a := new(account)
	for range n {
		go func() {
			for {
				a.deposit(wait)
			}
		}()
	}
}

func contendedLock() { deposits(10, func() { time.Sleep(100 * time.Millisecond) }) }

func lockDuringIO() {
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(600 * time.Millisecond) }))
	deposits(5, func() {
		if r, err := http.Get(s.URL); err == nil {
			r.Body.Close()
		}
	})
}

func computeBehindLock() { deposits(8, func() { hash(200 * time.Millisecond) }) }

func hash(d time.Duration) {
	sum := sha256.Sum256(nil)
	for end := time.Now().Add(d); time.Now().Before(end); {
		sum = sha256.Sum256(sum[:])
	}
}

type cache struct {
	mu     sync.RWMutex
	values map[string]int
}

func (c *cache) get(key string) int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.values[key]
}

func readersAndWriter() {
	c := &cache{values: map[string]int{}}
	for range 6 {
		go func() {
			for {
				c.get("a")
			}
		}()
	}
	go func() {
		for i := 0; ; i++ {
			c.mu.Lock()
			time.Sleep(300 * time.Millisecond)
			c.values["a"] = i
			c.mu.Unlock()
		}
	}()
}

func semaphoreBusy() {
	slots := make(chan struct{}, 2)
	for range 10 {
		go func() {
			for {
				slots <- struct{}{}
				time.Sleep(400 * time.Millisecond)
				<-slots
			}
		}()
	}
}

func fanIn() {
	values, sums := make(chan int), make(chan int)
	for range 4 {
		go func() {
			for v := range values {
				sums <- v
			}
		}()
	}
	go func() {
		for range sums {
			time.Sleep(350 * time.Millisecond)
		}
	}()
	for i := range 1000 {
		values <- i
	}
}

func hotChannel() { feed(8, func(int) {}) }

func backpressure() {
	c := sluice.NewBounded[int](4, nil)
	for range 4 {
		go func() {
			for i := 0; c.Send(context.Background(), i) == nil; i++ {
			}
		}()
	}
	for {
		c.Recv(context.Background())
		time.Sleep(500 * time.Millisecond)
	}
}

func growingPool() {
	jobs := make(chan int)
	for range 20 {
		go func() {
			for range jobs {
			}
		}()
		time.Sleep(60 * time.Millisecond)
	}
}

func parallelHash() {
	for {
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() { hash(20 * time.Millisecond) })
		}
		all.Wait()
	}
}
