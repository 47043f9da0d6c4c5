package jetstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"
)

// closeTimeout is the longest that Close waits for the servers.
const closeTimeout = 10 * time.Second

// close seals the stream, and retries in the background if that fails.
func (s *stream) close() {
	if s.life.shutdown.Load() {
		return
	}
	ctx, cancel := context.WithTimeout(s.life.ctx, closeTimeout)
	defer cancel()
	if err := s.seal(ctx); !final(err) && !s.life.shutdown.Load() {
		s.closeLater(err)
	}
}

// final reports whether seal, which returned err, has nothing left to do.
func final(err error) bool {
	return err == nil || errors.Is(err, ErrDeleted) || errors.Is(err, ErrRemoved)
}

// closeLater retries a Close that failed with err until it succeeds.
func (s *stream) closeLater(err error) {
	s.warn(warnClose, "Close is not confirmed by the servers yet: other processes may still send")
	s.log.Error("jetstream: Close is not confirmed by the servers, retrying", "error", err)
	s.life.start(func() {
		for !s.life.shutdown.Load() {
			if final(s.seal(s.life.ctx)) {
				s.warn(warnClose, "")
				return
			}
		}
	})
}

// seal makes the servers reject every further value. As soon as it is called, this
// process starts no further Send; one that is under way may still be stored.
func (s *stream) seal(ctx context.Context) error {
	if s.life.shutdown.Load() {
		return ErrShutdown
	}
	s.life.closed.Store(true)
	s.onChange()
	for wait := firstPause; ; wait = min(2*wait, lastPause) {
		err := s.sealOnce(ctx)
		if err == nil {
			if err := s.checkFiles(); err != nil {
				return err
			}
			return s.check(ctx)
		}
		if errors.Is(err, natsjs.ErrStreamNotFound) {
			return s.setDeleted()
		}
		if ctx.Err() != nil || s.life.pause(ctx, wait) != nil || s.life.shutdown.Load() {
			return fmt.Errorf("jetstream: closing channel %q: %w", s.config.name, err)
		}
	}
}

// sealOnce is one attempt. Sealing is idempotent and cannot be undone, so it is safe
// from several processes at once.
func (s *stream) sealOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	info, err := s.handle.Info(ctx)
	if err != nil || info.Config.Sealed {
		return err
	}
	config := info.Config
	config.Sealed = true
	_, err = s.conn.js.UpdateStream(ctx, config)
	return err
}
