package spill

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/suite"
)

// TestFresh runs programs on a queue with a Fresh of a minute: "send 3-5" sends three values, "recv 3-5"
// receives them in this order, and "empty" receives none. "ack" and "nack" settle a delivery.
func TestFresh(t *testing.T) {
	for name, program := range map[string]string{
		"after an outage, new values first":       "send 1-4, wait 1m, send 5-6, recv 5-6, recv 1, send 7, recv 7, recv 2-4, empty",
		"younger than Fresh":                      "send 1, wait 59999ms, send 2, recv 1-2, empty",
		"a send finds the first one stale":        "send 1, wait 30s, send 2, wait 30s, send 3, recv 3, recv 1-2, empty",
		"a receive finds it":                      "send 1, wait 30s, send 2, wait 30s, recv 1, send 3, recv 3, recv 2, empty",
		"nothing happens for a while":             "send 1, recv 1, wait 10h, send 2, wait 59s, send 3, recv 2-3, wait 10h, send 4, wait 10h, recv 4, empty",
		"given back, behind fresh ones":           "send 1-2, wait 1m, send 3-5, recv 3, nack 3, recv 4-5, recv 3, recv 1-2, empty",
		"given back, and stale":                   "send 1-2, wait 1m, send 3-5, recv 3, nack 3, wait 1m, recv 3, recv 1-2, recv 4-5, empty",
		"given back, the lowest number first":     "send 1-3, wait 1m, recv 1-3, send 4, recv 4, nack 3, nack 4, nack 1, recv 1, recv 3-4, empty",
		"opened again":                            "send 1-3, recv 1-2, ack 2, open, send 4-5, recv 4, nack 4, recv 5, recv 4, recv 1, recv 3, empty",
		"opened again, the last ones settled":     "send 1-3, recv 1-3, ack 2, ack 3, open, wait 1h, send 4, wait 1h, send 5, recv 5, recv 1, recv 4, empty",
		"a backlog of several ranges":             "send 1-4, recv 1, wait 1m, send 5-8, recv 5-6, wait 1m, send 9-12, recv 9, wait 1m, recv 2-4, recv 7-8, recv 10-12, empty",
		"a backlog in memory, and nothing beside": "send 1-4, wait 1m, recv 1, send 5, recv 5, recv 2-4, send 6-8, recv 6, wait 1m, recv 7-8, empty",
	} {
		for _, memory := range []int64{1, 200, 1 << 20} {
			synctest.Test(t, func(t *testing.T) {
				s := newMemoryStore()
				c := durableOn(s, &DurableOptions[uint64]{Codec: fixed{}, Fresh: time.Minute, MemoryLimit: memory})
				if err := runFresh(c, s, program); err != nil {
					t.Errorf("%s, %d bytes of memory: %v", name, memory, err)
				}
			})
		}
	}
}

func runFresh(c *Durable[uint64], s *memoryStore, program string) error {
	held := map[uint64]*Delivery[uint64]{}
	for _, step := range strings.Split(program, ", ") {
		name, what, _ := strings.Cut(step, " ")
		var from, to uint64
		if n, _ := fmt.Sscanf(what, "%d-%d", &from, &to); n < 2 {
			to = from
		}
		var err error
		switch name {
		case "wait":
			var d time.Duration
			d, err = time.ParseDuration(what)
			time.Sleep(d)
		case "open":
			c = reopened(c, s)
		case "empty":
			if _, none := c.TryRecv(); none != sluice.ErrEmpty {
				err = fmt.Errorf("%v, want ErrEmpty", none)
			}
		case "nack":
			err = held[from].Nack()
		case "ack":
			err = held[from].Ack()
		}
		for v := from; v <= to && err == nil; v++ {
			switch name {
			case "send":
				err = c.Send(never, v)
			case "recv":
				if held[v], err = c.TryRecv(); err == nil && held[v].Value != v {
					err = fmt.Errorf("received %d", held[v].Value)
				}
			}
		}
		if err == nil {
			err = partsError(c, s)
		}
		if err != nil {
			return fmt.Errorf("%s of %s: %w", step, program, err)
		}
	}
	return nil
}

// TestFreshOverload: senders are faster than the receiver at random times. What is fresh is received
// young, the backlog in order, each value once; the memory for both is bounded, and the backlog has
// at most one range for each Fresh.
func TestFreshOverload(t *testing.T) {
	const fresh, limit = time.Second, 4000
	for seed := range uint64(suite.Rounds(2, 10)) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 3))
			s := newMemoryStore()
			c := durableOn(s, &DurableOptions[uint64]{Codec: fixed{}, Fresh: fresh, MemoryLimit: limit})
			begin, sentAt := time.Now(), []time.Time{}
			var young, old []uint64
			receive := func() {
				d, err := c.TryRecv()
				if err != nil {
					t.Fatal(err)
				}
				switch {
				case len(young) == 0 || d.Value > slices.Max(young) && time.Since(sentAt[d.Value]) < fresh:
					young = append(young, d.Value)
				default:
					old = append(old, d.Value)
				}
				if err := d.Ack(); err != nil {
					t.Fatal(err)
				}
			}
			for len(sentAt) < 12_000 {
				vs := make([]uint64, 1+random.IntN(20))
				for i := range vs {
					vs[i] = uint64(len(sentAt))
					sentAt = append(sentAt, time.Now())
				}
				if _, err := c.SendBatch(never, vs); err != nil {
					t.Fatal(err)
				}
				for range min(c.Len(), random.IntN(14)) {
					receive()
				}
				time.Sleep(time.Duration(random.IntN(30)) * time.Millisecond)
				if st := c.Stats(); c.front.bytes+c.backlog.bytes > limit+128 || len(c.backlog.ranges) > 1+int(time.Since(begin)/fresh) || st.Bytes > limit+128+16*int64(2+len(c.backlog.ranges)) {
					t.Fatalf("%d bytes, %d and %d in windows, %d ranges after %v", st.Bytes, c.front.bytes, c.backlog.bytes, len(c.backlog.ranges), time.Since(begin))
				}
			}
			if err := partsError(c, s); err != nil || len(c.backlog.ranges) < 3 {
				t.Errorf("%d ranges, %v", len(c.backlog.ranges), err)
			}
			for c.Len() > 0 {
				receive()
			}
			if !slices.IsSorted(old) || len(young)+len(old) != len(sentAt) || len(young) < len(sentAt)/4 || len(old) < len(sentAt)/4 {
				t.Errorf("%d values received fresh, %d others, sorted: %v", len(young), len(old), slices.IsSorted(old))
			}
			all := slices.Sorted(slices.Values(append(young, old...)))
			if len(slices.Compact(all)) != len(sentAt) {
				t.Error("a value was received twice")
			}
		})
	}
}

// TestFreshPrecision: values are received in order as long as none is older than five sixths of Fresh,
// whatever the pace of the senders.
func TestFreshPrecision(t *testing.T) {
	const fresh = time.Minute
	for name, pace := range map[string]func(i int) time.Duration{
		"steady":    func(int) time.Duration { return 10 * time.Millisecond },
		"at random": func(int) time.Duration { return time.Duration(rand.ExpFloat64() * float64(10*time.Millisecond)) },
		"in bursts": func(i int) time.Duration { return time.Duration(i%500/499) * 5 * time.Second },
		"slow":      func(int) time.Duration { return 7 * time.Second },
	} {
		synctest.Test(t, func(t *testing.T) {
			c := durableOn(newMemoryStore(), &DurableOptions[uint64]{Codec: fixed{}, Fresh: fresh})
			var sentAt []time.Time
			for next := uint64(0); next < 20_000; {
				if err := c.Send(never, uint64(len(sentAt))); err != nil {
					t.Fatal(err)
				}
				sentAt = append(sentAt, time.Now())
				time.Sleep(pace(len(sentAt)))
				for int(next) < len(sentAt) && time.Since(sentAt[next]) > fresh*5/6-10*time.Second {
					d, err := c.TryRecv()
					if err != nil {
						t.Fatal(err)
					}
					if d.Value != next {
						t.Fatalf("%s: received value %d instead of %d, which is %v old", name, d.Value, next, time.Since(sentAt[next]))
					}
					next++
				}
			}
		})
	}
}

// TestFreshMemory: the memory that the front leaves to reads is there when it is itself read from the
// file, and the backlog has the rest.
func TestFreshMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit, values = 8000, 200 // more than the limit
		c := durableOn(newMemoryStore(), &DurableOptions[uint64]{Codec: fixed{}, Fresh: time.Minute, MemoryLimit: limit})
		for round := range 2 {
			if _, err := c.SendBatch(never, make([]uint64, values)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute - time.Nanosecond)
			for range 1 + 2*round { // of the fresh ones, the second is read from the file
				if _, err := c.TryRecv(); err != nil {
					t.Fatal(err)
				}
			}
			if got := c.front.bytes + c.backlog.bytes; got > limit || c.front.bytes == 0 {
				t.Errorf("%d bytes in memory, %d of them fresh, limit %d", got, c.front.bytes, limit)
			}
			time.Sleep(time.Nanosecond)
		}
	})
}

// TestFreshMaxAge: a value whose write took long is not received when it is too old, though it was
// stored a moment ago.
func TestFreshMaxAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemoryStore()
		c := durableOn(s, &DurableOptions[uint64]{Codec: fixed{}, MaxAge: time.Minute, Fresh: 50 * time.Second})
		s.onWrite = func(uint64, [][]byte, []uint64) error { time.Sleep(30 * time.Second); return nil }
		if err := c.Send(never, 1); err != nil {
			t.Fatal(err)
		}
		time.Sleep(40 * time.Second)
		if d, err := c.TryRecv(); err != sluice.ErrEmpty {
			t.Errorf("received %v, %v", d, err)
		}
	})
}
