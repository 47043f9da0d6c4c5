package main

import (
	"encoding/json"
	"log"
	"net"
	"net/http"
	"net/http/pprof"
	"runtime"
	"time"

	"github.com/sluice-go/sluice/bench/logagg/pipeline"
	"github.com/sluice-go/sluice/livepage"
)

// mutexSample is the number of contended locks per sample of the mutex profile:
// cheap enough to stay on while the service runs.
const mutexSample = 100

// serveDebug serves profiles, channels and the account for an engineer or sluice
// doctor, at an address that only trusted clients should reach. It returns a
// function that stops the server.
func serveDebug(listener net.Listener, p *pipeline.Pipeline, report *log.Logger) (stop func()) {
	report.Printf("debugging at http://%s/debug/sluice", listener.Addr())
	runtime.SetMutexProfileFraction(mutexSample)
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	livepage.Register(mux)
	mux.HandleFunc("/debug/account", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(p.Ledger()) // fails if the client has gone
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }() // fails when the listener is closed
	return func() { server.Close() }
}
