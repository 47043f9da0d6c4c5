package spill

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/locked"
	"github.com/sluice-go/sluice/internal/park"
)

// agingElastic returns an Elastic with memory for 3 values, of which each is too old after a minute.
func agingElastic(t *testing.T, o ElasticOptions[uint64]) (*Elastic[uint64], *dropLog) {
	t.Helper()
	l := new(dropLog)
	o.MemoryLimit, o.MaxAge, o.Codec, o.OnUndelivered = 3*(8+locked.DatedBytes), time.Minute, fixed{}, l.hook
	return on(t, new(faulty), &o), l
}

func sendAll(t *testing.T, c *Elastic[uint64], first, n uint64) {
	t.Helper()
	for v := first; v < first+n; v++ {
		if err := c.TrySend(v); err != nil {
			t.Fatalf("value %d: %v", v, err)
		}
	}
}

// dropped reports whether the hook got the values from first on, which were too old.
func (l *dropLog) tooOld(first uint64, n int) bool {
	for i, v := range l.values {
		if v != first+uint64(i) || l.reasons[i] != sluice.TooOld {
			return false
		}
	}
	return len(l.values) == n
}

// TestElasticMaxAge: a value of exactly MaxAge is received, an older one never, in memory and on disk,
// by each method, and the hook gets it. Ages continue on disk and back, and Stats has them.
func TestElasticMaxAge(t *testing.T) {
	receive := map[string]func(c *Elastic[uint64]) (uint64, error){
		"Recv":    func(c *Elastic[uint64]) (uint64, error) { return c.Recv(context.Background()) },
		"TryRecv": (*Elastic[uint64]).TryRecv,
		"RecvBatch": func(c *Elastic[uint64]) (uint64, error) {
			buf := make([]uint64, 1)
			_, err := c.RecvBatch(context.Background(), buf)
			return buf[0], err
		},
		"Values": func(c *Elastic[uint64]) (uint64, error) {
			for v := range c.Values(context.Background()).All() {
				return v, nil
			}
			return 0, sluice.ErrClosed
		},
	}
	for name, recv := range receive {
		for _, n := range []uint64{2, 3, 40, 700} { // the first ones are in memory
			synctest.Test(t, func(t *testing.T) {
				c, l := agingElastic(t, ElasticOptions[uint64]{})
				sendAll(t, c, 0, n)
				time.Sleep(30 * time.Second)
				sendAll(t, c, n, 2)
				time.Sleep(30 * time.Second)
				if v, err := recv(c); v != 0 || err != nil || c.Stats().OldestValue != time.Minute {
					t.Fatalf("%s, a value of exactly MaxAge: %d, %v, %v old", name, v, err, c.Stats().OldestValue)
				}
				time.Sleep(time.Nanosecond)
				if v, err := recv(c); v != n || err != nil || !l.tooOld(1, int(n-1)) {
					t.Fatalf("%s with %d values: %d, %v, the hook got %v", name, n, v, err, l.values)
				}
				if s := c.Stats(); s.OldestValue != 30*time.Second+1 || s.TooOld != n-1 || s.Dropped != n-1 || s.Received != 2 || s.Len != 1 {
					t.Errorf("%s with %d values: %+v", name, n, s)
				}
				l.values, l.reasons = nil, nil
				time.Sleep(time.Minute)
				if _, err := c.TryRecv(); err != sluice.ErrEmpty || c.state.Load()&spilling != 0 || !l.tooOld(n+1, 1) {
					t.Errorf("%s with %d values: at last %v, the hook got %v", name, n, err, l.values)
				}
			})
		}
	}
}

// TestElasticFindsRoom: a send finds the room of values that are too old, under each policy, and the hook gets
// no others. It drops two of them for each value.
func TestElasticFindsRoom(t *testing.T) {
	for _, o := range []ElasticOptions[uint64]{{Capacity: 12}, {DiskLimit: 9 * (header + timeCost + 8)}} {
		for _, o.Overflow = range []sluice.Overflow{sluice.Block, sluice.Reject, sluice.DropNewest, sluice.DropOldest} {
			synctest.Test(t, func(t *testing.T) {
				c, l := agingElastic(t, o)
				sendAll(t, c, 0, 12)
				time.Sleep(time.Minute + 1)
				sendAll(t, c, 12, 1)
				if !l.tooOld(0, 3) || c.Len() != 10 {
					t.Errorf("%v: dropped %v, %d queued", o.Overflow, l.values, c.Len())
				}
				if n, err := c.SendBatch(t.Context(), []uint64{13, 14}); n != 2 || err != nil || !l.tooOld(0, 7) {
					t.Errorf("%v: %d sent, %v, dropped %v", o.Overflow, n, err, l.values)
				}
				if v, err := c.Recv(t.Context()); v != 12 || err != nil || !l.tooOld(0, 12) {
					t.Errorf("%v: %d, %v, dropped %v", o.Overflow, v, err, l.values)
				}
			})
		}
	}
}

// TestElasticExpiryWakes: a sender that waits for room gets that of the oldest value at the moment at which it
// becomes too old, in order, and gives it to the hook. No timer runs without a sender.
func TestElasticExpiryWakes(t *testing.T) {
	for _, o := range []ElasticOptions[uint64]{{Capacity: 2}, {Capacity: 5}, {DiskLimit: 2 * (header + timeCost + 8)}} {
		synctest.Test(t, func(t *testing.T) {
			c, l := agingElastic(t, o)
			start := time.Now()
			n := uint64(5)
			if o.Capacity == 2 {
				n = 2
			}
			for v := range n {
				sendAll(t, c, v, 1)
				time.Sleep(time.Second)
			}
			if c.TrySend(9) != sluice.ErrFull || c.alarmed {
				t.Error("the timer is set without a sender")
			}
			sent := make(chan time.Duration, 9)
			ctx, cancel := context.WithCancel(t.Context())
			for v := range uint64(3) {
				go func() {
					of := t.Context()
					if v == 1 {
						of = ctx
					}
					if err := c.Send(of, n+v); err != nil {
						sent <- -1
						return
					}
					sent <- time.Since(start)
				}()
				synctest.Wait()
			}
			cancel()
			got := []time.Duration{<-sent, <-sent, <-sent}
			if want := []time.Duration{-1, time.Minute + 1, time.Minute + time.Second + 1}; !slices.Equal(got, want) {
				t.Errorf("the senders returned after %v, want %v", got, want)
			}
			if c.alarmed || !l.tooOld(0, 2) || c.Len() != int(n) {
				t.Errorf("the timer is set: %v; dropped %v, %d queued", c.alarmed, l.values, c.Len())
			}
			go func() { sent <- 0; _ = c.Send(t.Context(), 99); close(sent) }()
			<-sent
			synctest.Wait()
			c.Close()
			if <-sent; c.alarmed {
				t.Error("the timer is set after Close")
			}
		})
	}
}

// TestElasticReceiversWait: receivers that wait do not get a value that comes too old from the disk. One of them
// drops it, and they get later ones.
func TestElasticReceiversWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, l := agingElastic(t, ElasticOptions[uint64]{})
		got := make(chan uint64, 2)
		for range 2 {
			go func() {
				v, _ := c.Recv(t.Context())
				got <- v
			}()
		}
		synctest.Wait()
		// Both waited already when other receivers emptied head, and the last of these reads the record.
		c.mu.Lock()
		for v := range uint64(2) {
			record := make([]byte, header+timeCost+8)
			record[0] = timeCost + 8
			binary.LittleEndian.PutUint64(record[header+timeCost:], v)
			if err := c.append(record); err != nil {
				t.Error(err)
			}
			binary.LittleEndian.PutUint64(c.backlog.tail[len(record)*int(v)+header:], uint64(park.Now()-time.Hour))
		}
		c.advance()
		c.mu.Unlock()
		synctest.Wait()
		if len(got) != 0 || !l.tooOld(0, 2) || c.Len() != 0 {
			t.Fatalf("%d received, dropped %v, %d queued", len(got), l.values, c.Len())
		}
		sendAll(t, c, 5, 2)
		if sum := <-got + <-got; sum != 11 {
			t.Error(sum)
		}
	})
}

// TestElasticHookPanics: a receive whose hook panics has received nothing, and a send has sent its value. The
// other values are dropped all the same.
func TestElasticHookPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := agingElastic(t, ElasticOptions[uint64]{Capacity: 10})
		hooked := 0
		c.config.undelivered = func(uint64, sluice.Reason) { hooked++; panic(errHook) }
		call := func(f func()) (panicked any) {
			defer func() { panicked = recover() }()
			f()
			return nil
		}
		sendAll(t, c, 0, 10)
		time.Sleep(2 * time.Minute)
		if p := call(func() { _ = c.TrySend(10) }); p != errHook || hooked != 3 {
			t.Errorf("a send: %v, %d calls", p, hooked)
		}
		if p := call(func() { _, _ = c.RecvBatch(t.Context(), make([]uint64, 4)) }); p != errHook {
			t.Errorf("a receive: %v", p)
		}
		for c.Len() > 1 {
			call(func() { _, _ = c.TryRecv() })
		}
		if v, err := c.Recv(t.Context()); v != 10 || err != nil || hooked != 10 {
			t.Errorf("%d, %v, %d calls", v, err, hooked)
		}
	})
}

// TestElasticAgedEnds: Close leaves values that are too old to the next receive, Discard gives them to
// the hook as TooOld, and a block that cannot be read ends the channel.
func TestElasticAgedEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, l := agingElastic(t, ElasticOptions[uint64]{})
		ready := c.Ready()
		sendAll(t, c, 0, 100)
		time.Sleep(2 * time.Minute)
		c.Close()
		<-ready
		if _, err := c.Recv(t.Context()); err != sluice.ErrClosed || !l.tooOld(0, 100) {
			t.Errorf("%v, dropped %v", err, l.values)
		}
		<-ready
		<-ready // it is closed

		c, l = agingElastic(t, ElasticOptions[uint64]{})
		sendAll(t, c, 0, 100)
		time.Sleep(2 * time.Minute)
		if n := c.Discard(); n != 0 || !l.tooOld(0, 100) {
			t.Errorf("discarded %d, dropped %v", n, l.values)
		}

		broken := errors.New("broken")
		c, l = agingElastic(t, ElasticOptions[uint64]{})
		sendAll(t, c, 0, 100)
		c.backlog.blocks.Oldest().in.file.(*faultyFile).disk.onRead = func([]byte) (int, error) { return 0, broken }
		time.Sleep(2 * time.Minute)
		if _, err := c.Recv(t.Context()); !errors.Is(err, broken) || !l.tooOld(0, 3) {
			t.Errorf("%v, dropped %v", err, l.values)
		}
	})
}

// TestElasticAgedMemory: MemoryLimit counts what a value with an age takes, and a value that fits alone is
// accepted.
func TestElasticAgedMemory(t *testing.T) {
	for _, bad := range []ElasticOptions[uint64]{{MaxAge: -1}, {MaxAge: 1, MemoryLimit: 8}} {
		if _, err := OpenElastic(t.TempDir(), &bad); err == nil || !strings.Contains(err.Error(), "OpenElastic: M") {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	c := on(t, new(faulty), &ElasticOptions[[]byte]{MemoryLimit: 200, MaxAge: time.Hour})
	for len(c.backlog.tail) == 0 {
		if err := c.TrySend(make([]byte, 16)); err != nil {
			t.Fatal(err)
		}
	}
	if n := c.head.Len(); n != 200/(inMemory(16)+locked.DatedBytes) {
		t.Errorf("%d values in memory", n)
	}
	if err := c.TrySend(make([]byte, 200)); err != sluice.ErrTooLarge {
		t.Error(err)
	}
	if err := c.TrySend(make([]byte, 200-inMemory(locked.DatedBytes))); err != nil {
		t.Error(err)
	}
}

// A trapped codec panics while it is set.
type trapped struct {
	fixed
	set *bool
}

func (c trapped) Append(b []byte, v uint64) ([]byte, error) {
	if *c.set {
		panic(errHook)
	}
	return c.fixed.Append(b, v)
}

// TestElasticCodecPanics: a send that has removed the only value in memory, and then panics in the codec, leaves
// no receiver waiting while values are on disk.
func TestElasticCodecPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var set bool
		c := on(t, new(faulty), &ElasticOptions[uint64]{
			MemoryLimit: 8 + locked.DatedBytes, MaxAge: time.Minute, Capacity: 3, Codec: trapped{set: &set},
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		var once sync.Once
		v, err := c.Recv(overtaken{ctx, func() { // the channel was direct, and empty
			once.Do(func() {
				defer recoverHook()
				sendAll(t, c, 0, 1)
				time.Sleep(time.Minute)
				sendAll(t, c, 1, 2)
				time.Sleep(time.Second)
				set = true
				_ = c.TrySend(3)
			})
		}})
		if v != 1 || err != nil || c.Stats().TooOld != 1 {
			t.Errorf("%d, %v, %+v", v, err, c.Stats())
		}
	})
}

// TestElasticDropsInParts: what a call has dropped, and the hook has yet to get, takes little memory beside
// what MemoryLimit allows, although it comes from the disk.
func TestElasticDropsInParts(t *testing.T) {
	const size, limit = 64 << 10, 1 << 20
	for name, call := range map[string]func(c *Elastic[[]byte]) error{
		"TryRecv":   func(c *Elastic[[]byte]) error { _, err := c.TryRecv(); return err },
		"SendBatch": func(c *Elastic[[]byte]) error { return second(c.SendBatch(context.Background(), make([][]byte, 100))) },
	} {
		synctest.Test(t, func(t *testing.T) {
			var c *Elastic[[]byte]
			hooked, most := 0, 0
			c = on(t, new(faulty), &ElasticOptions[[]byte]{MemoryLimit: limit, MaxAge: time.Minute, OnUndelivered: func([]byte, sluice.Reason) {
				most = max(most, c.tooOld-hooked)
				hooked++
			}})
			for range 200 {
				if err := c.TrySend(make([]byte, size)); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(2 * time.Minute)
			if err := call(c); err != nil && err != sluice.ErrEmpty || most == 0 || most > (limit+expireBytes)/size+1 {
				t.Errorf("%s: %v, %d values at once", name, err, most)
			}
		})
	}
}
