package sluice_test

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

// An agedModel is an Aged as its documentation describes it, without concurrency.
type agedModel struct {
	options sluice.AgedOptions[uint64]
	limit   int
	values  []agedValue // oldest first
	closed  bool
	gone    []undelivered // by the last call
	sent    int
	tooOld  int
	dropped int // by the policy
}

type agedValue struct {
	v  uint64
	at time.Time
}

// An undelivered is what OnUndelivered gets.
type undelivered struct {
	v   uint64
	why sluice.Reason
}

func (m *agedModel) lose(v uint64, why sluice.Reason) { m.gone = append(m.gone, undelivered{v, why}) }

// expire is what each send and each receive begins with.
func (m *agedModel) expire() {
	for m.options.MaxAge > 0 && len(m.values) > 0 && time.Since(m.values[0].at) > m.options.MaxAge {
		m.lose(m.values[0].v, sluice.TooOld)
		m.values = m.values[1:]
		m.tooOld++
	}
}

func (m *agedModel) send(v uint64) error {
	if m.closed {
		return sluice.ErrClosed
	}
	if len(m.values) == m.limit {
		switch m.options.Overflow {
		case sluice.DropNewest:
			m.lose(v, sluice.Overflowed)
			m.dropped++
			return nil
		case sluice.DropOldest:
			m.lose(m.values[0].v, sluice.Overflowed)
			m.dropped++
			m.values = m.values[1:]
		default:
			return sluice.ErrFull
		}
	}
	m.values = append(m.values, agedValue{v, time.Now()})
	m.sent++
	return nil
}

func (m *agedModel) recv() (uint64, error) {
	switch {
	case len(m.values) == 0 && m.closed:
		return 0, sluice.ErrClosed
	case len(m.values) == 0:
		return 0, sluice.ErrEmpty
	}
	next := 0
	if stale := m.options.StaleAfter; stale > 0 {
		next = slices.IndexFunc(m.values, func(v agedValue) bool { return time.Since(v.at) <= stale })
		if next < 0 {
			next = len(m.values) - 1
		}
	}
	v := m.values[next].v
	m.values = slices.Delete(slices.Clone(m.values), next, next+1)
	return v, nil
}

// An agedPlay is an Aged beside its model.
type agedPlay struct {
	c    *sluice.Aged[uint64]
	m    agedModel
	gone []undelivered
	next uint64
}

func newAgedPlay(limit int, o sluice.AgedOptions[uint64]) *agedPlay {
	p := &agedPlay{m: agedModel{options: o, limit: limit}}
	o.OnUndelivered = func(v uint64, why sluice.Reason) { p.gone = append(p.gone, undelivered{v, why}) }
	p.c = sluice.NewAged(limit, &o)
	return p
}

// begin prepares a call that drops what is too old.
func (p *agedPlay) begin() {
	p.gone, p.m.gone = nil, nil
	p.m.expire()
}

func (p *agedPlay) send(n int) error {
	p.begin()
	vs := make([]uint64, n)
	var wantErr error
	want := 0
	for i := range vs {
		vs[i] = p.next
		p.next++
		if wantErr == nil {
			if wantErr = p.m.send(vs[i]); wantErr == nil {
				want++
			}
		}
	}
	got, err := n, error(nil)
	if n == 1 {
		if err = p.c.TrySend(vs[0]); err != nil {
			got = 0
		}
	} else {
		got, err = p.c.SendBatch(canceledContext(), vs)
		if wantErr == sluice.ErrFull && p.m.options.Overflow == sluice.Block && errors.Is(err, canceledContext().Err()) {
			err = wantErr
		}
	}
	if got != want || err != wantErr {
		return fmt.Errorf("send of %d: %d, %v, want %d, %v", vs, got, err, want, wantErr)
	}
	return nil
}

// recv receives up to n values: by TryRecv, TryRecvBatch or Drain.
func (p *agedPlay) recv(n int, drain bool) error {
	p.begin()
	var got []uint64
	var err error
	switch {
	case drain:
		n = max(1, p.c.Len())
		got = slices.Collect(p.c.Drain())
	case n == 1:
		var v uint64
		if v, err = p.c.TryRecv(); err == nil {
			got = []uint64{v}
		}
	default:
		got = make([]uint64, n)
		n, err = p.c.TryRecvBatch(got)
		got, n = got[:n], len(got)
	}
	var want []uint64
	var wantErr error
	for len(want) < n {
		v, err := p.m.recv()
		if err != nil {
			wantErr = err
			break
		}
		want = append(want, v)
	}
	if len(want) > 0 || drain {
		wantErr = nil
	}
	if !slices.Equal(got, want) || err != wantErr {
		return fmt.Errorf("received %d, %v, want %d, %v", got, err, want, wantErr)
	}
	return nil
}

func (p *agedPlay) discard() error {
	p.begin()
	p.m.closed = true
	want := len(p.m.values)
	for {
		v, err := p.m.recv()
		if err != nil {
			break
		}
		p.m.lose(v, sluice.Discarded)
	}
	if n := p.c.Discard(); n != want {
		return fmt.Errorf("Discard returned %d, want %d", n, want)
	}
	return nil
}

// check compares the state.
func (p *agedPlay) check() error {
	s := p.c.Stats()
	dropped, oldest := p.m.tooOld+p.m.dropped, time.Duration(0)
	if len(p.m.values) > 0 {
		oldest = time.Since(p.m.values[0].at)
	}
	if s.Len != len(p.m.values) || s.Sent != uint64(p.m.sent) || s.TooOld != uint64(p.m.tooOld) || s.Dropped != uint64(dropped) || s.OldestValue != oldest {
		return fmt.Errorf("Len %d, Sent %d, TooOld %d, Dropped %d, OldestValue %v; want %d, %d, %d, %d, %v",
			s.Len, s.Sent, s.TooOld, s.Dropped, s.OldestValue, len(p.m.values), p.m.sent, p.m.tooOld, dropped, oldest)
	}
	if p.m.options.Overflow != sluice.DropNewest && s.Sent-s.Received-s.Dropped != uint64(s.Len) ||
		p.m.options.Overflow == sluice.DropNewest && s.Sent-s.Received-s.TooOld != uint64(s.Len) {
		return fmt.Errorf("Sent %d, Received %d, Dropped %d, TooOld %d, Len %d", s.Sent, s.Received, s.Dropped, s.TooOld, s.Len)
	}
	if !slices.Equal(p.gone, p.m.gone) {
		return fmt.Errorf("OnUndelivered got %v, want %v", p.gone, p.m.gone)
	}
	return nil
}

// step does what two bytes say, and compares.
func (p *agedPlay) step(op, argument byte) error {
	var err error
	switch op % 16 {
	case 0, 1, 2, 3:
		err = p.send(1)
	case 4, 5:
		err = p.send(2 + int(argument)%6)
	case 6, 7, 8:
		err = p.recv(1, false)
	case 9:
		err = p.recv(2+int(argument)%6, false)
	case 10:
		if argument < 128 {
			err = p.recv(0, true)
		}
	case 11:
		if argument > 250 {
			err = p.discard()
		}
	default:
		time.Sleep(time.Duration(argument%24) * time.Second)
		return nil
	}
	return errors.Join(err, p.check())
}

// playAged plays a tape: a head of four bytes, and then two bytes for each step.
func playAged(t *testing.T, tape []byte) (err error) {
	if len(tape) < 4 {
		return nil
	}
	o := sluice.AgedOptions[uint64]{
		MaxAge: time.Duration(20+tape[1]%40) * time.Second, Shrink: sluice.ShrinkMode(tape[2] % 3),
		Overflow: []sluice.Overflow{sluice.Block, sluice.Reject, sluice.DropNewest, sluice.DropOldest}[tape[3]%4],
	}
	if tape[1] >= 128 {
		o.StaleAfter = time.Duration(tape[2]%20) * time.Second
	}
	if tape[3] >= 200 && o.StaleAfter > 0 {
		o.MaxAge = 0
	}
	synctest.Test(t, func(*testing.T) {
		p := newAgedPlay(1+int(tape[0])%30, o)
		for at := 4; at+1 < len(tape); at += 2 {
			if err = p.step(tape[at], tape[at+1]); err != nil {
				err = fmt.Errorf("%+v: step %d: %w", o, at/2-2, err)
				return
			}
		}
		if err = p.discard(); err == nil {
			err = p.check()
		}
	})
	return err
}

// TestAgedModel plays random tapes.
func TestAgedModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(rand.Uint64(), 1))
	for range 1500 {
		tape := make([]byte, 4+rng.IntN(600))
		for i := range tape {
			tape[i] = byte(rng.Uint32())
		}
		if err := playAged(t, tape); err != nil {
			t.Fatalf("%v\ntape %v", err, tape)
		}
	}
}

// TestAgedModelDetects: the play detects a channel with other settings than its model.
func TestAgedModelDetects(t *testing.T) {
	for name, spoil := range map[string]func(m *agedModel){
		"limit":      func(m *agedModel) { m.limit-- },
		"MaxAge":     func(m *agedModel) { m.options.MaxAge -= time.Second },
		"StaleAfter": func(m *agedModel) { m.options.StaleAfter -= time.Second },
		"policy":     func(m *agedModel) { m.options.Overflow = sluice.DropNewest },
		"hook":       func(m *agedModel) { m.lose(1, sluice.TooOld) },
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newAgedPlay(3, sluice.AgedOptions[uint64]{MaxAge: 4 * time.Second, StaleAfter: 2 * time.Second, Overflow: sluice.DropOldest})
			spoil(&p.m)
			err := p.check()
			for _, step := range [][2]byte{{0}, {12, 1}, {0}, {12, 1}, {6}, {0}, {0}, {0}, {12, 4}, {6}, {6}} {
				if err == nil {
					err = p.step(step[0], step[1])
				}
			}
			if err == nil {
				t.Errorf("%s: not detected", name)
			}
		})
	}
}
