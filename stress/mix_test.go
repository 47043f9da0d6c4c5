package stress

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/batch"
)

// TestMixed: each value that a sender has sent arrives once, in order and intact, whatever
// calls its goroutines make: single values, batches, slices by reference and of other origin,
// lingers, contexts that end, bodies that leave their loop or panic, Ready, Stats and Close.
func TestMixed(t *testing.T) {
	values := uint64(0)
	for range rounds(40) {
		seed := rand.Uint64()
		rng := rand.New(rand.NewPCG(seed, 0))
		m := newMix(t, rng)
		t.Logf("seed %d: slices of %d, %T of %d, %d senders, %d receivers, at most %v", seed, m.size, m.c, m.capacity, m.senders, m.receivers, m.lifetime)
		if m.run(rng); t.Failed() {
			return
		}
		values += m.c.Stats().Received
	}
	t.Logf("%d values in %d programs", values, rounds(40))
}

// A cell is large enough to be sent by reference, even alone. number comes in several copies, one of
// them behind a pointer.
type cell struct {
	sender, number int
	pointer        *int
	_              [12]int
	again          int
}

// A mix is one channel and its goroutines.
type mix struct {
	t                  *testing.T
	c                  sluice.Channel[cell]
	size, capacity     int
	senders, receivers int
	lifetime           time.Duration // then the channel is closed
	lingers            bool          // of senders
	useReady           bool

	sent []int // by sender; written at its end
}

const mixEach = 3000 // values of each sender

func newMix(t *testing.T, rng *rand.Rand) *mix {
	m := &mix{t: t, size: []int{1 + rng.IntN(8), 16, 64}[rng.IntN(3)], lifetime: time.Hour}
	m.capacity = max(16, []int{m.size, m.size + rng.IntN(m.size+1), 3*m.size - 1, 5 * m.size, 100 + rng.IntN(1000)}[rng.IntN(5)])
	m.senders, m.receivers = 1+rng.IntN(4), 1+rng.IntN(4)
	if rng.IntN(3) == 0 {
		m.lifetime = time.Duration(rng.IntN(3_000_000))
	}
	o := sluice.BoundedOptions[cell]{Overflow: []sluice.Overflow{sluice.Block, sluice.Block, sluice.Reject}[rng.IntN(3)]}
	if rng.IntN(4) == 0 {
		m.senders, o.SingleSender = 1, true
	}
	if rng.IntN(4) == 0 {
		m.receivers, o.SingleReceiver = 1, true
	}
	if rng.IntN(3) == 0 {
		o.Name = t.Name()
	}
	m.lingers, m.useReady = !o.SingleSender, rng.IntN(4) == 0
	m.sent = make([]int, m.senders)
	if rng.IntN(3) == 0 {
		m.c = sluice.NewElastic(m.capacity, &sluice.ElasticOptions[cell]{Name: o.Name, Overflow: o.Overflow,
			SingleSender: o.SingleSender, SingleReceiver: o.SingleReceiver, Shrink: sluice.ShrinkMode(rng.IntN(3))})
	} else {
		m.c = sluice.NewBounded(m.capacity, &o)
	}
	return m
}

// run runs all goroutines to their end, and checks the account.
func (m *mix) run(rng *rand.Rand) {
	var senders, receivers sync.WaitGroup
	for id := range m.senders {
		s := &mixSender{mix: m, id: id, rng: rand.New(rand.NewPCG(rng.Uint64(), 1))}
		senders.Go(s.run)
	}
	got := make([]*mixReceiver, m.receivers)
	for id := range got {
		got[id] = &mixReceiver{mix: m, rng: rand.New(rand.NewPCG(rng.Uint64(), 2)), got: make([][]int, m.senders)}
		receivers.Go(got[id].run)
	}
	closing := time.AfterFunc(m.lifetime, m.c.Close)
	senders.Wait()
	closing.Stop()
	m.c.Close()
	receivers.Wait()
	for id, sent := range m.sent {
		var all []int
		for _, r := range got {
			all = append(all, r.got[id]...)
		}
		slices.Sort(all)
		for i, number := range all {
			if i != number {
				m.t.Fatalf("sender %d: value %d is %d", id, i, number)
			}
		}
		if len(all) != sent {
			m.t.Errorf("sender %d: %d values received, %d sent", id, len(all), sent)
		}
	}
	if s := m.c.Stats(); s.Len != 0 || s.Sent != s.Received || s.HighWater > m.capacity || s.Bytes < 0 {
		m.t.Errorf("%+v", s)
	}
}

// soon returns a context that is done soon, once in a while.
func soon(rng *rand.Rand) (context.Context, context.CancelFunc) {
	if rng.IntN(6) > 0 {
		return context.Background(), func() {}
	}
	return context.WithTimeout(context.Background(), time.Duration(rng.IntN(100_000)))
}

// A mixSender sends the values 0, 1, 2, …
type mixSender struct {
	*mix
	id    int
	rng   *rand.Rand
	b     *batch.Sender[cell]
	next  int
	vs    []cell // as SendSlice has returned it, or another one
	ended bool   // the channel is closed
}

func (s *mixSender) run() {
	linger := time.Duration(0)
	if s.lingers && s.rng.IntN(4) == 0 {
		linger = time.Duration(1 + s.rng.IntN(200_000))
	}
	s.b = batch.NewSender(s.c, s.size, &batch.Options[cell]{Linger: linger})
	for s.next < mixEach && !s.ended {
		switch s.rng.IntN(8) {
		case 0: // held by the Sender
			for range s.rng.IntN(3) {
				if !s.accepted(s.b.Send(context.Background(), s.value())) {
					break
				}
			}
		case 1: // around it
			if s.flush(); !s.ended {
				s.accepted(s.c.Send(context.Background(), s.value()))
			}
		case 2: // a slice of its own
			s.vs = make([]cell, 0, s.rng.IntN(2*s.size+1))
			s.fill(s.rng.IntN(2 * s.size))
		case 3: // longer than the one that was returned
			s.fill(s.size + s.rng.IntN(s.size+1))
		case 4: // a part of it
			if cap(s.vs) > 1 {
				s.vs = s.vs[1:1]
			}
			s.fill(s.rng.IntN(s.size))
		case 5:
			s.fill(s.rng.IntN(s.size + 1))
		default:
			s.fill(s.size)
		}
	}
	if s.flush(); s.b.Close(context.Background()) != nil {
		s.t.Errorf("sender %d: values are left", s.id)
	}
	s.sent[s.id] = s.next
}

func (s *mixSender) value() cell {
	number := s.next
	s.next++
	return cell{sender: s.id, number: number, pointer: &number, again: number}
}

// accepted accounts for one value; after a failure it is the next one again.
func (s *mixSender) accepted(err error) bool {
	if err != nil {
		s.next--
		s.closedBy(err)
	}
	return err == nil
}

// fill appends n values and sends the slice.
func (s *mixSender) fill(n int) {
	for range n {
		s.vs = append(s.vs, s.value())
	}
	for !s.ended {
		ctx, cancel := soon(s.rng)
		var err error
		s.vs, err = s.b.SendSlice(ctx, s.vs)
		cancel()
		if err == nil {
			if len(s.vs) != 0 || cap(s.vs) == 0 {
				s.t.Errorf("SendSlice returned %d values, room for %d", len(s.vs), cap(s.vs))
			}
			return
		}
		if len(s.vs) > 0 && errors.Is(err, sluice.ErrClosed) {
			s.next = s.vs[0].number
		}
		s.closedBy(err)
		runtime.Gosched() // full, with Reject
	}
}

// flush sends the values that the Sender holds.
func (s *mixSender) flush() {
	for !s.ended {
		ctx, cancel := soon(s.rng)
		err := s.b.Flush(ctx)
		if cancel(); err == nil {
			return
		}
		s.closedBy(err)
		runtime.Gosched()
	}
}

// closedBy takes back what was not sent if err is ErrClosed.
func (s *mixSender) closedBy(err error) {
	if !errors.Is(err, sluice.ErrClosed) {
		return
	}
	s.ended = true
	if left := s.b.TakeUnsent(); len(left) > 0 {
		s.next = left[0].number
	}
}
