package sluice_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sluice-go/sluice"
)

// A rankedModel is a Priority as its documentation describes it, without concurrency. It
// counts how often each level was passed over, and what each value has waited for.
type rankedModel struct {
	queues    [][]rankedValue // by level, oldest first
	passed    []int           // how often the level was passed over in a row
	closed    []bool
	limit     int
	maxPassed int
	overflow  sluice.Overflow
}

type rankedValue struct {
	v      uint64
	ahead  int // values of the same level that were ahead of it when it was sent
	others int // values received since then
}

func (m *rankedModel) len() (n int) {
	for _, q := range m.queues {
		n += len(q)
	}
	return n
}

// bound is the bound of the documentation on what a value waits for.
func (m *rankedModel) bound(ahead int) int {
	return ahead + (ahead+1)*(m.maxPassed+len(m.queues)-1)
}

// send returns the value that is dropped, if any.
func (m *rankedModel) send(level int, v uint64) (dropped []uint64, err error) {
	if m.closed[level] {
		return nil, sluice.ErrClosed
	}
	if m.len() >= m.limit {
		switch m.overflow {
		case sluice.Block, sluice.Reject:
			return nil, sluice.ErrFull
		case sluice.DropNewest:
			return []uint64{v}, nil
		}
		least := len(m.queues) - 1
		for ; len(m.queues[least]) == 0; least-- {
		}
		if least <= level {
			return []uint64{v}, nil
		}
		q := m.queues[least]
		dropped = []uint64{q[len(q)-1].v}
		if m.queues[least] = q[:len(q)-1]; len(q) == 1 {
			m.passed[least] = 0
		}
	}
	m.queues[level] = append(m.queues[level], rankedValue{v, len(m.queues[level]), 0})
	return dropped, nil
}

// recv returns what the next receive returns. It fails if a value has waited for more others
// than the documentation allows.
func (m *rankedModel) recv() (v uint64, err error) {
	next := -1
	for i, q := range m.queues {
		if len(q) > 0 && m.passed[i] >= m.maxPassed && (next < 0 || m.passed[i] > m.passed[next]) {
			next = i
		}
	}
	for i := 0; next < 0 && i < len(m.queues); i++ {
		if len(m.queues[i]) > 0 {
			next = i
		}
	}
	if next < 0 {
		if !slices.Contains(m.closed, false) {
			return 0, sluice.ErrClosed
		}
		return 0, sluice.ErrEmpty
	}
	got := m.queues[next][0]
	m.queues[next] = m.queues[next][1:]
	if bound := m.bound(got.ahead); got.others > bound && m.maxPassed != sluice.Unlimited {
		return got.v, fmt.Errorf("a value of level %d with %d ahead waited for %d others, more than %d", next, got.ahead, got.others, bound)
	}
	for i, q := range m.queues {
		if m.passed[i]++; i == next || len(q) == 0 {
			m.passed[i] = 0
		}
		for k := range q {
			q[k].others++
		}
	}
	return got.v, nil
}

// A rankedPlay is a Priority beside its model.
type rankedPlay struct {
	p       *sluice.Priority[uint64]
	m       rankedModel
	dropped []uint64 // by the last send
	next    uint64
}

func newRankedPlay(levels, limit, maxPassed int, overflow sluice.Overflow) *rankedPlay {
	r := &rankedPlay{m: rankedModel{
		queues: make([][]rankedValue, levels), passed: make([]int, levels), closed: make([]bool, levels),
		limit: limit, maxPassed: maxPassed, overflow: overflow,
	}}
	o := &sluice.PriorityOptions[uint64]{Overflow: overflow, MaxPassed: maxPassed}
	if overflow == sluice.DropNewest || overflow == sluice.DropLeastUrgent {
		o.OnUndelivered = func(v uint64, _ sluice.Reason) { r.dropped = append(r.dropped, v) }
	}
	r.p = sluice.NewPriority(levels, limit, o)
	return r
}

// send sends one value by TrySend, or a batch that must not wait.
func (r *rankedPlay) send(level, n int) error {
	r.dropped = nil
	vs := make([]uint64, n)
	var wantDropped []uint64
	var wantErr error
	sent := 0
	for i := range vs {
		vs[i] = r.next + uint64(i)
		if wantErr != nil {
			continue
		}
		dropped, err := r.m.send(level, vs[i])
		if wantDropped, wantErr = append(wantDropped, dropped...), err; err == nil {
			sent++
		}
	}
	r.next += uint64(n)
	var got int
	var err error
	if n == 1 {
		if err = r.p.Level(level).TrySend(vs[0]); err == nil {
			got = 1
		}
	} else {
		got, err = r.p.Level(level).SendBatch(canceledContext(), vs)
		if err == context.Canceled && wantErr == sluice.ErrFull && r.m.overflow == sluice.Block {
			err = wantErr
		}
	}
	if err != wantErr || got != sent || !slices.Equal(r.dropped, wantDropped) {
		return fmt.Errorf("send of %v on level %d: %d, %v, dropped %v; want %d, %v, %v", vs, level, got, err, r.dropped, sent, wantErr, wantDropped)
	}
	return nil
}

// recv receives up to n values, by TryRecv or TryRecvBatch.
func (r *rankedPlay) recv(n int) error {
	buf := make([]uint64, n)
	var err error
	got := 1
	if n == 1 {
		buf[0], err = r.p.TryRecv()
	} else {
		got, err = r.p.TryRecvBatch(buf)
	}
	if err != nil {
		got = 0
	}
	want := min(n, r.m.len())
	if got != want {
		return fmt.Errorf("received %d values, %v; want %d", got, err, want)
	}
	if want == 0 {
		if _, wantErr := r.m.recv(); err != wantErr {
			return fmt.Errorf("receive: %v, want %v", err, wantErr)
		}
		return nil
	}
	for _, v := range buf[:got] {
		if wantV, err := r.m.recv(); err != nil || v != wantV {
			return fmt.Errorf("received %d, want %d, %v", v, wantV, err)
		}
	}
	return nil
}

// check compares the state.
func (r *rankedPlay) check() error {
	s := r.p.Stats()
	if s.Len != r.m.len() || s.Len != r.p.Len() {
		return fmt.Errorf("Len is %d and %d, want %d", s.Len, r.p.Len(), r.m.len())
	}
	for i, q := range r.m.queues {
		if n := r.p.Level(i).Len(); n != len(q) {
			return fmt.Errorf("Len of level %d is %d, want %d", i, n, len(q))
		}
	}
	lost := s.Dropped
	if r.m.overflow == sluice.DropNewest {
		lost = 0
	}
	if s.Sent-s.Received-lost != uint64(s.Len) {
		return fmt.Errorf("Sent %d, Received %d, Dropped %d, Len %d", s.Sent, s.Received, s.Dropped, s.Len)
	}
	return nil
}

// step does what two bytes say.
func (r *rankedPlay) step(op, argument byte) error {
	level := int(argument) % len(r.m.queues)
	n := 2 + int(argument)/len(r.m.queues)%4
	switch op % 16 {
	case 0, 1, 2, 3, 4:
		return r.send(level, 1)
	case 5:
		return r.send(level, n)
	case 6: // a flood of urgent values
		for range n {
			if err := r.send(0, 1); err != nil {
				return err
			}
			if err := r.recv(1); err != nil {
				return err
			}
		}
		return nil
	case 7, 8, 9, 10, 11:
		return r.recv(1)
	case 12, 13:
		return r.recv(n)
	case 14:
		return r.check()
	default:
		if argument < 240 {
			return nil
		}
		r.p.Level(level).Close()
		r.m.closed[level] = true
		return nil
	}
}

var rankedPolicies = []sluice.Overflow{sluice.Block, sluice.Reject, sluice.DropNewest, sluice.DropLeastUrgent}

// playRanked plays a tape: a head of four bytes, and then two bytes for each step.
func playRanked(tape []byte) error {
	if len(tape) < 4 {
		return nil
	}
	maxPassed := 1 + int(tape[2])%6
	if tape[2] >= 250 {
		maxPassed = sluice.Unlimited
	}
	r := newRankedPlay(1+int(tape[0])%6, 1+int(tape[1])%20, maxPassed, rankedPolicies[int(tape[3])%len(rankedPolicies)])
	for at := 4; at+1 < len(tape); at += 2 {
		if err := r.step(tape[at], tape[at+1]); err != nil {
			return fmt.Errorf("step %d: %w", at/2-2, err)
		}
	}
	if err := r.check(); err != nil {
		return err
	}
	r.p.Close()
	for i := range r.m.closed {
		r.m.closed[i] = true
	}
	return r.recv(r.m.len() + 2)
}

// FuzzPriority plays a tape to a Priority and to its model. Every receive is checked
// against the bound on starvation.
func FuzzPriority(f *testing.F) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		tape := make([]byte, 4+rng.IntN(400))
		for i := range tape {
			tape[i] = byte(rng.Uint32())
		}
		f.Add(tape)
	}
	f.Fuzz(func(t *testing.T, tape []byte) {
		if err := playRanked(tape); err != nil {
			t.Fatal(err)
		}
	})
}

// TestPriorityModel plays random tapes.
func TestPriorityModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(rand.Uint64(), 1))
	for range 3000 {
		tape := make([]byte, 4+rng.IntN(600))
		for i := range tape {
			tape[i] = byte(rng.Uint32())
		}
		if err := playRanked(tape); err != nil {
			t.Fatalf("%v\ntape %v", err, tape)
		}
	}
}

// TestPriorityModelDetects: the play detects a Priority with other settings than its model,
// and the model detects a value that has waited too long.
func TestPriorityModelDetects(t *testing.T) {
	for name, spoil := range map[string]func(m *rankedModel){
		"limit":     func(m *rankedModel) { m.limit++ },
		"maxPassed": func(m *rankedModel) { m.maxPassed++ },
		"policy":    func(m *rankedModel) { m.overflow = sluice.DropNewest },
		"waited":    func(m *rankedModel) { m.queues[3][0].others += 100 },
	} {
		r := newRankedPlay(4, 6, 3, sluice.DropLeastUrgent)
		steps := [][2]byte{{0, 3}, {0, 2}, {0, 1}, {0, 0}, {6, 4}, {6, 4}, {12, 4}, {0, 3}, {5, 0}, {5, 0}, {0, 2}, {12, 4}, {12, 4}}
		for i, step := range steps {
			if err := r.step(step[0], step[1]); err != nil {
				t.Fatalf("%s: step %d: %v", name, i, err)
			}
			if i == 3 {
				break
			}
		}
		spoil(&r.m)
		var err error
		for _, step := range steps[4:] {
			if err == nil {
				err = r.step(step[0], step[1])
			}
		}
		if err == nil {
			t.Errorf("%s: not detected", name)
		}
	}
}
