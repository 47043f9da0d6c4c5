package stress

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/bridge"
	"go.uber.org/goleak"
)

// TestMain fails if a test leaks a goroutine. With -v it prints how many histories were recorded.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		fmt.Println(recorded.Load(), "histories")
		os.Exit(code)
	}))
}

// An ending is a way to stop using a channel.
type ending struct {
	name string
	end  func(c sluice.Channel[byte])
}

var endings = []ending{
	{"abandoned", func(sluice.Channel[byte]) {}},
	{"abandoned with values", func(c sluice.Channel[byte]) {
		for range min(c.Cap(), 3) {
			_ = c.TrySend(1)
		}
		_ = c.Ready()
	}},
	{"closed", func(c sluice.Channel[byte]) { c.Close() }},
	{"waiters closed", func(c sluice.Channel[byte]) {
		both(c, context.Background(), func() { c.Close() })
	}},
	{"waiters cancelled", func(c sluice.Channel[byte]) {
		ctx, cancel := context.WithCancel(context.Background())
		both(c, ctx, cancel)
	}},
	{"native ends closed", func(c sluice.Channel[byte]) {
		n := bridge.NewPipe(c)
		n.In <- 1
		close(n.In)
		for range n.Out {
		}
	}},
	{"native ends stopped", func(c sluice.Channel[byte]) {
		n := bridge.NewPipe(c)
		for range 300 {
			select {
			case n.In <- 1:
			default:
			}
		}
		n.Stop()
	}},
	{"stream cancelled", func(c sluice.Channel[byte]) {
		ctx, cancel := context.WithCancel(context.Background())
		_, rest := bridge.ToChan(ctx, c)
		_ = c.TrySend(1)
		cancel()
		rest()
	}},
	{"stream drained", func(c sluice.Channel[byte]) {
		values, _ := bridge.ToChan(context.Background(), c)
		c.Close()
		for range values {
		}
	}},
	{"from cancelled", func(c sluice.Channel[byte]) {
		ctx, cancel := context.WithCancel(context.Background())
		var from sync.WaitGroup
		from.Go(func() { _, _ = bridge.FromChan(ctx, c, make(chan byte)) })
		cancel()
		from.Wait()
	}},
}

// both parks goroutines on both sides, if they wait, and calls end.
func both(c sluice.Channel[byte], ctx context.Context, end func()) {
	var waiters sync.WaitGroup
	for range 3 {
		waiters.Go(func() {
			for err := error(nil); err == nil; {
				err = c.Send(ctx, 1)
			}
		})
	}
	waiters.Go(func() { _, _ = c.Recv(ctx) })
	for range 50 {
		runtime.Gosched()
	}
	end()
	waiters.Wait()
}

// TestNoLeak: however a channel's use ends, no goroutine remains.
func TestNoLeak(t *testing.T) {
	for name, open := range map[string]func() sluice.Channel[byte]{
		"Rendezvous":  func() sluice.Channel[byte] { return sluice.NewRendezvous[byte](nil) },
		"Bounded 1":   func() sluice.Channel[byte] { return sluice.NewBounded[byte](1, nil) },
		"Bounded 128": func() sluice.Channel[byte] { return sluice.NewBounded[byte](128, nil) },
		"Priority":    func() sluice.Channel[byte] { return sluice.NewPriority[byte](3, 50, nil) },
		"Delay":       func() sluice.Channel[byte] { return sluice.NewDelay[byte](50, nil) },
		"Elastic of ages": func() sluice.Channel[byte] {
			return sluice.NewAged(50, &sluice.AgedOptions[byte]{MaxAge: time.Hour, StaleAfter: 1})
		},
		"Elastic 50": func() sluice.Channel[byte] { return sluice.NewElastic[byte](50, nil) },
	} {
		for _, e := range endings {
			t.Run(name+" "+e.name, func(t *testing.T) {
				defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
				for range 10 {
					e.end(open())
				}
			})
		}
	}
}

// TestLeakIsSeen: the leak check finds a leak.
func TestLeakIsSeen(t *testing.T) {
	before := goleak.IgnoreCurrent()
	forever := make(chan struct{})
	var leaked sync.WaitGroup
	leaked.Go(func() { <-forever })
	err := goleak.Find(before)
	close(forever)
	leaked.Wait()
	if err == nil || !strings.Contains(err.Error(), "TestLeakIsSeen") {
		t.Errorf("a goroutine that waits forever is reported as %v", err)
	}
}
