package input

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// Limits bound what clients can ask of a listener.
type Limits struct {
	Connections int           // at once; more are closed as they come
	Patience    time.Duration // for a line to be complete: after that a connection is closed
	Drain       time.Duration // for what has been sent when the service ends
}

// acceptPause is how long to wait when the system has no file descriptors left.
const acceptPause = 50 * time.Millisecond

// TCP returns the source of syslog connections to a listener. It ends when ctx is done:
// nobody can connect from then on, and what the clients have sent until then is read, for
// as long as Limits.Drain.
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
	// What ends a connection is the business of its client; it has no one line's account
	// to settle here but that of a deadline.
	if err := s.read(ctx); errors.Is(err, os.ErrDeadlineExceeded) && ctx.Err() == nil {
		in.Slow.Add(1)
	}
}

// A client is a connection and how long to wait for it.
type client struct {
	conn   net.Conn
	limits Limits

	mu       sync.Mutex
	began    bool
	draining bool
}

// extend gives the client more time if it has completed a line since it got some: one
// that sends a byte now and then cannot hold its place with it.
func (c *client) extend(progress bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.draining || c.began && !progress {
		return nil
	}
	c.began = true
	return c.conn.SetReadDeadline(time.Now().Add(c.limits.Patience))
}

// drain gives the client its last time.
func (c *client) drain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.draining = true
	// It fails only if the connection is closed, and then there is nothing to read.
	_ = c.conn.SetReadDeadline(time.Now().Add(c.limits.Drain))
}
