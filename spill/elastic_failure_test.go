package spill

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/engine"
)

// TestFailureFoundBySender: a sender at the disk limit moves records to make room,
// and may be the first to find that they cannot be read. There is room then, but the
// channel has failed.
func TestFailureFoundBySender(t *testing.T) {
	broken := errors.New("broken")
	for name, send := range map[string]func(*Elastic[[]byte], []byte) error{
		"TrySend": (*Elastic[[]byte]).TrySend,
		"Send": func(c *Elastic[[]byte], v []byte) error {
			return c.Send(context.Background(), v)
		},
		"SendBatch": func(c *Elastic[[]byte], v []byte) error {
			return second(c.SendBatch(context.Background(), [][]byte{v, v}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			disk := &faulty{onRead: func([]byte) (int, error) { return 0, broken }}
			c := on(t, disk, &ElasticOptions[[]byte]{MemoryLimit: 500, DiskLimit: 2000})
			spilled(t, c, 4+19) // memory and disk are full; no block was read yet
			if s := c.Stats(); s.Disk.Warning != "" || s.Disk.Bytes == 0 {
				t.Fatalf("%d on disk, %q", s.Disk.Bytes, s.Disk.Warning)
			}
			if err := send(c, numbered(23)); !errors.Is(err, broken) {
				t.Fatalf("sent to a channel that has failed: %v", err)
			}
			got := 0
			_, err := c.TryRecv()
			for ; err == nil; _, err = c.TryRecv() {
				got++
			}
			if s := c.Stats(); got != 4 || !errors.Is(err, broken) || s.Sent != 23 || s.Dropped != 19 || s.Len != 0 {
				t.Errorf("received %d, then %v: %+v", got, err, s)
			}
			if disk.opened() != 0 {
				t.Errorf("%d files open", disk.opened())
			}
		})
	}
}

// losing encodes a slice without its elements.
type losing struct{}

func (losing) Name() string                              { return "losing" }
func (losing) Append(b []byte, _ []byte) ([]byte, error) { return append(b, 0), nil }
func (losing) Decode([]byte) ([]byte, error)             { return nil, nil }

// TestSizeFromDisk: a Size that fails for a value from disk ends the channel; it
// does not hang it or corrupt its counts.
func TestSizeFromDisk(t *testing.T) {
	for name, size := range map[string]func([]byte) int{
		"panicked": func(v []byte) int { return int(v[0]) },
		"returned -1, want at least 0": func(v []byte) int {
			if len(v) == 0 {
				return -1
			}
			return int(v[0])
		},
	} {
		disk := new(faulty)
		c := on(t, disk, &ElasticOptions[[]byte]{MemoryLimit: 100, Size: size, Codec: losing{}})
		for range 5 {
			if err := c.TrySend([]byte{50}); err != nil {
				t.Fatal(err)
			}
		}
		got := 0
		_, err := c.Recv(context.Background())
		for ; err == nil; _, err = c.Recv(context.Background()) {
			got++
		}
		if got != 2 || !strings.Contains(err.Error(), "ElasticOptions.Size "+name) {
			t.Errorf("received %d, then %v", got, err)
		}
		if again := c.TrySend([]byte{50}); again != err {
			t.Errorf("TrySend afterwards: %v", again)
		}
	}
}

// stretching is a codec of []byte whose Decode returns more than Append got.
type stretching struct{}

func (stretching) Name() string                              { return "stretching" }
func (stretching) Append(b []byte, v []byte) ([]byte, error) { return append(b, v...), nil }
func (stretching) Decode(b []byte) ([]byte, error)           { return make([]byte, 100*len(b)), nil }

// TestStretched: if a codec returns a slice above the limit, the channel fails with
// an error that names the codec, after the values before it were received. Longer
// slices within the limit are accepted.
func TestStretched(t *testing.T) {
	for limit, want := range map[int64]int{100: 3, 100_000: 10} {
		c := on(t, new(faulty), &ElasticOptions[[]byte]{MemoryLimit: limit, Codec: stretching{}})
		for range 10 {
			if err := c.Send(context.Background(), make([]byte, 8)); err != nil {
				t.Fatal(err)
			}
		}
		c.Close()
		got := 0
		_, err := c.Recv(context.Background())
		for ; err == nil; _, err = c.Recv(context.Background()) {
			got++
		}
		if failed := strings.Contains(err.Error(), `codec "stretching": Decode returned 824 bytes`); got != want || failed != (got < 10) {
			t.Errorf("limit %d: received %d, then %v", limit, got, err)
		}
	}
}

// TestCapacityCounts: the size of a slice is its capacity, not its length.
func TestCapacityCounts(t *testing.T) {
	c := on(t, new(faulty), &ElasticOptions[[]byte]{MemoryLimit: 64 << 10})
	for range 100 {
		if err := c.TrySend(append(make([]byte, 0, 4096), 'x')); err != nil {
			t.Fatal(err)
		}
	}
	if held := c.head.Len() * 4096; held > 64<<10 {
		t.Errorf("%d bytes in memory, above the limit of 64 KiB", held)
	}
	// A slice within the limit is accepted, however large its array is.
	c = on(t, new(faulty), &ElasticOptions[[]byte]{MemoryLimit: 1000})
	large := make([]byte, 1<<20)
	for i, want := range []error{nil, nil, sluice.ErrTooLarge} {
		if err := c.TrySend(large[:[]int{1, 976, 977}[i]]); err != want {
			t.Errorf("value %d: %v, want %v", i, err, want)
		}
	}
	if c.head.Len() != 1 {
		t.Errorf("%d such slices are held in memory at once", c.head.Len())
	}
}

// TestRoomIsPassedOn: each receive that lets a record move to memory lets one
// waiting sender proceed, even if memory is far from low.
func TestRoomIsPassedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := on(t, new(faulty), &ElasticOptions[uint64]{MemoryLimit: 80, DiskLimit: 36, Codec: fixed{}})
		for i := range uint64(10 + 3) {
			if err := c.TrySend(i); err != nil {
				t.Fatal(err)
			}
		}
		for i := range uint64(2) {
			go func() { _ = c.Send(context.Background(), 13+i) }()
			synctest.Wait()
		}
		for i := range uint64(2) {
			if v, err := c.TryRecv(); v != i || err != nil {
				t.Fatal(v, err)
			}
			synctest.Wait()
			if s := c.Stats(); s.SendersWaiting != 1-int(i) || s.SendWaits != 2 || s.Len != 13 {
				t.Fatalf("after %d receives: %+v", i+1, s)
			}
		}
		for i := uint64(2); i < 15; i++ {
			if v, err := c.TryRecv(); v != i || err != nil {
				t.Fatal(v, err)
			}
		}
	})
}

// TestSpilledStats: the Stats of a channel that spills and becomes direct again.
func TestSpilledStats(t *testing.T) {
	c := on(t, new(faulty), &ElasticOptions[uint64]{MemoryLimit: 80, Codec: fixed{}})
	for i := range uint64(100) {
		if err := c.TrySend(i); err != nil {
			t.Fatal(err)
		}
	}
	// 10 values are in memory, 80 records in 5 blocks, and 10 in the tail.
	s := c.Stats()
	if s.Len != 100 || s.HighWater != 100 || s.Sent != 100 || s.Received != 0 || s.Disk.Bytes != 5*16*12 {
		t.Errorf("sent: %+v", s)
	}
	if memory := c.head.Stats().Bytes; s.Bytes < memory+120 {
		t.Errorf("Bytes is %d, with %d in the head and a tail of 10 records", s.Bytes, memory)
	}
	for range 100 {
		if _, err := c.TryRecv(); err != nil {
			t.Fatal(err)
		}
	}
	if s := c.Stats(); s.Len != 0 || s.HighWater != 100 || s.Sent != 100 || s.Received != 100 || s.Disk.Bytes != 0 || s.Dropped != 0 {
		t.Errorf("received: %+v", s)
	}
}

// TestBytesOnce: the slot of a value is counted once, although its size includes it.
func TestBytesOnce(t *testing.T) {
	const limit = 64 << 10
	each := int64(8 + engine.SizeOf[[]byte]())
	c := on(t, new(faulty), &ElasticOptions[[]byte]{MemoryLimit: limit})
	for i := range limit / each {
		if err := c.TrySend(make([]byte, 8)); err != nil {
			t.Fatal(err)
		}
		if s := c.Stats(); s.Bytes < int64(s.Len)*each || s.Bytes > int64(s.Len)*each+20<<10 {
			t.Fatalf("%d values of %d bytes: Bytes is %d", i+1, each, s.Bytes)
		}
	}
}
