package main

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/pprof"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/livepage"
)

// A service counts the items of a scenario, and serves its profiles.
type service struct {
	scenario, remedy string
	started          time.Time
	bare             bool // no metrics and no mutex profile rate
	mapped           bool // it serves the map of its channels, which are sluice's

	mu       sync.Mutex
	counters []*counter
}

// A counter counts the items of one goroutine in its own cache line: counting
// must not become the bottleneck.
type counter struct {
	done atomic.Int64
	_    [120]byte
}

func (c *counter) add(n int) { c.done.Add(int64(n)) }

// counter returns a new counter for items of the service.
func (s *service) counter() *counter {
	c := new(counter)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counters = append(s.counters, c)
	return c
}

// A reading is the response of /stats.
type reading struct {
	Scenario string  `json:"scenario"`
	Remedy   string  `json:"remedy"`
	Items    int64   `json:"items"`
	Seconds  float64 `json:"seconds"` // since the start
}

func (s *service) reading() reading {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := reading{Scenario: s.scenario, Remedy: s.remedy, Seconds: time.Since(s.started).Seconds()}
	for _, c := range s.counters {
		r.Items += c.done.Load()
	}
	return r
}

// mutexSample is the mutex profile fraction; services that enable the profile
// use 5 to 1000.
const mutexSample = 10

// serve serves requests until the context is done. It leaves the goroutines of
// the scenario running, because the process ends next.
func (s *service) serve(ctx context.Context, listener net.Listener) {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("/stats", func(w http.ResponseWriter, _ *http.Request) { answer(w, s.reading()) })
	if !s.bare {
		runtime.SetMutexProfileFraction(mutexSample)
		mux.HandleFunc("/debug/metrics", func(w http.ResponseWriter, _ *http.Request) { answer(w, runtimeMetrics()) })
	}
	if s.mapped {
		livepage.Register(mux)
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	defer context.AfterFunc(ctx, func() { server.Close() })()
	// Serve returns an error when it is closed, at the end of the process.
	_ = server.Serve(listener)
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	// It fails only if the client has gone.
	_ = json.NewEncoder(w).Encode(v)
}
