package spill

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sluice-go/sluice/internal/ramdir"
)

// TestSpaceComesBack: the files of a queue that is filled and drained shrink while it is
// open, even if a few old records stay.
func TestSpaceComesBack(t *testing.T) {
	dir := t.TempDir()
	c, err := reopen(dir)
	if err != nil {
		t.Fatal(err)
	}
	batch := make([][]byte, 3000)
	for i := range batch {
		batch[i] = make([]byte, 4096)
	}
	buf := make([]*Delivery[[]byte], 200)
	var old []*Delivery[[]byte]
	for round := range 6 {
		if n, err := c.SendBatch(context.Background(), batch); n != len(batch) || err != nil {
			t.Fatal(n, err)
		}
		full := c.Stats().Disk.Bytes
		for c.Len() > 0 {
			n, err := c.RecvBatch(context.Background(), buf)
			if err != nil {
				t.Fatal(err)
			}
			if c.Len() == 0 && round%2 == 0 {
				n--
				old = append(old, buf[n])
			}
			if err := c.Ack(buf[:n]...); err != nil {
				t.Fatal(err)
			}
		}
		for range 20 { // commits copy the old records
			if err := errors.Join(c.Send(context.Background(), nil), second(c.AutoAck().Recv(context.Background()))); err != nil {
				t.Fatal(err)
			}
		}
		if size := c.Stats().Disk.Bytes; full < 12_000_000 || size > full*2/3+1<<20 || size > 18<<20 {
			t.Errorf("round %d: %d bytes on disk, and %d after the drain", round, full, size)
		}
	}
	if err := errors.Join(c.Ack(old...), c.Shutdown()); err != nil {
		t.Fatal(err)
	}
	if c, err = reopen(dir); err != nil {
		t.Fatal(err)
	}
	if size := c.Stats().Disk.Bytes; size > 1000 {
		t.Errorf("the empty queue has %d bytes", size)
	}
	if err := c.Shutdown(); err != nil {
		t.Fatal(err)
	}
}

// TestFreshSpace: while a backlog stays, the space of fresh values comes back.
func TestFreshSpace(t *testing.T) {
	const segment = 64 << 10
	q := testQueue{Dir: ramdir.New(t), Segment: segment, Fresh: time.Hour}
	batch := make([][]byte, 400)
	for i := range batch {
		batch[i] = make([]byte, 1024)
	}
	buf := make([]*Delivery[[]byte], 100)
	for round := range 6 {
		c, err := q.open(nil)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := c.SendBatch(context.Background(), batch); n != len(batch) || err != nil {
			t.Fatal(n, err)
		}
		for range len(batch) / len(buf) {
			n, err := c.RecvBatch(context.Background(), buf)
			if round == 0 || err != nil { // the first ones are the backlog
				break
			}
			if err := c.Ack(buf[:n]...); err != nil {
				t.Fatal(err)
			}
		}
		size := c.Stats().Disk.Bytes
		if err := c.Shutdown(); err != nil || c.records != len(batch) || size > int64(len(batch)*(1024+recordCost)+2*segment) { // the segment after the backlog's last record, and the active one
			t.Errorf("round %d: %d records, and %d bytes on disk, %v", round, c.records, size, err)
		}
	}
}
