// Service runs named channels under load, for the tests of package live, for the pictures
// of the live page and of sluice watch, and for trying the page in a browser:
//
//	go run ./live/service -addr localhost:6060              channels of each kind
//	go run ./live/service -addr localhost:6060 -pipeline    the stages of a web shop
//
// Its first line of output is the address of the page.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/livepage"
)

// Names of channels that the tests look up.
const (
	still   = "still"                                                     // 5 of its 16 slots stay filled
	stuck   = "stuck"                                                     // stays full, with 40 waiting senders
	hostile = `<img src=x onerror="planted=1"><script>planted=1</script>` // a name must be shown as text
)

func main() {
	addr := flag.String("addr", "127.0.0.1:0", "address to serve on")
	many := flag.Int("many", 0, "number of additional idle channels")
	stages := flag.Bool("pipeline", false, "run a pipeline of stages instead of channels of each kind")
	life := flag.Duration("for", 5*time.Minute, "exit after this time")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), *life)
	defer cancel()
	mux := http.NewServeMux()
	livepage.Register(mux)
	var kept []both
	if *stages {
		mux.Handle("/slow", newPipeline(ctx))
	} else {
		mux.HandleFunc("/drop", drop())
		var err error
		if kept, err = channels(ctx, *many); err != nil {
			fail(err)
		}
	}
	listener, err := net.Listen("tcp", *addr)
	if err != nil {
		fail(err)
	}
	fmt.Printf("http://%s/debug/sluice\n", listener.Addr())
	server := &http.Server{Handler: mux}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.Serve(listener); err != http.ErrServerClosed {
		fail(err)
	}
	runtime.KeepAlive(kept) // unreachable channels leave the list
}

// drop returns a handler that drops a channel.
func drop() http.HandlerFunc {
	var fleeting atomic.Pointer[sluice.Bounded[int]]
	fleeting.Store(sluice.NewBounded[int](4, &sluice.BoundedOptions[int]{Name: "fleeting"}))
	return func(http.ResponseWriter, *http.Request) {
		fleeting.Store(nil)
		runtime.GC()
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "service:", err)
	os.Exit(1)
}

// A both is a channel of any kind.
type both interface {
	sluice.Sender[int]
	sluice.Receiver[int]
}

// channels creates the channels and starts the goroutines that use them.
func channels(ctx context.Context, many int) (kept []both, err error) {
	named := func(name string) *sluice.BoundedOptions[int] { return &sluice.BoundedOptions[int]{Name: name} }
	busy := []both{
		sluice.NewRendezvous(&sluice.RendezvousOptions[int]{Name: "busy/rendezvous"}),
		sluice.NewBounded[int](64, named("busy/bounded")),
		sluice.NewElastic(10_000, &sluice.ElasticOptions[int]{Name: "busy/elastic"}),
		sluice.NewSharded(256, &sluice.ShardedOptions[int]{Name: "busy/sharded"}),
		sluice.NewPriority(3, 256, &sluice.PriorityOptions[int]{
			Name: "busy/priority", LevelOf: func(v int) int { return max(0, v) % 3 }}),
		sluice.NewDelay(256, &sluice.DelayOptions[int]{Name: "busy/delay"}),
	}
	for _, c := range busy {
		work(ctx, c, 4, 2)
	}
	idle := func(capacity, filled int, o *sluice.BoundedOptions[int]) both {
		c := sluice.NewBounded[int](capacity, o)
		for v := range filled {
			if failed := c.TrySend(v); failed != nil {
				err = failed
			}
		}
		kept = append(kept, c)
		return c
	}
	idle(16, 5, named(still))
	work(ctx, idle(32, 32, named(stuck)), 40, 0)
	idle(8, 0, named(hostile))
	idle(4, 1, named("closed")).Close()
	idle(8, 3, named("日本語の名前"))
	latest := idle(1, 0, &sluice.BoundedOptions[int]{Name: "latest", Overflow: sluice.DropOldest})
	work(ctx, latest, 2, 1)
	for i := range 12 {
		idle(8, i%8, named(fmt.Sprintf("orders/%02d", i)))
	}
	for i := range many {
		idle(64, i%64, named(fmt.Sprintf("connection/%05d", i)))
	}
	return append(kept, busy...), err
}

// work starts goroutines that send and receive at a pace that leaves the machine
// mostly idle.
func work(ctx context.Context, c both, senders, receivers int) {
	for range senders {
		go func() {
			for v := 0; c.Send(ctx, v) == nil; v++ {
				time.Sleep(5 * time.Millisecond)
			}
		}()
	}
	for range receivers {
		go func() {
			for {
				if _, err := c.Recv(ctx); err != nil {
					return
				}
				time.Sleep(2 * time.Millisecond)
			}
		}()
	}
}
