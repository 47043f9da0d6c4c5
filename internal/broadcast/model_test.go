package broadcast

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/suite"
)

// A model is a Hub that is simple: each subscription has a queue of its own.
type model struct {
	sent   []*int
	replay int
	subs   []*modelSub
	closed bool
	gone   uint64 // evicted
}

// policies are the policies that a subscription can have.
var policies = [...]engine.Overflow{engine.DropOldest, engine.DropNewest, engine.Block, engine.Evict}

type modelSub struct {
	Config
	queue                   []*int
	filter                  func(*int) bool
	sent, received, dropped uint64
	high                    int
	lax                     bool
	err                     error
}

func (m *model) subscribe(c Config, filter func(*int) bool) *modelSub {
	n := min(c.Replay, m.replay, len(m.sent))
	s := &modelSub{Config: c, filter: filter}
	for _, v := range m.sent[len(m.sent)-n:] {
		if s.wants(v) {
			s.queue = append(s.queue, v)
		}
	}
	s.sent, s.high = uint64(len(s.queue)), len(s.queue)
	m.subs = append(m.subs, s)
	return s
}

func (s *modelSub) wants(v *int) bool { return s.filter == nil || s.filter(v) }

func (m *model) send(v *int) error {
	if m.closed {
		return engine.ErrClosed
	}
	for _, s := range m.subs {
		if s.err == nil && s.Overflow == engine.Block && !s.lax && len(s.queue) == s.Capacity {
			return engine.ErrFull
		}
	}
	m.sent = append(m.sent, v)
	for _, s := range m.subs {
		if s.err != nil || !s.wants(v) {
			continue
		}
		full := len(s.queue) == s.Capacity
		if full && s.Overflow == engine.Evict {
			s.sent++
			s.dropped++
			s.end(ErrEvicted)
			m.gone++
			continue
		}
		s.sent++
		switch {
		case !full:
			s.queue = append(s.queue, v)
		case s.Overflow == engine.DropOldest || s.lax:
			s.dropped++
			s.queue = append(s.queue[1:], v)
		default:
			s.dropped++
		}
		s.high = max(s.high, len(s.queue))
	}
	return nil
}

func (s *modelSub) end(err error) {
	s.err = err
	s.dropped += uint64(len(s.queue))
	s.queue = nil
}

func (m *model) recv(s *modelSub, n int) (vs []*int, err error) {
	switch {
	case s.err != nil:
		return nil, s.err
	case len(s.queue) == 0 && m.closed:
		return nil, engine.ErrClosed
	case len(s.queue) == 0:
		return nil, engine.ErrEmpty
	}
	n = min(n, len(s.queue))
	vs = s.queue[:n]
	s.queue = s.queue[n:]
	s.received += uint64(n)
	s.lax = false
	return vs, nil
}

// A script reads decisions from its bytes; without bytes all are 0.
type script struct{ bytes []byte }

func (s *script) below(n int) int {
	if len(s.bytes) == 0 {
		return 0
	}
	b := s.bytes[0]
	s.bytes = s.bytes[1:]
	return int(b) % n
}

// play makes the calls of a script on a Hub and on a model, and compares the results.
func play(t *testing.T, data []byte) {
	in := &script{data}
	size, replay := 1+in.below(9), in.below(6)
	if in.below(4) == 0 {
		size *= 23
	}
	h, m := New[*int](size, replay), &model{replay: replay}
	var subs []*Subscription[*int]
	same := func(what string, got, want any) {
		t.Helper()
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%s after %d values: %v, want %v (size %d, replay %d)", what, len(m.sent), got, want, size, replay)
		}
	}
	for next := 0; len(in.bytes) > 0; {
		op := in.below(12)
		at := in.below(max(1, len(subs)))
		switch {
		case op == 0:
			limit := 1 + in.below(size)
			c := Config{Capacity: limit, Overflow: policies[in.below(4)], Replay: in.below(min(limit, replay) + 1)}
			c.DropsAfter = c.Overflow == engine.Block && in.below(2) == 0
			var filter func(*int) bool
			if of := in.below(4); of > 0 {
				filter = func(v *int) bool { return *v%of == 0 } // with 1, all
			}
			s, err := h.Subscribe(c, nil, filter)
			if m.closed {
				same("Subscribe", err, engine.ErrClosed)
				break
			}
			subs = append(subs, s)
			m.subscribe(c, filter)
		case op < 5:
			for range 1 + in.below(4)*in.below(20) {
				v := new(int)
				*v = next
				next++
				same("TrySend", h.TrySend(v), m.send(v))
			}
		case op == 5:
			canceled, cancel := context.WithCancel(t.Context())
			cancel()
			vs := []*int{new(int), new(int), new(int)}
			n, err := h.SendBatch(canceled, vs)
			for i, v := range vs {
				want := m.send(v)
				if i < n {
					same("a value of SendBatch", nil, want)
					continue
				}
				if want == engine.ErrFull {
					want = context.Canceled
				}
				same("SendBatch", err, want)
				break
			}
		case len(subs) == 0:
		case op < 10:
			n := max(1, in.below(8)-3)
			buf := make([]*int, n)
			var got int
			var err error
			if n > 1 {
				got, err = subs[at].RecvBatch(engine.NoWait{}, buf)
			} else if buf[0], err = subs[at].TryRecv(); err == nil {
				got = 1
			}
			vs, want := m.recv(m.subs[at], n)
			if !errors.Is(err, want) || !slices.Equal(buf[:got], vs) {
				t.Fatalf("receiving %d: %v, %v; want %v, %v", n, buf[:got], err, vs, want)
			}
		case op == 10 && in.below(3) == 0:
			subs[at].Close()
			if m.subs[at].err == nil {
				m.subs[at].end(engine.ErrClosed)
			}
		case op == 10 && m.subs[at].DropsAfter && subs[at].at[gated] >= 0: // its patience is over
			h.acquire()
			subs[at].stuckAt, subs[at].stuckSince = subs[at].word.Load()>>1, 1
			h.relax(subs[at])
			h.lock.Unlock()
			m.subs[at].lax = true
		case op == 11 && in.below(40) == 0:
			h.Close()
			m.closed = true
		}
		requireInvariants(t, h)
		if in.below(3) > 0 {
			continue // Stats records the length of a queue, and so would hide that a receive does not
		}
		for i, s := range subs {
			want := m.subs[i]
			same("Len", s.Len(), len(want.queue))
			got := s.Stats()
			same("Sent, Received, Dropped, HighWater", []any{got.Sent, got.Received, got.Dropped, got.HighWater},
				[]any{want.sent, want.received, want.dropped, want.high})
		}
		same("Evicted", h.Stats().Evicted, m.gone)
	}
}

// requireInvariants checks the invariants of the package comment.
func requireInvariants[T comparable](t *testing.T, h *Hub[T]) {
	t.Helper()
	h.acquire()
	defer h.lock.Unlock()
	tail, log := h.tail.Load(), &h.log
	if h.publishing.Load() || log.last != tail/log.size || log.first > log.last || log.last-log.first >= log.most {
		t.Fatalf("tail %d, gate %d, blocks of %d from %d to %d of %d", tail, h.gate, log.size, log.first, log.last, log.most)
	}
	inLog := 0
	for _, b := range log.ring {
		if b != nil {
			inLog++
		}
	}
	if uint64(inLog) != log.last-log.first+1 {
		t.Fatalf("the ring has %d blocks, %d to %d are in the log", inLog, log.first, log.last)
	}
	pins, stray := map[*block[T]]int{}, 0
	for _, s := range h.roles[member] {
		next := s.word.Load() >> 1
		if s.at[gated] >= 0 && (tail > next+s.capacity || h.gate > next+s.capacity) {
			t.Fatalf("a gated subscription at %d with limit %d: tail %d, gate %d", next, s.capacity, tail, h.gate)
		}
		if s.owns {
			if tail != next+uint64(s.own.Len()) {
				t.Fatalf("a subscription at %d with a queue of %d: tail %d", next, s.own.Len(), tail)
			}
			continue
		}
		pins[s.block]++
		if s.block.gone {
			stray++
			if tail-next <= s.capacity || s.overflow != engine.DropOldest && s.at[lax] < 0 {
				t.Fatalf("the block of a subscription is gone: next %d, tail %d, limit %d", next, tail, s.capacity)
			}
		}
		if s.block.base > next {
			t.Fatalf("a subscription at %d pins the block from %d", next, s.block.base)
		}
	}
	if stray != log.stray {
		t.Fatalf("%d stray pins are counted, there are %d", log.stray, stray)
	}
	if log.end != *log.slot(log.last) || log.size != 1<<log.shift {
		t.Fatalf("the block to write to is not the newest of %d, or %d is not 1<<%d", log.last, log.size, log.shift)
	}
	for n := log.first; n <= log.last; n++ {
		if b := *log.slot(n); b.base != n*log.size || b.gone || b.pins != pins[b] {
			t.Fatalf("block %d: base %d, %d pins counted, %d subscriptions", n, b.base, b.pins, pins[b])
		}
	}
	var zero T
	for _, b := range log.spare {
		if log.clear && slices.ContainsFunc(b.values, func(v T) bool { return v != zero }) || b.pins > 0 || b.gone {
			t.Fatal("a spare block is in use")
		}
	}
	for r, of := range h.roles {
		for i, s := range of {
			if s.at[r] != int32(i) {
				t.Fatalf("position %d of role %d is noted as %d", i, r, s.at[r])
			}
		}
	}
}

func TestModel(t *testing.T) {
	n := suite.Rounds(100, 1000)
	for seed := range n {
		rng := rand.New(rand.NewPCG(uint64(seed), 1))
		data := make([]byte, 20+rng.IntN(600))
		for i := range data {
			data[i] = byte(rng.Uint32())
		}
		if play(t, data); t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func FuzzModel(f *testing.F) {
	f.Add([]byte{3, 2, 1, 0, 0, 2, 0, 1, 1, 0, 1, 3, 9, 6, 0, 6})
	f.Add([]byte{8, 5, 0, 0, 0, 100, 2, 4, 4, 0, 3, 19, 6, 0, 3})
	f.Fuzz(play)
}

// TestMemory: a subscription that never receives keeps at most a block beyond the log, and the
// log has its limit.
func TestMemory(t *testing.T) {
	h := New[int](1000, 0)
	stuck, err := h.Subscribe(Config{Capacity: 1000, Overflow: engine.DropOldest}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100_000 {
		if err := h.TrySend(i); err != nil {
			t.Fatal(err)
		}
	}
	if slots := h.log.slots(); slots > 2*1000+3*maxBlock {
		t.Errorf("%d slots for a size of 1000", slots)
	}
	if v, err := stuck.TryRecv(); v != 99_000 || err != nil {
		t.Errorf("received %v, %v; want 99000", v, err)
	}
	for range 999 {
		if _, err := stuck.TryRecv(); err != nil {
			t.Fatal(err)
		}
	}
	for range 10 * maxBlock {
		if err := h.TrySend(0); err != nil {
			t.Fatal(err)
		}
		if _, err := stuck.TryRecv(); err != nil {
			t.Fatal(err)
		}
	}
	if h.log.last-h.log.first > 1 || h.log.slots() > 4*maxBlock {
		t.Errorf("the log keeps %d blocks, and %d slots, for an empty queue", h.log.last-h.log.first+1, h.log.slots())
	}
	requireInvariants(t, h)
}
