package segqueue

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/internal/engine"
)

// knownAndAsked returns two engines that must behave the same: one knows the size
// of a T, the other calls Size.
func knownAndAsked[T any](slots int, limit int64) (known engine.Engine[T], asked *Metered[T]) {
	config := engine.Config[T]{Limit: slots, Elastic: true, Overflow: engine.Reject, MaxBytes: limit, Size: engine.KnownSize[T](limit)}
	return Known(NewMetered(config)), NewMetered(config)
}

// sameAsAsked sends and receives at random, and fails if the two engines differ. It
// returns the number of sends by their result.
func sameAsAsked[T any](t *testing.T, slots int, limit int64, value func(*rand.Rand) T) map[error]int {
	t.Helper()
	known, asked := knownAndAsked[T](slots, limit)
	if _, generic := known.(*Metered[T]); generic {
		t.Fatalf("%T calls Size", known)
	}
	rng := rand.New(rand.NewPCG(uint64(limit), 1))
	ends := make(map[error]int)
	for step := range 5000 {
		v := value(rng)
		var got, want error
		switch step % 3 {
		case 0:
			got, want = known.Send(context.Background(), v), asked.Send(context.Background(), v)
		case 1:
			got, want = known.TrySend(v), asked.TrySend(v)
		default:
			_, got = known.TryRecv()
			if _, want = asked.TryRecv(); rng.IntN(3) == 0 {
				_, _ = known.TryRecv()
				_, _ = asked.TryRecv()
			}
		}
		if got != want || known.Len() != asked.Len() || known.Stats().Bytes != asked.Stats().Bytes {
			t.Fatalf("limit %d, step %d: %v with %d queued, want %v with %d", limit, step, got, known.Len(), want, asked.Len())
		}
		ends[got]++
	}
	known.Close()
	asked.Close()
	if got, want := known.TrySend(value(rng)), asked.TrySend(value(rng)); got != engine.ErrClosed && got != engine.ErrTooLarge || want != got && want != engine.ErrTooLarge {
		t.Errorf("closed: %v, not %v", got, want)
	}
	return ends
}

// TestKnown: an engine that knows sizes accepts and rejects the same values as one
// that calls Size: values above the limit, slices whose capacity is above it, and
// others.
func TestKnown(t *testing.T) {
	for _, limit := range []int64{24, 100, 2000, 100_000} {
		largest := int(limit) * 5 / 4
		for what, ends := range map[string]map[error]int{
			"[]byte": sameAsAsked(t, 500, limit, func(rng *rand.Rand) []byte {
				v := make([]byte, rng.IntN(largest/(1+rng.IntN(50))+1))
				return v[:max(rng.IntN(len(v)+1), rng.IntN(2)*len(v))]
			}),
			"string": sameAsAsked(t, 500, limit, func(rng *rand.Rand) string {
				return strings.Repeat("s", rng.IntN(largest/(1+rng.IntN(50))+1))
			}),
		} {
			for _, end := range []error{nil, engine.ErrFull, engine.ErrTooLarge} {
				if ends[end] == 0 {
					t.Errorf("%s, limit %d: no send returned %v", what, limit, end)
				}
			}
		}
	}
}

// TestKnownSize: the size is the memory that the value keeps.
func TestKnownSize(t *testing.T) {
	size := engine.KnownSize[[]byte](100)
	for _, c := range []struct{ length, capacity, want int }{
		{0, 0, engine.SliceHeader},
		{5, 20, 20 + engine.SliceHeader},
		{5, 100 - engine.SliceHeader, 100},
		{5, 1000, 100}, // within the limit by its length
		{100 - engine.SliceHeader, 1000, 100},
		{101 - engine.SliceHeader, 1000, 101},
		{1000, 1000, 1000 + engine.SliceHeader},
	} {
		v := make([]byte, c.length, c.capacity)
		if got := size(v); got != c.want {
			t.Errorf("length %d, capacity %d: %d bytes, want %d", c.length, c.capacity, got, c.want)
		}
		known, _ := knownAndAsked[[]byte](9, 100)
		if err := known.TrySend(v); (err == nil) != (c.want <= 100) {
			t.Errorf("length %d, capacity %d: %v", c.length, c.capacity, err)
		}
	}
	if got, want := engine.KnownSize[string](1)("four"), 4+engine.StringHeader; got != want {
		t.Errorf("the size of a string of four bytes is %d, want %d", got, want)
	}
	type line []byte
	if engine.KnownSize[line](1) != nil || engine.KnownSize[[]int](1) != nil || engine.KnownSize[int](1) != nil {
		t.Error("a type whose size is unknown has one")
	}
	if m := metered(9, 100); Known(m) != engine.Engine[int](m) {
		t.Error("Known has changed an engine of int")
	}
}
