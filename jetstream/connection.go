package jetstream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"
)

// A connection is a NATS connection, and the server behind it if that is embedded in
// this process. A channel and its dead letters share one.
type connection struct {
	nc     *nats.Conn
	js     natsjs.JetStream
	owned  bool      // close closes nc
	server *embedded // or nil

	mu sync.Mutex
	// up is done when the connection breaks, so that no request waits any longer for
	// an answer that will not come. A new connection has a new one.
	up    context.Context
	down  context.CancelFunc
	users int
}

const (
	// A broken connection is tried again after a random time between these, so that the
	// clients of a dead server do not reconnect all at once (thundering herd).
	reconnectWait   = 50 * time.Millisecond
	reconnectJitter = 250 * time.Millisecond
	// pingInterval: after two pings without an answer the connection counts as broken.
	pingInterval = 5 * time.Second
)

// newConnection connects as c says.
func newConnection(c *config) (_ *connection, err error) {
	n := &connection{nc: c.conn, owned: c.conn == nil, users: 1}
	n.up, n.down = context.WithCancel(context.Background())
	defer func() {
		if err != nil {
			err = errors.Join(err, n.close())
		}
	}()
	if n.owned {
		if err = n.connect(c); err != nil {
			return nil, err
		}
	}
	if n.js, err = natsjs.New(n.nc); err != nil {
		return nil, fmt.Errorf("jetstream: %w", err)
	}
	return n, nil
}

// connect makes a new connection.
func (n *connection) connect(c *config) (err error) {
	options := []nats.Option{
		nats.Name("sluice " + c.name),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(reconnectWait),
		nats.ReconnectJitter(reconnectJitter, reconnectJitter),
		nats.PingInterval(pingInterval),
		// Without a connection, a write fails at once, and is known not to be stored.
		// If the client buffered it, it could arrive after the dedupe window.
		nats.ReconnectBufSize(-1),
		nats.DisconnectErrHandler(func(*nats.Conn, error) { n.disconnected() }),
		nats.ReconnectHandler(func(*nats.Conn) { n.reconnected() }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			c.log.Warn("jetstream: connection error", "channel", c.name, "error", err)
		}),
	}
	if c.embedded() {
		if n.server, err = useServer(c.dir); err != nil {
			return err
		}
		options = append(options, nats.InProcessServer(n.server.server))
	}
	if n.nc, err = dial(c.url, append(options, c.nats...)); err != nil {
		return fmt.Errorf("jetstream: %w", err)
	}
	return nil
}

func (n *connection) disconnected() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down()
}

func (n *connection) reconnected() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.down(); n.users > 0 {
		n.up, n.down = context.WithCancel(context.Background())
	}
}

// attempt returns a context for one request. It is done after the timeout, and when the
// connection breaks, but not with ctx: waiting for the answer tells the caller what
// happened to a value that was sent.
func (n *connection) attempt(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	n.mu.Lock()
	up := n.up
	n.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	stop := context.AfterFunc(up, cancel)
	return ctx, func() { stop(); cancel() }
}

// reconnects returns how often the connection to the embedded server was made again; 0 for
// other servers. If it is the same before a request and after the answer to a later one,
// both used one connection.
func (n *connection) reconnects() uint64 {
	if n.server == nil {
		return 0
	}
	return n.nc.Stats().Reconnects
}

// closed reports whether the connection is closed for good.
func (n *connection) closed() bool { return n.nc != nil && n.nc.IsClosed() }

// share counts one more user, which must call close too. It reports false if the last
// user has closed the connection.
func (n *connection) share() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.users == 0 {
		return false
	}
	n.users++
	return true
}

// close ends one use. After the last one it closes the connection, if owned, and stops
// the embedded server.
func (n *connection) close() error {
	n.mu.Lock()
	n.users--
	used := n.users > 0
	if !used {
		n.down()
	}
	n.mu.Unlock()
	if used {
		return nil
	}
	if n.owned && n.nc != nil {
		n.nc.Close()
	}
	if n.server != nil {
		return n.server.release()
	}
	return nil
}
