package jetstream

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
)

// A server answers that it has no space only for its own limits. If the disk is full, it
// logs the failed write, and does not answer: neither to this value nor to any later one
// until it is restarted. The embedded server is asked for the cause (its health has the
// failed write), and the disk is tried; of other servers only the timeout is known.

// noSpaceTexts are what the systems call a full disk, and an exhausted quota. A server's
// report of a failed write has only the text.
var noSpaceTexts = []string{"no space left", "disk quota exceeded", "not enough space on the disk"}

// spaceError returns err, which is an ErrNoSpace if its text is one of these, or its code says so.
func spaceError(err error) error {
	says := func(text string) bool { return strings.Contains(err.Error(), text) }
	if classify(err) == noSpace || slices.ContainsFunc(noSpaceTexts, says) {
		return fmt.Errorf("%w: %w", ErrNoSpace, err)
	}
	return err
}

// fault returns why an embedded server cannot store values of that many bytes, or nil if
// that is unknown. It is called after an attempt that the server did not answer, or did not
// explain, and may wait for the servers and the disk.
func (s *stream) fault(ctx context.Context, bytes int) error {
	if s.files == nil || s.life.shutdown.Load() {
		return nil
	}
	if s.files.check() != nil {
		_ = s.check(ctx) // the stream may have been deleted, with its files
		if s.life.deleted.Load() {
			return nil // the sender notices
		}
		return s.checkFiles()
	}
	err := s.conn.server.writeError(s.config.name)
	if err == nil {
		err = s.conn.server.tryDisk(bytes)
	}
	if err == nil || s.life.shutdown.Load() {
		return nil
	}
	return spaceError(fmt.Errorf("jetstream: the embedded server cannot store values: %w", err))
}

// writeError returns the failed write after which the server stores nothing more in the
// stream, or nil.
func (e *embedded) writeError(stream string) error {
	health := e.server.Healthz(&server.HealthzOptions{Account: server.DEFAULT_GLOBAL_ACCOUNT, Stream: stream, Details: true})
	for _, found := range health.Errors {
		if found.Type == server.HealthzErrorStream || found.Type == server.HealthzErrorJetStream {
			return errors.New(found.Error)
		}
	}
	return nil
}

const (
	// trialName is a file in the directory of a server that exists during tryDisk.
	trialName = "sluice.trial"
	// trialExtra is what tryDisk writes besides the values, in bytes.
	trialExtra = 64 << 10
)

// tryDisk returns the error of the disk, if a file of that many bytes cannot be written in
// the directory. Batches are stored in files of their own, whose errors the server reports
// nowhere.
func (e *embedded) tryDisk(bytes int) (err error) {
	e.trying.Lock()
	defer e.trying.Unlock()
	f, err := os.Create(filepath.Join(e.dir, trialName))
	if err != nil {
		return err
	}
	if _, err = f.Write(make([]byte, bytes+trialExtra)); err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}

// explain returns err with the error of the embedded server's disk, if there is one: the
// server does not explain why it cannot create a stream.
func (n *connection) explain(err error) error {
	if n.server == nil {
		return err
	}
	if disk := n.server.tryDisk(0); disk != nil {
		return fmt.Errorf("%w: %w", err, disk)
	}
	return err
}
