// Prices broadcasts live prices to many subscribers over HTTP. A slow subscriber misses
// prices but never the latest one, and does not slow the others.
//
//	go run ./examples/prices
//	curl -N localhost:8080/prices
//	curl -d 101.25 localhost:8080/prices
//
// The first curl stays connected and prints every price that later ones post.
//
// Each GET is a subscription of one hub.Hub: each value that is sent to the hub reaches
// all subscriptions, and these come and go at any time. A channel would give each price
// to one of the receivers.
//
// Overload: a subscription has room for one price (Limit: 1). A new price replaces one that
// was not received yet (DropOldest, the default), because only the newest counts here. For
// a feed without gaps, use a larger Limit with the policy Evict. With Replay: 1, a new
// subscriber begins with the current price.
//
// Shutdown: an interrupt (Ctrl-C) closes the hub. Each subscriber receives the price that is
// queued for it, then its response ends, and the server shuts down.
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
	"os"
	"os/signal"
	"strconv"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/hub"
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

// serve serves prices until ctx is done.
func serve(ctx context.Context, listener net.Listener) error {
	prices := hub.New[float64](64, &hub.Options{Replay: 1})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /prices", func(w http.ResponseWriter, r *http.Request) { subscribe(w, r, prices) })
	mux.HandleFunc("POST /prices", func(w http.ResponseWriter, r *http.Request) { publish(w, r, prices) })

	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	prices.Close() // ends the subscriptions, which Shutdown waits for
	patience, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return server.Shutdown(patience)
}

// publish sends the price in the body of a request to all subscribers.
func publish(w http.ResponseWriter, r *http.Request, prices *hub.Hub[float64]) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 100))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	price, err := strconv.ParseFloat(string(body), 64)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if err := prices.Send(r.Context(), price); err != nil { // never waits: no policy is Block
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	}
}

// subscribe writes prices, one per line, until the hub closes or the client is gone.
func subscribe(w http.ResponseWriter, r *http.Request, prices *hub.Hub[float64]) {
	mine, err := prices.Subscribe(&hub.SubscriptionOptions[float64]{Overflow: sluice.DropOldest, Capacity: 1, Replay: 1})
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	defer mine.Close()
	flush := http.NewResponseController(w).Flush
	if flush() != nil { // the client learns that it has subscribed
		return
	}
	values := mine.Values(r.Context())
	for price := range values.All() {
		if _, err := fmt.Fprintln(w, price); errors.Join(err, flush()) != nil {
			break
		}
	}
	s := mine.Stats()
	log.Printf("%s: received %d of %d prices", r.RemoteAddr, s.Received, s.Sent)
}
