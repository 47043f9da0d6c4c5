package input

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// Limits restrict the clients of a listener.
type Limits struct {
	Connections int           // maximum number of concurrent connections; more are closed at once
	LineTimeout time.Duration // a connection that completes no line for this long is closed
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
			case in.Connections.Add(1) > int64(limits.Connections):
				in.Connections.Add(-1)
				in.Refused.Add(1)
				conn.Close()
			default:
				readers.Go(func() {
					defer in.Connections.Add(-1)
					defer conn.Close()
					serve(ctx, in, conn, limits)
				})
			}
		}
	}
}

// serve reads one connection until its end.
func serve(ctx context.Context, in *Intake, conn net.Conn, limits Limits) {
	c := &client{conn: conn, limits: limits}
	defer context.AfterFunc(ctx, c.drain)()
	s := &stream{in: in, name: conn.RemoteAddr().String(), r: conn, before: c.extend}
	// The client is responsible for the end of its connection; only an expired
	// deadline counts here.
	if err := s.read(ctx); errors.Is(err, os.ErrDeadlineExceeded) && ctx.Err() == nil {
		in.Slow.Add(1)
	}
}

// A client is a connection with its timeouts.
type client struct {
	conn   net.Conn
	limits Limits

	mu       sync.Mutex
	began    bool
	draining bool
}

// extend gives the client more time if it has completed a line since the last
// extension: a client cannot keep its connection by sending single bytes.
func (c *client) extend(progress bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.draining || c.began && !progress {
		return nil
	}
	c.began = true
	return c.conn.SetReadDeadline(time.Now().Add(c.limits.LineTimeout))
}

// drain sets the client's final deadline.
func (c *client) drain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.draining = true
	// An error means that the connection is closed: there is nothing to read.
	_ = c.conn.SetReadDeadline(time.Now().Add(c.limits.Drain))
}
