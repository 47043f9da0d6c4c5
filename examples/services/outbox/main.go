// Outbox accepts orders over HTTP and delivers each at least once to another HTTP service,
// even if either of them is killed: a durable outbox.
//
//	go run ./examples/services/outbox -dir orders.queue -to http://localhost:9090/orders
//	curl -d '{"item": 7}' localhost:8080/orders
//
// The channel is a spill.Durable. Send returns once the order is on disk, so an answer 202
// means that the order survives kill -9 and a power failure. The receiver gets a delivery,
// and acknowledges it after the other service has answered 2xx. A process that dies in
// between delivers the order again after its next start: the other service drops
// duplicates by their Idempotency-Key.
//
// Overload: if the other service is down or slow, orders wait on disk. DiskLimit bounds
// them: beyond it a Send waits until its request times out, and the client gets 503. Nack
// gives an order back, and it is delivered again before newer orders.
//
// Shutdown: at an interrupt (Ctrl-C) the server finishes its requests, and the deliveries
// that are under way are canceled. Orders without an acknowledgment are on disk, for the next
// start. So nothing is lost if the process is killed instead.
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/sluice-go/sluice/spill"
	"github.com/sluice-go/sluice/workers"
)

// An order is what is stored.
type order struct{ Key, Body string }

func main() {
	dir := flag.String("dir", "orders.queue", "the directory of the queue")
	to := flag.String("to", "http://localhost:9090/orders", "where orders are delivered")
	address := flag.String("listen", "localhost:8080", "the address to listen on")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	listener, err := net.Listen("tcp", *address)
	if err != nil {
		log.Fatal(err)
	}
	log.Println("listening on", listener.Addr())
	if err := serve(ctx, listener, *dir, *to, time.Second); err != nil {
		log.Fatal(err)
	}
}

// serve accepts and delivers orders until ctx is done. It waits for pause after a delivery
// that failed.
func serve(ctx context.Context, listener net.Listener, dir, to string, pause time.Duration) (err error) {
	orders, err := spill.OpenDurable[order](dir, &spill.DurableOptions[order]{Name: "orders", DiskLimit: 1 << 30})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, orders.Shutdown()) }()
	ctx, stop := context.WithCancel(ctx)
	defer stop()

	server := &http.Server{Handler: accept(orders), ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() {
		defer stop()
		served <- server.Serve(listener)
	}()
	deliverTo := func(ctx context.Context, d *spill.Delivery[order]) error {
		if err := deliver(ctx, d.Value, to); err != nil {
			log.Print(err)
			select {
			case <-time.After(pause):
			case <-ctx.Done():
			}
			return d.Nack()
		}
		return d.Ack()
	}
	err = workers.Run(ctx, orders, 4, deliverTo, nil) // until ctx is done, or the disk fails
	if ctx.Err() != nil {
		err = nil
	}
	patience, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	err = errors.Join(err, server.Shutdown(patience))
	if failed := <-served; !errors.Is(failed, http.ErrServerClosed) {
		err = errors.Join(err, failed)
	}
	return err
}
