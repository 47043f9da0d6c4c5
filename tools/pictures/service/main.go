// Service is a small web shop's log pipeline under load, for the pictures of the live
// page and of sluice watch:
//
//	read -> lines -> parse -> events -> enrich -> orders -> store
//	                                    enrich -> samples -> aggregate
//
// parse is the slowest stage. With -paced, every stage takes a millisecond for a value, and
// one that /slow?stage=NAME names takes 20. The first line of output is the address of the
// page.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/http"
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
	paced   bool
	slow    atomic.Value // a string: the stage that takes longer
	stored  atomic.Int64
	total   atomic.Int64 // of the samples, in microseconds
}

func main() {
	address := flag.String("addr", "127.0.0.1:0", "address to serve on")
	paced := flag.Bool("paced", false, "leave the machine mostly idle")
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
		paced:   *paced,
	}
	p.slow.Store("")
	for range 3 {
		go p.read(ctx)
	}
	go p.parse(ctx)
	go p.enrich(ctx)
	go p.store(ctx)
	go p.aggregate(ctx)
	mux := http.NewServeMux()
	livepage.Register(mux)
	mux.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) { p.slow.Store(r.FormValue("stage")) })
	server := &http.Server{Handler: mux}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	_ = server.Serve(listener)
}

// pace takes the time of a stage for a value.
func (p *pipeline) pace(stage string) {
	switch {
	case !p.paced:
	case p.slow.Load() == stage:
		time.Sleep(20 * time.Millisecond)
	default:
		time.Sleep(time.Millisecond)
	}
}

func (p *pipeline) read(ctx context.Context) {
	for n := 0; ; n++ {
		line := fmt.Appendf(nil, `{"path": "/orders/%d", "seconds": 0.0%d, "status": 200}`, n, n%90+10)
		if p.lines.Send(ctx, line) != nil {
			return
		}
		p.pace("read")
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
		p.pace("parse")
		if p.events.Send(ctx, e) != nil {
			return
		}
	}
}

func (p *pipeline) enrich(ctx context.Context) {
	events := p.events.Values(ctx)
	for e := range events.All() {
		e.Seconds *= 1.5
		p.pace("enrich")
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
