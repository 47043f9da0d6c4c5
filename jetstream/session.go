package jetstream

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/engine"
)

// A session is what the parts of one open channel share: settings, log, connection,
// state, counters and warnings.
type session struct {
	config   config
	subject  string // that values are published to
	log      *slog.Logger
	conn     *connection
	life     lifecycle
	counters counters
	warnings warnings
}

func newSession(config config, conn *connection) *session {
	s := &session{
		config: config, conn: conn,
		subject: "sluice." + config.name,
		log:     config.log.With("channel", config.name),
	}
	s.life.ctx, s.life.cancel = context.WithCancel(context.Background())
	s.life.recvCtx, s.life.stopRecv = context.WithCancel(s.life.ctx)
	s.life.acked = make(chan struct{}, 1)
	return s
}

// A lifecycle is what this process knows about the state of the channel, and the
// contexts that its background work ends with. The servers have the truth: a flag may
// be set late, but never wrongly. Each flag changes once, from false to true:
//
//	open -> closed -> drained
//	existing -> deleted
//	in use -> shut down
//
// Invariants: drained implies closed; ctx is done only after shutdown; recvCtx is done only
// if recvErr() != nil.
type lifecycle struct {
	closed   atomic.Bool // no value can be sent: learned from the servers, or Close was called here
	drained  atomic.Bool // and no value is left, for good
	deleted  atomic.Bool // the stream no longer exists
	shutdown atomic.Bool // Shutdown was called here

	ctx      context.Context // done after Shutdown
	cancel   context.CancelFunc
	recvCtx  context.Context // done once no value can be received
	stopRecv context.CancelFunc

	mu    sync.Mutex // no task starts after beginShutdown
	tasks sync.WaitGroup
	// acked has a token after an acknowledgment by this process: there may be room,
	// or the channel may be drained.
	acked chan struct{}
}

// start runs f in a goroutine that Shutdown waits for. After Shutdown it does nothing.
func (l *lifecycle) start(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.shutdown.Load() {
		l.tasks.Go(f)
	}
}

// beginShutdown reports whether this is the first call.
func (l *lifecycle) beginShutdown() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.shutdown.Swap(true)
}

// sendErr returns why no value can be sent, or nil.
func (l *lifecycle) sendErr() error {
	switch {
	case l.shutdown.Load():
		return ErrShutdown
	case l.closed.Load():
		return sluice.ErrClosed
	case l.deleted.Load():
		return ErrDeleted
	}
	return nil
}

// recvErr returns why no value will be received anymore, or nil.
func (l *lifecycle) recvErr() error {
	switch {
	case l.shutdown.Load():
		return ErrShutdown
	case l.drained.Load():
		return sluice.ErrClosed
	case l.deleted.Load():
		return ErrDeleted
	}
	return nil
}

// pause waits for a random time around d, an acknowledgment by this process, or
// Shutdown. If ctx is done first, it returns the error of ctx.
func (l *lifecycle) pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(jitter(d))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.acked:
	case <-l.ctx.Done():
	case <-ctx.Done():
		return engine.ContextError(ctx)
	}
	return nil
}

// startTimer has f called after d, unless the timer t runs already. stopTimer stops it. The caller
// holds the lock of t.
func startTimer(t **time.Timer, d time.Duration, f func()) {
	if *t == nil {
		*t = time.AfterFunc(d, f)
	}
}

func stopTimer(t **time.Timer) {
	if *t != nil {
		(*t).Stop()
		*t = nil
	}
}

// signalAcked puts the token into acked.
func (l *lifecycle) signalAcked() {
	select {
	case l.acked <- struct{}{}:
	default:
	}
}
