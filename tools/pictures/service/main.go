// Service is a small web shop's log pipeline under load, for the pictures of the live
// page and of sluice watch:
//
//	read -> lines -> parse -> events -> enrich -> orders -> store
//	                                    enrich -> samples -> aggregate
//
// parse is the slowest stage. The first line of output is the address of the page.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/livepage"
)

// An event is one line of the log.
type event struct {
	Path    string  `json:"path"`
	Seconds float64 `json:"seconds"`
	Status  int     `json:"status"`
	key     [32]byte
}

// A pipeline is the channels between the stages.
type pipeline struct {
	lines   *sluice.Bounded[[]byte]
	events  *sluice.Bounded[event]
	orders  *sluice.Elastic[event]
	samples *sluice.Bounded[float64]
	stored  atomic.Int64
	total   atomic.Int64 // of the samples, in microseconds
}

func main() {
	address := flag.String("addr", "127.0.0.1:0", "address to serve on")
	life := flag.Duration("for", time.Minute, "exit after this time")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), *life)
	defer cancel()
	listener, err := net.Listen("tcp", *address)
	if err != nil {
		fmt.Fprintln(os.Stderr, "service:", err)
		os.Exit(1)
	}
	fmt.Printf("http://%s/debug/sluice\n", listener.Addr())
	p := &pipeline{
		lines:   sluice.NewBounded[[]byte](1024, &sluice.BoundedOptions[[]byte]{Name: "lines"}),
		events:  sluice.NewBounded[event](512, &sluice.BoundedOptions[event]{Name: "events"}),
		orders:  sluice.NewElastic[event](100_000, &sluice.ElasticOptions[event]{Name: "orders"}),
		samples: sluice.NewBounded[float64](64, &sluice.BoundedOptions[float64]{Name: "samples", Overflow: sluice.DropOldest}),
	}
	for range 3 {
		go p.read(ctx)
	}
	go p.parse(ctx)
	go p.enrich(ctx)
	go p.store(ctx)
	go p.aggregate(ctx)
	mux := http.NewServeMux()
	livepage.Register(mux)
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	server := &http.Server{Handler: mux}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	_ = server.Serve(listener)
}

func (p *pipeline) read(ctx context.Context) {
	for n := 0; ; n++ {
		line := fmt.Appendf(nil, `{"path": "/orders/%d", "seconds": 0.0%d, "status": 200}`, n, n%90+10)
		if p.lines.Send(ctx, line) != nil {
			return
		}
	}
}

func (p *pipeline) parse(ctx context.Context) {
	lines := p.lines.Values(ctx)
	for line := range lines.All() {
		var e event
		if json.Unmarshal(line, &e) != nil {
			continue
		}
		e.key = sha256.Sum256(line)
		for range 160 { // a slow signature, which holds the service back
			e.key = sha256.Sum256(e.key[:])
		}
		if p.events.Send(ctx, e) != nil {
			return
		}
	}
}

func (p *pipeline) enrich(ctx context.Context) {
	events := p.events.Values(ctx)
	for e := range events.All() {
		e.Seconds *= 1.5
		if p.samples.Send(ctx, e.Seconds) != nil || p.orders.Send(ctx, e) != nil {
			return
		}
	}
}

func (p *pipeline) store(ctx context.Context) {
	batch := make([]event, 256)
	for {
		n, err := p.orders.RecvBatch(ctx, batch)
		if err != nil {
			return
		}
		p.stored.Add(int64(n))
		time.Sleep(2 * time.Millisecond) // a write to a database
	}
}

func (p *pipeline) aggregate(ctx context.Context) {
	samples := p.samples.Values(ctx)
	for seconds := range samples.All() {
		p.total.Add(int64(seconds * 1e6))
		time.Sleep(50 * time.Microsecond)
	}
}
