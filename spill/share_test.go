package spill

import (
	"bytes"
	"fmt"
	"math"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/spill/internal/logstore"
)

// shares has the part of 6000 bytes that values get, by GOGC; negative is off.
var shares = map[int]int64{50: 4000, 100: 3000, 200: 2000, 0: 6000, -1: 6000}

// setGOGC sets GOGC until the test ends.
func setGOGC(t *testing.T, percent int) {
	was := debug.SetGCPercent(percent)
	t.Cleanup(func() { debug.SetGCPercent(was) })
}

// eachShare runs a test with each GOGC in shares.
func eachShare(t *testing.T, test func(t *testing.T, share int64)) {
	for percent, share := range shares {
		t.Run(fmt.Sprint("GOGC=", percent), func(t *testing.T) {
			setGOGC(t, percent)
			test(t, share)
		})
	}
}

// TestShare: the share of values, and the garbage that accumulates beside them, add
// up to the limit, whatever its size.
func TestShare(t *testing.T) {
	eachShare(t, func(t *testing.T, want int64) {
		if got := share(6000); got != want {
			t.Errorf("%d of 6000 bytes, want %d", got, want)
		}
	})
	setGOGC(t, 100)
	for memory, want := range map[int64]int64{1: 1, 2: 1, 101: 50, math.MaxInt64: math.MaxInt64 / 2} {
		if got := share(memory); got != want {
			t.Errorf("%d of %d bytes, want %d", got, memory, want)
		}
	}
	setGOGC(t, math.MaxInt32)
	if got := share(1 << 20); got != 1 {
		t.Errorf("%d bytes at the largest GOGC, want 1", got)
	}
}

// TestShareOfElastic: values stay in memory up to their share, the next value goes
// to disk, and a value above the share is rejected.
func TestShareOfElastic(t *testing.T) {
	length := func(v []byte) int { return len(v) }
	eachShare(t, func(t *testing.T, share int64) {
		sizes := opened(t, &ElasticOptions[[]byte]{MemoryLimit: 6000})
		asked := opened(t, &ElasticOptions[[]byte]{MemoryLimit: 6000, Size: length})
		slots := opened(t, &ElasticOptions[uint64]{MemoryLimit: 6000})
		debug.SetGCPercent(75) // has no effect: GOGC is read once
		large := make([]byte, share+1)
		for by, err := range map[string]error{
			"Send":                sizes.Send(never, large[:share-23]),
			"SendBatch":           second(sizes.SendBatch(never, [][]byte{large[:share-23]})),
			"Send with Size":      asked.Send(never, large),
			"SendBatch with Size": second(asked.SendBatch(never, [][]byte{large})),
		} {
			if err != sluice.ErrTooLarge {
				t.Errorf("%s of a value above %d bytes: %v", by, share, err)
			}
		}
		value := make([]byte, 100)
		for range share {
			if err := sizes.TrySend(value[24:]); err != nil {
				t.Fatal(err)
			}
			if err := asked.TrySend(value); err != nil {
				t.Fatal(err)
			}
			if err := slots.TrySend(1); err != nil {
				t.Fatal(err)
			}
		}
		want := [...]int64{share / 100, share / 100, share / 8}
		got := [...]int64{int64(sizes.head.Len()), int64(asked.head.Len()), int64(slots.head.Len())}
		if got != want {
			t.Errorf("%d values in memory, want %d", got, want)
		}
		for range sizes.Drain() {
		}
		if err := sizes.TrySend(large[:share-24]); err != nil || sizes.head.Len() != 1 {
			t.Errorf("a value of all %d bytes: %v", share, err)
		}
	})
}

func opened[T any](t testing.TB, o *ElasticOptions[T]) *Elastic[T] {
	t.Helper()
	c, err := OpenElastic(t.TempDir(), o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestShareOfDurable: records are kept in memory up to their share, both after a
// send and after a read from the file, and a larger record is accepted.
func TestShareOfDurable(t *testing.T) {
	eachShare(t, func(t *testing.T, share int64) {
		c, err := OpenDurable(t.TempDir(), &DurableOptions[[]byte]{MemoryLimit: 6000})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := c.Shutdown(); err != nil {
				t.Error(err)
			}
		})
		debug.SetGCPercent(75) // has no effect: GOGC is read once
		vs := make([][]byte, 200)
		for i := range vs {
			vs[i] = numbered(i)
		}
		if n, err := c.SendBatch(t.Context(), vs); n != len(vs) || err != nil {
			t.Fatal(n, err)
		}
		record := logstore.Record{Payload: vs[0]}.Memory()
		if held := c.Stats().Bytes; held > share || held <= share-record {
			t.Errorf("%d bytes of sent records are in memory, want %d", held, share)
		}
		for i := range vs {
			d, err := c.TryRecv()
			if err != nil || !bytes.Equal(d.Value, vs[i]) {
				t.Fatalf("value %d: %v", i, err)
			}
			if held := c.Stats().Bytes; held > share {
				t.Fatalf("%d bytes are in memory once value %d was received, want %d at most", held, i, share)
			}
		}
		if err := c.Send(t.Context(), make([]byte, 7000)); err != nil {
			t.Error(err)
		}
		if d, err := c.TryRecv(); err != nil || len(d.Value) != 7000 {
			t.Errorf("a value above the limit: %v", err)
		}
	})
}

// TestShareTooSmall: a limit that leaves too little for a single value is an error.
func TestShareTooSmall(t *testing.T) {
	setGOGC(t, 100)
	_, err := OpenElastic(t.TempDir(), &ElasticOptions[uint64]{MemoryLimit: 15})
	if says := "MemoryLimit is 15, which leaves 7 bytes for values (want at least 8, the size of a uint64)"; err == nil || !strings.HasSuffix(err.Error(), says) {
		t.Errorf("got %v, want %q", err, says)
	}
	if _, err := OpenElastic(t.TempDir(), &ElasticOptions[uint64]{MemoryLimit: 16}); err != nil {
		t.Error(err)
	}
	// An empty value of a known size still has its header.
	head := int64(engine.SizeOf[[]byte]())
	if _, err := OpenElastic(t.TempDir(), &ElasticOptions[[]byte]{MemoryLimit: 2*head - 1}); err == nil || !strings.HasSuffix(err.Error(), fmt.Sprintf("(want at least %d, the size of a []uint8)", head)) {
		t.Errorf("slices of which none fits: %v", err)
	}
	if err := opened(t, &ElasticOptions[[]byte]{MemoryLimit: 2 * head}).TrySend(nil); err != nil {
		t.Error(err)
	}
}

// TestSameSizes: a value has the same size below the limit, where head counts it,
// and beyond it, where this package does.
func TestSameSizes(t *testing.T) {
	const limit = 200 // with so few bytes the limit of a sluice.Elastic is exact
	slice := engine.SizeOf[[]byte]()
	for length := range limit {
		for _, more := range []int{0, 1, 70, limit} {
			v := make([]byte, length, length+more)
			c := sluice.NewElastic(9, &sluice.ElasticOptions[[]byte]{MaxBytes: limit, Overflow: sluice.Reject})
			_ = c.TrySend(make([]byte, 50-slice))
			size := engine.KnownSize[[]byte](limit)(v)
			if err := c.TrySend(v); (err == nil) != (size <= limit-50) {
				t.Errorf("length %d, capacity %d, %d bytes beside 50 others: %v", length, length+more, size, err)
			}
			c = sluice.NewElastic(9, &sluice.ElasticOptions[[]byte]{MaxBytes: limit, Overflow: sluice.Reject})
			if err := c.TrySend(v); (err == nil) != (size <= limit) {
				t.Errorf("length %d, capacity %d, %d bytes alone: %v", length, length+more, size, err)
			}
		}
	}
}

// TestBytesInMemory: the slots of head are counted once, whether the size is known
// or user code reports it.
func TestBytesInMemory(t *testing.T) {
	known := opened(t, &ElasticOptions[[]byte]{})
	asked := opened(t, &ElasticOptions[[]byte]{Size: func(v []byte) int { return len(v) + engine.SizeOf[[]byte]() }})
	for range 10 {
		_, _ = known.TrySend(make([]byte, 4)), asked.TrySend(make([]byte, 4))
	}
	if got, want := known.Stats().Bytes, asked.Stats().Bytes; got != want {
		t.Errorf("%d bytes, want %d", got, want)
	}
}
