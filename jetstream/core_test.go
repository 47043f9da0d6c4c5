package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/sluice-go/sluice"
)

// alone returns a core without servers.
func alone(c config) *core {
	c.log = mute()
	return newCore(c, lively())
}

// Open retries while the servers are unavailable, and not after another error.
func TestRetryUnavailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := alone(config{})
		defer c.life.cancel()
		no := errors.New("no")
		for _, away := range []error{
			context.DeadlineExceeded, nats.ErrNoResponders, natsjs.ErrJetStreamNotEnabled,
			&natsjs.APIError{Code: codeUnavailable}, fmt.Errorf("wrapped: %w", nats.ErrNoResponders),
		} {
			for _, last := range []error{nil, no, &natsjs.APIError{Code: 400}, context.Canceled} {
				asked := 0
				err := c.retryUnavailable(context.Background(), func(ctx context.Context) error {
					if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) > checkTimeout {
						t.Errorf("a request may take until %v", deadline)
					}
					if asked++; asked < 5 {
						return away
					}
					return last
				})
				if err != last || asked != 5 {
					t.Errorf("%v, then %v: %v after %d requests", away, last, err, asked)
				}
			}
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := c.retryUnavailable(ctx, func(context.Context) error { return nats.ErrNoResponders }); err != nats.ErrNoResponders {
			t.Errorf("after the timeout of Open: %v", err)
		}
	})
}

// A pause ends after its time, at an acknowledgment, at Shutdown, and when its
// context is done; only the last is an error.
func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := alone(config{})
		ctx, cancel := context.WithCancel(context.Background())
		takes := func(want error, least, most time.Duration) {
			t.Helper()
			begin := time.Now()
			if err := c.life.pause(ctx, time.Hour); err != want || time.Since(begin) < least || time.Since(begin) > most {
				t.Errorf("a pause of about an hour: %v after %v", err, time.Since(begin))
			}
		}
		takes(nil, time.Hour/2, 3*time.Hour/2)
		c.deliveries.acknowledged(newest(1))
		c.deliveries.acknowledged(newest(2)) // there is at most one token
		takes(nil, 0, 0)
		takes(nil, time.Hour/2, 3*time.Hour/2)
		cancel()
		takes(context.Canceled, 0, 0)
		ctx = context.Background()
		c.life.cancel()
		takes(nil, 0, 0)
	})
}

// An existing stream must have the settings of the wanted one.
func TestCompareSettings(t *testing.T) {
	t.Parallel()
	c := alone(config{name: "jobs", codec: "raw", capacity: 5, maxBytes: 7, replicas: 3, dedupeWindow: time.Minute})
	want := c.config.stream()
	if err := c.config.compare(want, want); err != nil {
		t.Errorf("with itself: %v", err)
	}
	for text, change := range map[string]func(s *natsjs.StreamConfig){
		"another Codec: json (want raw)": func(s *natsjs.StreamConfig) {
			s.Metadata = map[string]string{metaCodec: "json", metaVersion: version}
		},
		"is not a channel of this version":     func(s *natsjs.StreamConfig) { s.Metadata = map[string]string{metaCodec: "raw", metaVersion: "0"} },
		"another Capacity: 6 (want 5)":         func(s *natsjs.StreamConfig) { s.MaxMsgs = 6 },
		"another MaxBytes: -1 (want 7)":        func(s *natsjs.StreamConfig) { s.MaxBytes = -1 },
		"another Replicas: 1 (want 3)":         func(s *natsjs.StreamConfig) { s.Replicas = 1 },
		"another DedupeWindow: 1s (want 1m0s)": func(s *natsjs.StreamConfig) { s.Duplicates = time.Second },
	} {
		got := want
		change(&got)
		if err := c.config.compare(got, want); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, want %q", err, text)
		}
	}
}

// The order of precedence of the errors of a channel that is shut down, closed or
// deleted.
func TestLifecycleErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		shutdown, closed, drained, deleted bool
		send, recv                         error
	}{
		{},
		{closed: true, send: sluice.ErrClosed},
		{closed: true, drained: true, send: sluice.ErrClosed, recv: sluice.ErrClosed},
		{deleted: true, send: ErrDeleted, recv: ErrDeleted},
		{closed: true, deleted: true, send: sluice.ErrClosed, recv: ErrDeleted},
		{shutdown: true, closed: true, drained: true, deleted: true, send: ErrShutdown, recv: ErrShutdown},
	} {
		c := alone(config{})
		c.life.shutdown.Store(test.shutdown)
		c.life.closed.Store(test.closed)
		c.life.drained.Store(test.drained)
		c.life.deleted.Store(test.deleted)
		if send, recv := c.life.sendErr(), c.life.recvErr(); send != test.send || recv != test.recv {
			t.Errorf("%+v: %v and %v", test, send, recv)
		}
	}
}

// No background task starts after Shutdown.
func TestTaskAfterShutdown(t *testing.T) {
	t.Parallel()
	c := alone(config{})
	ran := make(chan struct{}, 2)
	c.life.start(func() { ran <- struct{}{} })
	c.life.tasks.Wait()
	c.life.shutdown.Store(true)
	c.life.start(func() { ran <- struct{}{} })
	c.life.tasks.Wait()
	if len(ran) != 1 {
		t.Errorf("%d of 1 tasks ran", len(ran))
	}
}

// Identities are unique, within a publisher and among publishers.
func TestIdentity(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 3 {
		c := alone(config{})
		for range 3 {
			id := c.publisher.identity()
			if seen[id] || len(id) > 50 { // minOverhead assumes at most 50 bytes
				t.Errorf("identity %q", id)
			}
			seen[id] = true
		}
	}
}

// A Close that is not confirmed is retried, and Stats has a warning until it is.
func TestCloseLater(t *testing.T) {
	t.Parallel()
	c, p, s := behindProxy(t, Options[string]{Name: "jobs"})
	p.cut(true)
	c.core.stream.closeLater(errors.New("no connection"))
	if w := c.Stats().Disk.Warning; !strings.Contains(w, "Close is not confirmed") {
		t.Errorf("Stats.Disk.Warning: %q", w)
	}
	p.cut(false)
	until(t, "the warning is withdrawn", func() bool { return !strings.Contains(c.Stats().Disk.Warning, "Close") })
	js, err := natsjs.New(client(t, s.ClientURL()))
	if err != nil {
		t.Fatal(err)
	}
	if stream, err := js.Stream(t.Context(), "jobs"); err != nil || !stream.CachedInfo().Config.Sealed {
		t.Errorf("the stream is not sealed: %v", err)
	}
}

// Shutdown and Close are idempotent.
func TestTwice(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c, other := open(t, Options[int]{Name: "a", Dir: dir}), open(t, Options[int]{Name: "b", Dir: dir})
	for range 2 {
		c.Close()
		if err := c.CloseContext(patient(t)); err != nil {
			t.Errorf("CloseContext: %v", err)
		}
		if !c.core.life.drained.Load() {
			t.Error("a sealed and empty stream is not drained")
		}
	}
	for range 2 {
		leave(t, c)
	}
	mustSend(t, other, 1) // its server is still running
}
