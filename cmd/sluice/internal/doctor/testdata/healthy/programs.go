package main

import (
	"container/heap"
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice"
)

// The programs are healthy: at rest, at work, or as fast as their slowest part allows.
func init() {
	for name, program := range map[string]func(){
		// At rest: goroutines that wait for work.
		"pool":             func() { newPool(100) },
		"poolInSelect":     poolInSelect,
		"poolPerTenant":    poolPerTenant,
		"condQueue":        condQueue,
		"pipelineAtRest":   pipelineAtRest,
		"actors":           actors,
		"hub":              hub,
		"subscribers":      subscribers,
		"waitForSignal":    waitForSignal,
		"mainWaitsForAll":  mainWaitsForAll,
		"closerWaits":      closerWaits,
		"forever":          func() { go func() { select {} }(); select {} },
		"background":       func() { go func() { <-context.Background().Done() }() },
		"idGenerator":      idGenerator,
		"tokenBucket":      tokenBucket,
		"tokensByMethod":   func() { go (&bucket{make(chan struct{}, 2)}).loop() },
		"freeList":         freeList,
		"prefetch":         prefetch,
		"prefetchAndWait":  prefetchAndWait,
		"twoGenerators":    func() { idGenerator(); tokenBucket() },
		"lazySingleton":    lazySingleton,
		"onceInit":         onceInit,
		"afterFunc":        func() { context.AfterFunc(context.Background(), func() {}); time.AfterFunc(time.Hour, func() {}) },
		"requestReply":     requestReply,
		"semaphoreIdle":    semaphoreIdle,
		"errgroupAtRest":   errgroupAtRest,
		"dispatcher":       dispatcher,
		"delayQueue":       delayQueue,
		"configWatch":      configWatch,
		"sluiceBounded":    sluiceBounded,
		"sluiceElastic":    sluiceElastic,
		"sluiceRendezvous": sluiceRendezvous,
		"sluicePriority":   sluicePriority,
		"pausedWorker":     pausedWorker,
		"leaderElection":   leaderElection,
		// Timers and the outside.
		"ticker":       ticker,
		"janitor":      janitor,
		"httpServer":   httpServer,
		"keepAlive":    keepAlive,
		"longPoll":     longPoll,
		"chat":         chat,
		"rpcClient":    rpcClient,
		"slowServer":   slowServer,
		"lineReader":   lineReader,
		"childProcess": childProcess,
		"retry":        retry,
		"batcher":      batcher,
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

func poolInSelect() {
	jobs, quit := make(chan int), make(chan struct{})
	for range 20 {
		go func() {
			for {
				select {
				case <-jobs:
				case <-quit:
					return
				}
			}
		}()
	}
}

// poolPerTenant has pools that requests started.
func poolPerTenant() {
	for range 5 {
		done := make(chan *pool)
		go func() { done <- newPool(4) }()
		<-done
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

func pipelineAtRest() {
	in := make(chan int)
	for range 5 {
		out := make(chan int)
		go func(in <-chan int) {
			defer close(out)
			for v := range in {
				out <- v + 1
			}
		}(in)
		in = out
	}
	go func() {
		for range in {
		}
	}()
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

func hub() {
	register, broadcast := make(chan chan int), make(chan int)
	go func() {
		clients := map[chan int]bool{}
		for {
			select {
			case c := <-register:
				clients[c] = true
			case v := <-broadcast:
				for c := range clients {
					c <- v
				}
			}
		}
	}()
	for range 30 {
		go func() {
			c := make(chan int, 4)
			register <- c
			for range c {
			}
		}()
	}
	broadcast <- 1
}

func subscribers() {
	var mu sync.Mutex
	var all []chan int
	var subscribed sync.WaitGroup
	for range 8 { // each subscribes in a request
		subscribed.Go(func() {
			c := make(chan int, 1)
			mu.Lock()
			all = append(all, c)
			mu.Unlock()
			go func() {
				for range c {
				}
			}()
		})
	}
	subscribed.Wait()
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

func prefetch() {
	pages := make(chan int, 2)
	go func() {
		defer close(pages)
		for page := range 100 {
			pages <- page
		}
	}()
	go func() { // the reader asks for the next page each hour
		for range time.Tick(time.Hour) {
			<-pages
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

func lazySingleton() {
	var once sync.Once
	jobs := make(chan int)
	start := func() {
		go func() {
			for range jobs {
			}
		}()
	}
	for range 10 {
		go once.Do(start)
	}
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

func requestReply() {
	type request struct{ reply chan int }
	requests := make(chan request)
	go func() {
		for r := range requests {
			r.reply <- 1
		}
	}()
	for range 10 {
		r := request{make(chan int, 1)}
		requests <- r
		<-r.reply
	}
}

func semaphoreIdle() {
	slots, jobs := make(chan struct{}, 3), make(chan int)
	for range 6 {
		go func() {
			for range jobs {
				slots <- struct{}{}
				<-slots
			}
		}()
	}
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

func dispatcher() {
	idle := make(chan chan int, 4)
	for range 4 {
		jobs := make(chan int)
		go func() {
			for {
				idle <- jobs
				<-jobs
			}
		}()
	}
	work := make(chan int)
	go func() {
		for job := range work {
			(<-idle) <- job
		}
	}()
	for i := range 20 {
		work <- i
	}
}

type times []time.Time

func (t times) Len() int           { return len(t) }
func (t times) Less(i, j int) bool { return t[i].Before(t[j]) }
func (t times) Swap(i, j int)      { t[i], t[j] = t[j], t[i] }
func (t *times) Push(x any)        { *t = append(*t, x.(time.Time)) }
func (t *times) Pop() any          { old := *t; v := old[len(old)-1]; *t = old[:len(old)-1]; return v }

func delayQueue() {
	add := make(chan time.Time)
	go func() {
		var all times
		for {
			var next <-chan time.Time
			if len(all) > 0 {
				next = time.After(time.Until(all[0]))
			}
			select {
			case t := <-add:
				heap.Push(&all, t)
			case <-next:
				heap.Pop(&all)
			}
		}
	}()
	add <- time.Now().Add(time.Hour)
}

func configWatch() {
	var config atomic.Pointer[string]
	changed := make(chan string)
	go func() {
		for v := range changed {
			config.Store(&v)
		}
	}()
	changed <- "new"
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
