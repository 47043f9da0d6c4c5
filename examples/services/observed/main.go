// Observed is a small HTTP service whose channels can be watched: a live page, metrics for
// Prometheus, and profiles for the doctor.
//
//	go run ./examples/services/observed
//	curl --data-binary @README.md localhost:8080/documents
//	curl localhost:8080/words/channel
//
// Then open http://localhost:8080/debug/sluice/ in a browser, read the metrics at /metrics,
// or let the doctor look for a bottleneck while documents arrive:
//
//	curl -s --data-binary @docs/recipes.md 'localhost:8080/documents?[1-100000]' &
//	go run ./cmd/sluice doctor http://localhost:8080
//
// The service counts the words of documents:
//
//	POST ---> documents ---> split ---> counts ---> batches ---> the index
//	          (bounded)      (workers)  (elastic)
//
// A channel with a Name is on the page, in the metrics and in the doctor's report. Nothing
// else is needed in the pipeline, and a channel without a name costs nothing for it.
//
// Overload: documents is a Bounded that rejects. When it is full, the client gets status
// 503 at once, which is better than a request that waits. counts is an Elastic, whose
// limit makes the workers wait.
//
// Shutdown: at an interrupt (Ctrl-C) the server finishes its requests, and the pipeline the
// documents that it has accepted. These pages are for operators: in production, serve them
// at an address that others cannot reach.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"os/signal"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/livepage"
	metrics "github.com/sluice-go/sluice/metrics/prometheus"
)

func main() {
	address := flag.String("listen", "localhost:8080", "the address to listen on")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	listener, err := net.Listen("tcp", *address)
	if err != nil {
		log.Fatal(err)
	}
	if err := serve(ctx, listener); err != nil {
		log.Fatal(err)
	}
}

// serve serves until ctx is done, and then processes what it has accepted.
func serve(ctx context.Context, listener net.Listener) error {
	documents := sluice.NewBounded(64, &sluice.BoundedOptions[string]{Name: "documents", Overflow: sluice.Reject})
	words := &index{total: map[string]int{}}
	counted := make(chan error, 1)
	go func() { counted <- words.count(context.Background(), documents) }()

	server := &http.Server{Handler: routes(documents, words), ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
		patience, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		err = server.Shutdown(patience)
	}
	documents.Close() // the stages end once they have processed all documents
	return errors.Join(err, <-counted)
}

func routes(documents sluice.Sender[string], words *index) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics.NewCollector(nil))
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	livepage.Register(mux) // /debug/sluice/
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)

	mux.HandleFunc("GET /words/{word}", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, words.get(r.PathValue("word")))
	})
	mux.HandleFunc("POST /documents", func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		switch err := documents.Send(r.Context(), string(text)); {
		case errors.Is(err, sluice.ErrFull):
			http.Error(w, "busy: try again later", http.StatusServiceUnavailable)
		case err != nil:
			http.Error(w, err.Error(), http.StatusInternalServerError)
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	})
	return mux
}
