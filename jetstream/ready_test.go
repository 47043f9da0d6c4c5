package jetstream

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/sluice-go/sluice"
)

// Ready works in a select beside native channels.
func TestReady(t *testing.T) {
	t.Parallel()
	c := open(t, Options[int]{})
	ready := c.Ready()
	if c.Ready() != ready {
		t.Error("a second call returns another channel")
	}
	select {
	case <-ready:
		t.Fatal("Ready of an empty channel")
	default:
	}
	for i := range 3 {
		mustSend(t, c, i)
		<-ready
		for {
			v, err := c.TryRecv()
			if err == nil && v == i {
				break
			}
			if err != sluice.ErrEmpty {
				t.Fatalf("TryRecv: %d, %v", v, err)
			}
		}
	}
	c.Close()
	for range ready {
	}
}

// Ready stays readable while a message is left; it is readable at once if a message
// is ready or the channel is closed.
func TestReadyAtOnce(t *testing.T) {
	t.Parallel()
	c := open(t, Options[int]{})
	in := &c.core.inbox
	in.mu.Lock()
	in.ready = []*message{newest(1), newest(2)}
	in.mu.Unlock()
	for range 2 {
		<-c.Ready()
		in.mu.Lock()
		if n, err := c.core.inbox.takeReady(make([]*message, 1), asValues); n != 1 || err != nil {
			t.Error(n, err)
		}
		in.mu.Unlock()
	}
	select {
	case <-c.Ready():
		t.Error("Ready of an empty channel")
	default:
	}
	other := open(t, Options[int]{})
	other.Close()
	for range other.Ready() {
	}
	left := open(t, Options[int]{})
	ready := left.Ready()
	leave(t, left)
	for range ready {
	}
}

// The advisory of a Close may be lost. A waiting receiver and Ready learn of the
// Close from a Send that is rejected here, from a request that expires, or from
// TryRecv, which checks as often.
func TestCloseUnheard(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, learn := range map[string]func(c *Channel[int]){
		"from a Send": func(c *Channel[int]) {
			if err := c.TrySend(1); err != sluice.ErrClosed {
				t.Errorf("TrySend: %v", err)
			}
		},
		"from TryRecv": func(c *Channel[int]) {
			c.core.stream.checkedAt.Store(int64(time.Since(epoch) - pullWait)) // as if the last check was that long ago
			// A second check may find that it is drained.
			if _, err := c.TryRecv(); err != sluice.ErrClosed && err != sluice.ErrEmpty || !c.core.life.closed.Load() {
				t.Errorf("TryRecv: %v, and closed is %v", err, c.core.life.closed.Load())
			}
		},
		"from a request": func(c *Channel[int]) {
			in := &c.core.inbox
			var m *nats.Msg
			until(t, "a request waits", func() bool { // a request that is lost is repeated
				in.mu.Lock()
				defer in.mu.Unlock()
				_, free := in.fetcher.outstanding()
				p := &in.fetcher.pulls[0]
				if free == p {
					p = &in.fetcher.pulls[1]
				}
				m = status(p, "408")
				m.Header.Set(headerPending, "1")
				return p.left > 0 && p.expires == pullWait
			})
			c.core.fetcher.arrive(m)
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := Options[int]{Name: "jobs", Dir: dir + "/" + name}
			here, there := open(t, o), open(t, o)
			if err := here.core.stream.updates.Unsubscribe(); err != nil {
				t.Fatal(err)
			}
			here.core.stream.updates = nil
			ready, received := here.Ready(), make(chan error)
			go func() {
				_, err := here.Recv(patient(t))
				received <- err
			}()
			until(t, "a receiver waits", func() bool { return here.Stats().ReceiversWaiting == 1 })
			there.Close()
			learn(here)
			if err := <-received; err != sluice.ErrClosed {
				t.Errorf("Recv: %v", err)
			}
			for range ready {
			}
		})
	}
}

// The watch of a closed channel stops when no receiver waits, and starts again with
// the next one.
func TestWatchDrain(t *testing.T) {
	t.Parallel()
	c := open(t, Options[int]{})
	mustSend(t, c, 1)
	d := mustDeliver(t, c)
	c.Close()
	in := &c.core.inbox
	watched := func() bool {
		in.mu.Lock()
		defer in.mu.Unlock()
		return in.watching
	}
	for range 2 {
		ctx, cancel := withCancel(t)
		received := make(chan error)
		go func() {
			_, err := c.Recv(ctx)
			received <- err
		}()
		until(t, "the watch runs", watched)
		cancel()
		if err := <-received; err != ctx.Err() {
			t.Errorf("Recv: %v", err)
		}
		until(t, "the watch has stopped", func() bool { return !watched() })
	}
	if err := d.Ack(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Recv(patient(t)); err != sluice.ErrClosed {
		t.Errorf("Recv: %v", err)
	}
}

// The advisory of a Close reaches a waiting receiver before its request expires.
func TestCloseHeard(t *testing.T) {
	t.Parallel()
	o := Options[int]{Name: "jobs", Dir: t.TempDir()}
	here, there := open(t, o), open(t, o)
	received := make(chan error, 1)
	go func() {
		_, err := here.Recv(patient(t))
		received <- err
	}()
	in := &here.core.inbox
	until(t, "a request is under way", func() bool {
		in.mu.Lock()
		defer in.mu.Unlock()
		return in.fetcher.waiting()
	})
	there.Close()
	if err := <-received; err != sluice.ErrClosed {
		t.Errorf("Recv: %v", err)
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.fetcher.quiet {
		t.Error("only after the request expired")
	}
}
