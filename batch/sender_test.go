package batch_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/batch"
	"github.com/sluice-go/sluice/internal/engine"
)

// A recorder is a BatchSender of another package. It keeps the values that it accepts,
// batch by batch, and fails on demand.
type recorder struct {
	runs  [][]int
	room  int   // values to accept before it fails
	err   error // to fail with
	calls int
	act   func() // in the middle of a SendBatch
}

func newRecorder() *recorder { return &recorder{room: math.MaxInt} }

func (r *recorder) SendBatch(_ context.Context, vs []int) (int, error) {
	r.calls++
	if r.act != nil {
		r.act()
	}
	n := min(r.room, len(vs))
	r.room -= n
	if n > 0 {
		r.runs = append(r.runs, slices.Clone(vs[:n]))
	}
	if n < len(vs) {
		return n, r.err
	}
	return n, nil
}

func (r *recorder) Send(ctx context.Context, v int) error {
	_, err := r.SendBatch(ctx, []int{v})
	return err
}

func (r *recorder) TrySend(v int) error { return r.Send(engine.NoWait{}, v) }

func (r *recorder) Close() {}

func (r *recorder) all() []int { return slices.Concat(r.runs...) }

// lingers select a Sender without a timer, and one whose timer never fires.
var lingers = []time.Duration{0, time.Hour}

func TestSenderSendsFullBatches(t *testing.T) {
	for _, linger := range lingers {
		for size := 1; size < 6; size++ {
			r := newRecorder()
			b := batch.NewSender(r, size, withLinger(linger))
			for i := range 50 {
				if err := b.Send(t.Context(), i); err != nil {
					t.Fatal(err)
				}
				if len(r.runs) != (i+1)/size || b.Len() != (i+1)%size {
					t.Fatalf("size %d: after %d values %d batches were sent and Len is %d", size, i+1, len(r.runs), b.Len())
				}
			}
			if err := b.Close(t.Context()); err != nil || b.Len() != 0 {
				t.Errorf("Close: %v, Len %d", err, b.Len())
			}
			for i, run := range r.runs {
				if len(run) != size && i < 50/size {
					t.Errorf("size %d: batch %d has %d values", size, i, len(run))
				}
			}
			if !slices.Equal(r.all(), sequence(50)) {
				t.Errorf("size %d: sent %v", size, r.all())
			}
			if err := b.Send(t.Context(), 1); err != sluice.ErrClosed {
				t.Errorf("Send after Close: %v", err)
			}
			if err := b.TrySend(1); err != sluice.ErrClosed {
				t.Errorf("TrySend after Close: %v", err)
			}
			if err := b.Close(t.Context()); err != nil {
				t.Errorf("Close again: %v", err)
			}
			if rest := b.TakeUnsent(); rest != nil {
				t.Errorf("TakeUnsent after all was sent: %v", rest)
			}
		}
	}
}

// A Send whose flush fails at any position: its value is refused. The values before it
// stay, in order, and can be sent later or taken out.
func TestSenderFailedSend(t *testing.T) {
	broken := errors.New("broken")
	for _, linger := range lingers {
		for sent := range 4 {
			for _, takeOut := range []bool{false, true} {
				r := &recorder{room: sent, err: broken}
				b := batch.NewSender(r, 4, withLinger(linger))
				mustAccept(t, b, 0, 1, 2)
				if err := b.Send(t.Context(), 3); err != broken {
					t.Fatalf("Send with room for %d of 4: %v", sent, err)
				}
				if b.Len() != 3-min(sent, 3) {
					t.Errorf("Len is %d after %d of 3 were sent", b.Len(), sent)
				}
				r.room = math.MaxInt
				if takeOut {
					if rest := b.TakeUnsent(); !slices.Equal(rest, sequence(3)[sent:]) {
						t.Errorf("TakeUnsent is %v after %d of 3 were sent", rest, sent)
					}
				} else if err := b.Flush(t.Context()); err != nil || !slices.Equal(r.all(), sequence(3)) {
					t.Errorf("Flush: %v; sent %v", err, r.all())
				}
				r.runs = nil
				mustAccept(t, b, 4, 5, 6, 7)
				if b.Len() != 0 || !slices.Equal(r.all(), []int{4, 5, 6, 7}) {
					t.Errorf("the next batch is %v", r.all())
				}
			}
		}
	}
}

func mustAccept(t *testing.T, b *batch.Sender[int], vs ...int) {
	t.Helper()
	for _, v := range vs {
		if err := b.Send(t.Context(), v); err != nil {
			t.Errorf("Send of %d: %v", v, err)
		}
	}
}

// TestSenderModel compares random operations with a slice: accepted values are sent or
// held, in order, and an error means that the value was refused.
func TestSenderModel(t *testing.T) {
	errs := []error{sluice.ErrFull, sluice.ErrClosed, sluice.ErrTooLarge, context.Canceled}
	for seed := range uint64(400) {
		random := rand.New(rand.NewPCG(seed, 2))
		size := 1 + random.IntN(6)
		r := newRecorder()
		b := batch.NewSender(r, size, withLinger(lingers[random.IntN(2)]))
		var sent, held []int // the model
		next, closed := 0, false
		for step := range 200 {
			fail := func(format string, args ...any) {
				t.Helper()
				t.Fatalf("seed %d, size %d, step %d: %s", seed, size, step, fmt.Sprintf(format, args...))
			}
			r.room, r.err, r.calls = math.MaxInt, errs[random.IntN(len(errs))], 0
			if random.IntN(3) > 0 {
				r.room = random.IntN(size + 1)
			}
			// flush moves the values that there is room for.
			room := r.room
			flush := func() error {
				n := min(room, len(held))
				sent, held = append(sent, held[:n]...), held[n:]
				if room -= n; len(held) > 0 {
					return r.err
				}
				return nil
			}
			var got, want error
			op := random.IntN(20)
			switch {
			case op < 10:
				before := len(held)
				got = b.Send(t.Context(), next)
				switch {
				case closed:
					want = sluice.ErrClosed
				case before < size-1:
					held = append(held, next)
				default:
					held = append(held, next)
					if want = flush(); want != nil {
						held = held[:len(held)-1]
					}
				}
			case op < 15:
				before := len(held)
				got = b.TrySend(next)
				switch {
				case closed:
					want = sluice.ErrClosed
				case before < size-1:
					held = append(held, next)
				default:
					held = append(held, next)
					if want = flush(); want != nil {
						if want == sluice.ErrFull && len(held) <= before {
							want = nil // there is room for it now
						} else {
							held = held[:len(held)-1]
						}
					}
				}
			case op < 18:
				got, want = b.Flush(t.Context()), flush()
			case op == 18:
				if rest := b.TakeUnsent(); !slices.Equal(rest, held) {
					fail("TakeUnsent is %v, want %v", rest, held)
				}
				held = nil
			default:
				if random.IntN(10) == 0 {
					got, want = b.Close(t.Context()), flush()
					closed = true
				}
			}
			next++
			if got != want {
				fail("operation %d: %v, want %v", op, got, want)
			}
			if b.Len() != len(held) || !slices.Equal(r.all(), sent) {
				fail("Len is %d, want %d; sent %v, want %v", b.Len(), len(held), r.all(), sent)
			}
		}
	}
}

// TrySend sends all that the channel has room for, with each policy that can fail.
func TestSenderTrySend(t *testing.T) {
	for _, linger := range lingers {
		for _, capacity := range []int{3, 16} {
			for _, overflow := range []sluice.Overflow{sluice.Block, sluice.Reject} {
				c := open(shape{capacity: capacity, overflow: overflow}, nil)
				b := batch.NewSender(c, 5, withLinger(linger))
				accepted := 0
				for b.TrySend(accepted) == nil {
					accepted++
				}
				// The channel is full, and one value more would complete a batch.
				if accepted != capacity+4 || c.Len() != capacity || b.Len() != 4 {
					t.Errorf("%d accepted, %d in the channel, %d held", accepted, c.Len(), b.Len())
				}
				if err := b.TrySend(-1); err != sluice.ErrFull {
					t.Errorf("TrySend into a full channel: %v", err)
				}
				if v, err := c.TryRecv(); v != 0 || err != nil {
					t.Errorf("TryRecv: %d, %v", v, err)
				}
				if err := b.TrySend(accepted); err != nil || c.Len() != capacity || b.Len() != 4 {
					t.Errorf("TrySend with room in the channel: %v, %d held", err, b.Len())
				}
				c.Close()
				if err := b.TrySend(-1); err != sluice.ErrClosed {
					t.Errorf("TrySend into a closed channel: %v", err)
				}
				var got []int
				for v := range c.Values(t.Context()).All() {
					got = append(got, v)
				}
				if got = append(got, b.TakeUnsent()...); !slices.Equal(got, sequence(accepted + 1)[1:]) {
					t.Errorf("received, or left: %v", got)
				}
			}
		}
	}
}

// The lanes of a Sharded are full one after the other, until TrySend fails.
func TestSenderTrySendSharded(t *testing.T) {
	c := sluice.NewSharded(4, &sluice.ShardedOptions[int]{Lanes: 2})
	for name, s := range map[string]sluice.BatchSender[int]{"Sharded": c, "Lane": c.Lane()} {
		b := batch.NewSender(s, 3, nil)
		var err error
		for i := 0; err == nil && i < 100; i++ {
			err = b.TrySend(i)
		}
		if err != sluice.ErrFull || b.Len() != 2 {
			t.Errorf("%s: TrySend: %v, %d held", name, err, b.Len())
		}
	}
}

// A value that is too large blocks the values behind it until it is taken out.
func TestSenderTooLarge(t *testing.T) {
	c := sluice.NewElastic(100, &sluice.ElasticOptions[int]{MaxBytes: 10, Size: func(v int) int { return v }})
	b := batch.NewSender(c, 4, nil)
	mustAccept(t, b, 1, 11, 2)
	for range 2 {
		if err := b.Send(t.Context(), 3); err != nil && err != sluice.ErrTooLarge {
			t.Errorf("Send: %v", err)
		}
	}
	if err := b.Flush(t.Context()); err != sluice.ErrTooLarge {
		t.Errorf("Flush: %v", err)
	}
	if rest := b.TakeUnsent(); !slices.Equal(rest, []int{11, 2, 3}) || c.Len() != 1 {
		t.Errorf("TakeUnsent is %v, %d sent", rest, c.Len())
	}
}
