package main

import (
	"log"
	"net"
	"net/http"
	"net/http/pprof"
	"runtime"
	"time"

	"github.com/sluice-go/sluice/bench/logagg/pipeline"
	"github.com/sluice-go/sluice/debug"
)

// mutexSample is how many contended locks there are for each that the profile samples:
// cheap enough to be on for as long as the service runs.
const mutexSample = 100

// serveDebug serves what an engineer, or sluice doctor, wants to know of the process, at
// an address that only they should reach. It returns how to end that.
func serveDebug(listener net.Listener, p *pipeline.Pipeline, report *log.Logger) (stop func()) {
	report.Printf("debugging at http://%s/debug/sluice", listener.Addr())
	runtime.SetMutexProfileFraction(mutexSample)
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	mux.Handle("/debug/sluice", debug.Handler())
	mux.Handle("/metrics", newMetrics(p))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }() // fails when it is closed, at the end
	return func() { server.Close() }
}
