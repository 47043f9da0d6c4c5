package batch_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/batch"
	"github.com/sluice-go/sluice/internal/engine"
)

// A parcel is an element with a pointer. It is too large for the tiny allocator, so each is collected
// on its own.
type parcel [16]int

// parcels are those that a test has made.
type parcels []weak.Pointer[parcel]

func (s *parcels) next() *parcel {
	p := new(parcel)
	*s = append(*s, weak.Make(p))
	return p
}

// expectAlive fails t unless exactly n of the parcels can be reached.
func (s parcels) expectAlive(t *testing.T, n int, when string) {
	t.Helper()
	alive := -1
	for range 5 { // the stack of a goroutine that has stopped may refer to one for a while
		runtime.GC()
		alive = 0
		for _, p := range s {
			if p.Value() != nil {
				alive++
			}
		}
		if alive == n {
			return
		}
	}
	t.Errorf("%s: %d values are kept alive, want %d", when, alive, n)
}

// A shelf is a channel that has room for limit parcels, and refuses more.
type shelf struct {
	sluice.BatchSender[*parcel]
	limit int

	mu      sync.Mutex
	parcels []*parcel
}

func (s *shelf) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.parcels)
}

func (s *shelf) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parcels = nil
}

func (s *shelf) TrySend(p *parcel) error {
	_, err := s.SendBatch(context.Background(), []*parcel{p})
	return err
}

func (s *shelf) SendBatch(_ context.Context, ps []*parcel) (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n = s.limit - len(s.parcels); n < len(ps) {
		ps, err = ps[:n], sluice.ErrFull
	}
	s.parcels = append(s.parcels, ps...)
	return len(ps), err
}

// A Sender keeps no value alive that was sent, refused or taken out. What a failed Close
// has left is not sent later.
func TestSenderRetention(t *testing.T) {
	for _, linger := range []time.Duration{0, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			c := &shelf{limit: 5}
			b := batch.NewSender(c, 3, &batch.Options[*parcel]{Linger: linger})
			var made parcels
			expect := func(when string) {
				t.Helper()
				made.expectAlive(t, b.Len()+c.Len(), when)
			}
			for i := range 10 {
				_ = b.Send(t.Context(), made.next())
				expect("after Send")
				if i%5 == 0 {
					_ = b.TrySend(made.next())
					expect("after TrySend")
				}
			}
			_ = b.Flush(t.Context())
			expect("after Flush")
			b.TakeUnsent()
			expect("after TakeUnsent")
			_ = b.TrySend(made.next())
			if err := b.Close(t.Context()); err != sluice.ErrFull || b.Len() != 1 {
				t.Errorf("Close: %v, %d held", err, b.Len())
			}
			expect("after Close")
			c.clear()
			time.Sleep(2 * time.Hour)
			if b.Len() != 1 {
				t.Error("a value was sent after Close")
			}
			expect("long after Close")
			runtime.KeepAlive(b)
		})
	}
}

// A buffer that was sent keeps nothing alive: neither what a Sender holds, nor the buffer to which it
// adds the values for a kind.
func TestSenderFullForgets(t *testing.T) {
	kind := &struct {
		shelf
		engine.Owner
	}{shelf: shelf{limit: 4}}
	engine.Own(&kind.Owner, kind, kind)
	other := &shelf{limit: 4}
	for to, c := range map[sluice.BatchSender[*parcel]]*shelf{kind: &kind.shelf, other: other} {
		b := batch.NewSender(to, 2, nil)
		var made parcels
		for range 4 {
			if err := b.Send(t.Context(), made.next()); err != nil {
				t.Fatal(err)
			}
		}
		c.clear()
		made.expectAlive(t, 0, fmt.Sprintf("after two batches to %T", to))
		runtime.KeepAlive(b)
	}
}
