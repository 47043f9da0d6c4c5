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
	"github.com/sluice-go/sluice/internal/suite"
)

// A durableModel is what a Durable with a policy must do when one goroutine uses it.
type durableModel struct {
	limit    int
	overflow sluice.Overflow
	maxAge   time.Duration
	fresh    time.Duration

	next     uint64        // the sequence number
	queue    []modelRecord // ascending
	flight   []modelRecord
	dropped  []string // what the hook gets, with the reason
	sent     uint64   // since the queue was opened
	received uint64
	drops    uint64
}

type modelRecord struct {
	seq, v uint64
	at     time.Time
	part   modelPart
}

// A modelPart is a part of the queue, in the order of receives.
type modelPart int

const (
	inFront modelPart = iota
	givenBack
	inBacklog
)

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

// fail returns the first n records to the queue, which a write that failed would have dropped.
func (m *durableModel) fail(n int) {
	for i := range m.queue[:n] {
		m.queue[i].part = givenBack
	}
}

// ageFront moves the front to the backlog if its first record is not fresh.
func (m *durableModel) ageFront() {
	first := slices.IndexFunc(m.queue, func(r modelRecord) bool { return r.part == inFront })
	if first < 0 || time.Since(m.queue[first].at) < m.fresh {
		return
	}
	for i := range m.queue {
		if m.queue[i].part == inFront {
			m.queue[i].part = inBacklog
		}
	}
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
	if n := max(evicts, min(m.expired(), evicts+2)); fails != nil {
		m.fail(n)
		return fails
	} else {
		m.drop(n)
	}
	m.ageFront()
	m.queue = append(m.queue, modelRecord{m.next, v, time.Now(), inFront})
	m.next++
	m.sent++
	return nil
}

// recv is a TryRecv.
func (m *durableModel) recv(fails error) (v uint64, err error) {
	m.ageFront()
	if i := m.first(); i >= 0 && m.old(m.queue[i]) {
		n := m.expired()
		if n > 0 && fails != nil {
			m.fail(n)
			return 0, fails
		}
		m.drop(n)
	}
	i := m.first()
	if i < 0 {
		return 0, sluice.ErrEmpty
	}
	r := m.queue[i]
	m.queue, m.flight = slices.Delete(m.queue, i, i+1), append(m.flight, r)
	m.received++
	return r.v, nil
}

// first returns the index of the record that is received next, or -1.
func (m *durableModel) first() int {
	for part := range inBacklog + 1 {
		if i := slices.IndexFunc(m.queue, func(r modelRecord) bool { return r.part == part }); i >= 0 {
			return i
		}
	}
	return -1
}

// settle acknowledges delivery i, or gives it back.
func (m *durableModel) settle(i int, back bool) {
	r := m.flight[i]
	m.flight = slices.Delete(m.flight, i, i+1)
	if back {
		r.part = givenBack
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
	for i := range m.queue {
		m.queue[i].part = inBacklog
	}
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
	if c.records != len(s.records) || c.dropping+c.evicting+c.adding+c.promised+c.retrying+c.acking.records != 0 {
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
	return partsError(c, s)
}

// partsError returns an error if the parts of the queue of c contradict their invariants, or are not
// all that s has except for what is in flight. The caller is alone, or holds mu.
func partsError[T any](c *Durable[T], s *memoryStore) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, total, bytes := uint64(0), len(c.requeued), int64(0)
	for _, part := range []*reader{&c.backlog, &c.front} {
		found := part.window.Len()
		for i := range found {
			if seq := part.window.At(i).Seq; seq > last {
				last = seq
			} else {
				return fmt.Errorf("record %d is behind %d", seq, last)
			}
			bytes += part.window.At(i).Memory()
		}
		if len(part.ranges) > 0 && part.records == part.window.Len() { // left from the time before the queue was opened
			part = &reader{records: part.records}
		}
		for _, r := range part.ranges {
			if r.from <= last || r.from >= r.to || r.to > c.tail {
				return fmt.Errorf("range %v behind record %d, below %d", r, last, c.tail)
			}
			for seq := r.from; seq < r.to; seq++ {
				if _, ok := s.records[seq]; ok {
					found++
				}
			}
			last = r.to - 1
		}
		if found != part.records {
			return fmt.Errorf("a part of the queue has %d records, want %d: ranges %v", part.records, found, part.ranges)
		}
		total += found
	}
	if total != c.queued() || total+c.flight.records+c.dropping != len(s.records) || bytes != c.front.bytes+c.backlog.bytes {
		return fmt.Errorf("%d of %d records are queued, %d in flight, with %d bytes in memory", total, len(s.records), c.flight.records, bytes)
	}
	if bytes > c.config.limit+2*80 { // a record of these tests in each reader
		return fmt.Errorf("%d bytes are in memory, the limit is %d", bytes, c.config.limit)
	}
	if c.front.records > 0 && last+1 != c.tail || c.config.fresh == 0 && c.front.records > 0 {
		return fmt.Errorf("the front ends at %d, want %d", last+1, c.tail)
	}
	return nil
}

// TestDurableModel runs random programs, with failing writes and reopening, against the model.
func TestDurableModel(t *testing.T) {
	policies := []sluice.Overflow{sluice.Block, sluice.Reject, sluice.DropNewest, sluice.DropOldest}
	seeds := uint64(suite.Rounds(8, 40))
	for seed := range seeds {
		for _, overflow := range policies {
			for _, ages := range [][2]time.Duration{{0, 0}, {time.Minute, 0}, {0, 20 * time.Second}, {time.Minute, 20 * time.Second}} {
				synctest.Test(t, func(t *testing.T) {
					if err := durableProgram(seed, overflow, ages[0], ages[1]); err != nil {
						t.Errorf("seed %d, %v, MaxAge %v, Fresh %v: %v", seed, overflow, ages[0], ages[1], err)
					}
				})
			}
		}
	}
}

func durableProgram(seed uint64, overflow sluice.Overflow, maxAge, fresh time.Duration) error {
	random := rand.New(rand.NewPCG(seed, 7))
	m := &durableModel{limit: 1 + random.IntN(6), overflow: overflow, maxAge: maxAge, fresh: fresh, next: 1}
	if random.IntN(2) == 0 {
		m.limit += 9 // the ages of up to 15 records are known exactly
	}
	s := newMemoryStore()
	var got []string
	c := durableOn(s, &DurableOptions[uint64]{
		Capacity: m.limit, Overflow: overflow, MaxAge: maxAge, Fresh: fresh, Codec: fixed{}, MemoryLimit: 120 + int64(random.IntN(2)*300),
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
