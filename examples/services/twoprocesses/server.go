package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// serve runs a server until ctx is done, and prints its address when it is ready.
func serve(ctx context.Context, dir, listen string, out io.Writer) error {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return err
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return err
	}
	s, err := server.NewServer(&server.Options{
		Host: host, Port: number, NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: dir, SyncAlways: true, // survives a power failure
	})
	if err != nil {
		return err
	}
	s.Start()
	defer s.WaitForShutdown()
	defer s.Shutdown()
	if !s.ReadyForConnections(10 * time.Second) {
		return errors.New("the server did not start: is its address in use?")
	}
	fmt.Fprintln(out, "serving", s.ClientURL())
	<-ctx.Done()
	return nil
}
