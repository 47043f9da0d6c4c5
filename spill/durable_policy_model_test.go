package spill

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
)

// A durableModel is what a Durable with a policy must do when one goroutine uses it.
type durableModel struct {
	limit    int
	overflow sluice.Overflow
	maxAge   time.Duration

	next     uint64 // the sequence number
	queue    []modelRecord
	flight   []modelRecord
	dropped  []string // what the hook gets, with the reason
	sent     uint64   // since the queue was opened
	received uint64
	drops    uint64
}

type modelRecord struct {
	seq, v uint64
	at     time.Time
}

func (m *durableModel) old(r modelRecord) bool { return m.maxAge > 0 && time.Since(r.at) > m.maxAge }

// expired returns how many records at the front of the queue are too old.
func (m *durableModel) expired() (n int) {
	for n < len(m.queue) && m.old(m.queue[n]) {
		n++
	}
	return n
}

// drop drops the first n records of the queue.
func (m *durableModel) drop(n int) {
	for _, r := range m.queue[:n] {
		why := sluice.Overflowed
		if m.old(r) {
			why = sluice.TooOld
		}
		m.dropped = append(m.dropped, fmt.Sprint(r.v, why))
	}
	m.queue = m.queue[n:]
	m.drops += uint64(n)
}

// send is a TrySend of v.
func (m *durableModel) send(v uint64, fails error) error {
	evicts := 0
	if len(m.queue)+len(m.flight) >= m.limit {
		switch {
		case m.overflow == sluice.DropOldest && len(m.flight) < m.limit, m.overflow != sluice.DropOldest && m.expired() > 0:
			evicts = 1
		case m.overflow == sluice.DropNewest:
			m.dropped = append(m.dropped, fmt.Sprint(v, sluice.Overflowed))
			m.drops++
			return nil
		default:
			return sluice.ErrFull
		}
	}
	if fails != nil {
		return fails
	}
	m.drop(evicts)
	m.drop(min(m.expired(), 2))
	m.queue = append(m.queue, modelRecord{m.next, v, time.Now()})
	m.next++
	m.sent++
	return nil
}

// recv is a TryRecv.
func (m *durableModel) recv(fails error) (v uint64, err error) {
	if n := m.expired(); n > 0 {
		if fails != nil {
			return 0, fails
		}
		m.drop(n)
	}
	if len(m.queue) == 0 {
		return 0, sluice.ErrEmpty
	}
	r := m.queue[0]
	m.queue, m.flight = m.queue[1:], append(m.flight, r)
	m.received++
	return r.v, nil
}

// settle acknowledges delivery i, or gives it back.
func (m *durableModel) settle(i int, back bool) {
	r := m.flight[i]
	m.flight = slices.Delete(m.flight, i, i+1)
	if back {
		m.queue = append(m.queue, r)
		m.sort()
		m.sent++
	}
}

func (m *durableModel) sort() {
	slices.SortFunc(m.queue, func(a, b modelRecord) int { return int(a.seq) - int(b.seq) })
}

func (m *durableModel) reopen() {
	m.queue, m.flight = append(m.queue, m.flight...), nil
	m.sort()
	m.sent, m.received, m.drops = uint64(len(m.queue)), 0, 0
}

// compare returns an error if the channel is not in the state of the model.
func (m *durableModel) compare(c *Durable[uint64], s *memoryStore, got []string) error {
	st := c.Stats()
	if st.Len != len(m.queue) || c.InFlight() != len(m.flight) || len(s.records) != len(m.queue)+len(m.flight) {
		return fmt.Errorf("%d queued, %d in flight, %d stored, want %d and %d", st.Len, c.InFlight(), len(s.records), len(m.queue), len(m.flight))
	}
	if !slices.Equal(got, m.dropped) {
		return fmt.Errorf("dropped %v, want %v", got, m.dropped)
	}
	if st.Sent != m.sent || st.Received != m.received || st.Dropped != m.drops {
		return fmt.Errorf("%+v, want %+v", st, m)
	}
	if c.records != len(s.records) || c.dropping+c.evicting+c.adding+c.promised+c.retrying+c.acking != 0 {
		return fmt.Errorf("%d of %d records count; dropping %d, evicting %d, adding %d, promised %d", c.records, len(s.records), c.dropping, c.evicting, c.adding, c.promised)
	}
	var bytes int64
	for seq, payload := range s.records {
		if bytes += int64(len(payload)) + recordCost; s.times[seq] != 0 {
			bytes += timeCost
		}
	}
	if c.bytes != bytes {
		return fmt.Errorf("%d bytes count, want %d", c.bytes, bytes)
	}
	return nil
}

// TestDurableModel runs random programs, with failing writes and reopening, against the model.
func TestDurableModel(t *testing.T) {
	policies := []sluice.Overflow{sluice.Block, sluice.Reject, sluice.DropNewest, sluice.DropOldest}
	seeds := uint64(40)
	if testing.Short() {
		seeds = 8
	}
	for seed := range seeds {
		for _, overflow := range policies {
			for _, maxAge := range []time.Duration{0, time.Minute} {
				synctest.Test(t, func(t *testing.T) {
					if err := durableProgram(seed, overflow, maxAge); err != nil {
						t.Errorf("seed %d, %v, MaxAge %v: %v", seed, overflow, maxAge, err)
					}
				})
			}
		}
	}
}

func durableProgram(seed uint64, overflow sluice.Overflow, maxAge time.Duration) error {
	random := rand.New(rand.NewPCG(seed, 7))
	m := &durableModel{limit: 1 + random.IntN(6), overflow: overflow, maxAge: maxAge, next: 1}
	s := newMemoryStore()
	var got []string
	c := durableOn(s, &DurableOptions[uint64]{
		Capacity: m.limit, Overflow: overflow, MaxAge: maxAge, Codec: fixed{}, MemoryLimit: 120,
		OnUndelivered: func(v uint64, why sluice.Reason) { got = append(got, fmt.Sprint(v, why)) },
	})
	broken := errors.New("no space")
	var ds []*Delivery[uint64]
	for i := range uint64(300) {
		var fails error
		if random.IntN(6) == 0 {
			fails = broken
		}
		s.onWrite = func(uint64, [][]byte, []uint64) error { return fails }
		var err, want error
		switch p := random.IntN(100); {
		case p < 45:
			want = m.send(i, fails)
			err = c.TrySend(i)
		case p < 65:
			v, wanted := m.recv(fails)
			d, got := c.TryRecv()
			if want, err = wanted, got; err == nil {
				if ds = append(ds, d); d.Value != v {
					return fmt.Errorf("step %d: received %d, want %d", i, d.Value, v)
				}
			}
		case p < 90 && len(ds) > 0:
			at, back := random.IntN(len(ds)), p >= 80
			if back {
				err = ds[at].Nack()
			} else if err, want = ds[at].Ack(), fails; want != nil {
				break
			}
			m.settle(at, back)
			ds = slices.Delete(ds, at, at+1)
		case p < 93:
			m.reopen()
			c, ds = reopened(c, s), nil
		default:
			time.Sleep(time.Duration(random.IntN(30)) * time.Second)
		}
		if err != want {
			return fmt.Errorf("step %d: %v, want %v", i, err, want)
		}
		if err := m.compare(c, s, got); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	return nil
}
