package input

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

// Limits restrict the clients of a listener.
type Limits struct {
	Connections int           // maximum number of concurrent connections; more are closed at once
	Drain       time.Duration // at the end of the service, for bytes that have been sent
}

// acceptPause is the delay after a failed accept, for example without file
// descriptors.
const acceptPause = 50 * time.Millisecond

// TCP returns the source of syslog connections to a listener. When ctx is done
// it accepts no more connections, and reads what the clients have sent until
// then, for at most Limits.Drain.
func TCP(listener net.Listener, limits Limits) Source {
	return func(ctx context.Context, in *Intake) error {
		defer context.AfterFunc(ctx, func() { listener.Close() })()
		defer listener.Close()
		var readers sync.WaitGroup
		defer readers.Wait()
		for {
			conn, err := listener.Accept()
			switch {
			case ctx.Err() != nil:
				if err == nil {
					conn.Close()
				}
				return nil
			case errors.Is(err, net.ErrClosed):
				return err
			case err != nil:
				time.Sleep(acceptPause)
			case in.add(Counts{Connections: 1}).Connections > int64(limits.Connections):
				in.add(Counts{Connections: -1, Refused: 1})
				conn.Close()
			default:
				readers.Go(func() {
					defer in.add(Counts{Connections: -1})
					defer conn.Close()
					serve(ctx, in, conn, limits)
				})
			}
		}
	}
}

// serve reads one connection until its end, for which the client is responsible.
func serve(ctx context.Context, in *Intake, conn net.Conn, limits Limits) {
	defer context.AfterFunc(ctx, func() {
		// An error means that the connection is closed: there is nothing to read.
		_ = conn.SetReadDeadline(time.Now().Add(limits.Drain))
	})()
	s := &stream{in: in, r: conn, before: func() error { return nil }}
	_ = s.read(ctx)
}
