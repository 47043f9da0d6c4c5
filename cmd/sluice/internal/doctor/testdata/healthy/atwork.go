package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/rpc"
	"os/exec"
	"sync"
	"time"

	"github.com/sluice-go/sluice"
)

func sluiceElastic() {
	c := sluice.NewElastic[int](8, nil)
	go func() {
		for {
			if _, err := c.Recv(context.Background()); err != nil {
				return
			}
		}
	}()
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

func sluicePriority() {
	c := sluice.NewPriority[int](2, 8, nil)
	for range 3 {
		go func() {
			for {
				if _, err := c.Recv(context.Background()); err != nil {
					return
				}
			}
		}()
	}
}

// pausedWorker waits at a gate that an operator opens.
func pausedWorker() {
	var mu sync.Mutex
	open, paused := sync.NewCond(&mu), true
	for range 4 {
		go func() {
			mu.Lock()
			defer mu.Unlock()
			for paused {
				open.Wait()
			}
		}()
	}
}

func leaderElection() {
	lead := make(chan struct{}, 1)
	for range 3 {
		go func() {
			lead <- struct{}{} // one leads until it ends, the others stand by
			defer func() { <-lead }()
			for range time.Tick(50 * time.Millisecond) {
			}
		}()
	}
}

func ticker() {
	for range 3 {
		go func() {
			for range time.Tick(time.Hour) {
			}
		}()
	}
}

type cache struct {
	mu     sync.RWMutex
	values map[string]int
}

func (c *cache) evict(ctx context.Context) {
	t := time.NewTicker(100 * time.Millisecond)
	for {
		select {
		case <-t.C:
			c.mu.Lock()
			clear(c.values)
			c.mu.Unlock()
		case <-ctx.Done():
			return
		}
	}
}

func (c *cache) get(key string) int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.values[key]
}

func janitor() {
	c := &cache{values: map[string]int{}}
	go c.evict(context.Background())
	for range 4 {
		go func() {
			for {
				c.get("a")
				time.Sleep(time.Millisecond)
			}
		}()
	}
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

func keepAlive() {
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			if r, err := http.Get(s.URL); err == nil {
				io.Copy(io.Discard, r.Body)
				r.Body.Close()
			}
		})
	}
	all.Wait()
}

func longPoll() {
	events := make(chan int)
	serve(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-events:
		case <-r.Context().Done():
		}
	}, 10)
}

type client struct {
	conn net.Conn
	out  chan []byte
}

func (c *client) read(all chan<- []byte) {
	in := bufio.NewReader(c.conn)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		all <- line
	}
}

func (c *client) write() {
	for line := range c.out {
		c.conn.Write(line)
	}
}

func chat() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return
	}
	lines := make(chan []byte)
	go func() {
		for range lines {
		}
	}()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			c := &client{conn, make(chan []byte, 4)}
			go c.read(lines)
			go c.write()
		}
	}()
	for range 10 {
		if conn, err := net.Dial("tcp", listener.Addr().String()); err == nil {
			conn.Write([]byte("hello\n"))
		}
	}
	select {}
}

// Slow answers after a while.
type Slow struct{}

// Answer sleeps.
func (Slow) Answer(int, *int) error { time.Sleep(50 * time.Millisecond); return nil }

func rpcClient() {
	here, there := net.Pipe()
	s := rpc.NewServer()
	s.Register(Slow{})
	go s.ServeConn(there)
	c := rpc.NewClient(here)
	for range 5 {
		go func() {
			for c.Call("Slow.Answer", 1, new(int)) == nil {
			}
		}()
	}
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

func lineReader() {
	r, w := io.Pipe()
	lines := make(chan string)
	go func() {
		for in := bufio.NewScanner(r); in.Scan(); {
			lines <- in.Text()
		}
	}()
	go func() {
		for range lines {
		}
	}()
	io.WriteString(w, "a\nb\n")
}

func childProcess() {
	for range 3 {
		go exec.Command("sleep", "2").Run()
	}
}

func retry() {
	for range 5 {
		go func() {
			for wait := 10 * time.Millisecond; ; wait *= 2 {
				time.Sleep(wait)
			}
		}()
	}
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
