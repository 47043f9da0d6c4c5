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

// A link is a channel's way to its servers: a connection, and the server itself if
// that is inside of this process.
type link struct {
	nc     *nats.Conn
	js     natsjs.JetStream
	owned  bool      // the connection is the link's
	server *embedded // or nil

	mu sync.Mutex
	// life ends when the connection breaks: whoever waits for an answer then need
	// not wait any longer. The next life begins with the next connection.
	life  context.Context
	cut   context.CancelFunc
	users int
}

// Waits of a connection that is lost: how long until it tries again, at random
// between these, so that the clients of a dead server do not all come at once.
const (
	reconnectWait   = 50 * time.Millisecond
	reconnectJitter = 250 * time.Millisecond
	// pingEvery, and this twice without an answer: the connection counts as broken.
	pingEvery = 5 * time.Second
)

// newLink connects as c says.
func newLink(c *config) (_ *link, err error) {
	l := &link{nc: c.conn, owned: c.conn == nil, users: 1}
	l.life, l.cut = context.WithCancel(context.Background())
	defer func() {
		if err != nil {
			err = errors.Join(err, l.close())
		}
	}()
	if l.owned {
		if err = l.connect(c); err != nil {
			return nil, err
		}
	}
	if l.js, err = natsjs.New(l.nc); err != nil {
		return nil, fmt.Errorf("jetstream: %w", err)
	}
	return l, nil
}

// connect makes a connection of the link's own.
func (l *link) connect(c *config) (err error) {
	options := []nats.Option{
		nats.Name("sluice " + c.name),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(reconnectWait),
		nats.ReconnectJitter(reconnectJitter, reconnectJitter),
		nats.PingInterval(pingEvery),
		// What is written while there is no connection fails at once, and so is
		// known not to be stored. Kept back, it could arrive after the window in
		// which a repetition is known for one.
		nats.ReconnectBufSize(-1),
		nats.DisconnectErrHandler(func(*nats.Conn, error) { l.broke() }),
		nats.ReconnectHandler(func(*nats.Conn) { l.mended() }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			c.log.Warn("jetstream: the connection reports an error", "channel", c.name, "error", err)
		}),
	}
	if c.embedded() {
		if l.server, err = useServer(c.dir); err != nil {
			return err
		}
		options = append(options, nats.InProcessServer(l.server.server))
	}
	l.nc, err = nats.Connect(c.url, append(options, c.nats...)...)
	if err != nil {
		return fmt.Errorf("jetstream: connecting to %s: %w", or(c.url, "the server inside"), err)
	}
	return nil
}

func (l *link) broke() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut()
}

func (l *link) mended() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut(); l.users > 0 {
		l.life, l.cut = context.WithCancel(context.Background())
	}
}

// attempt returns a context for one attempt: it ends after the given time, and when
// the connection breaks, but not with ctx. What is under way when ctx ends is worth
// the wait for its answer: then it is known what happened.
func (l *link) attempt(ctx context.Context, most time.Duration) (context.Context, context.CancelFunc) {
	l.mu.Lock()
	life := l.life
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), most)
	stop := context.AfterFunc(life, cancel)
	return ctx, func() { stop(); cancel() }
}

// closed tells whether nothing can be written any more, ever.
func (l *link) closed() bool { return l.nc != nil && l.nc.IsClosed() }

// share counts one more user, who closes l too. It fails if the last one has.
func (l *link) share() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.users == 0 {
		return false
	}
	l.users++
	return true
}

// close ends one use of the link. The last one ends the connection and the server, so far as they are the link's.
func (l *link) close() error {
	l.mu.Lock()
	l.users--
	used := l.users > 0
	if !used {
		l.cut()
	}
	l.mu.Unlock()
	if used {
		return nil
	}
	if l.owned && l.nc != nil {
		l.nc.Close()
	}
	if l.server != nil {
		return l.server.release()
	}
	return nil
}
