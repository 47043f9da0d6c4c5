package spill

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice"
)

// TestOneFile: a reader that follows the writer closely uses a single file.
func TestOneFile(t *testing.T) {
	disk := new(faulty)
	c := on(t, disk, &ElasticOptions[[]byte]{MemoryLimit: 124})
	made := disk.made
	spilled(t, c, 3)
	for range 500 {
		if err := c.TrySend(numbered(0)); err != nil {
			t.Fatal(err)
		}
		if _, err := c.TryRecv(); err != nil {
			t.Fatal(err)
		}
	}
	if disk.made > made+1 || c.Stats().Disk.Bytes > 900 {
		t.Errorf("%d files were made, of %d bytes", disk.made-made, c.Stats().Disk.Bytes)
	}
}

// TestLeadershipEnds: if the last member to leave a commit holds the token,
// leadership ends. A commit that was taken cannot be left.
func TestLeadershipEnds(t *testing.T) {
	c, _ := small(0)
	b, _ := c.join()
	b.lead <- struct{}{}
	if !c.withdraw(b, 0, grant{}) || c.leading || c.pending != nil {
		t.Errorf("after the last member has left: leading %v, pending %v", c.leading, c.pending)
	}
	b, leads := c.join()
	c.pending = nil // the leader has taken the commit
	if !leads || c.withdraw(b, 0, grant{}) || b.members != 1 {
		t.Errorf("a commit was left while it was written")
	}
}

// TestNackServes: a value that is given back goes to a waiting receiver.
func TestNackServes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := small(0)
		if err := c.TrySend(numbered(0)); err != nil {
			t.Fatal(err)
		}
		d := mustRecv(t, c, 0)
		var again *Delivery[[]byte]
		go func() { again, _ = c.Recv(context.Background()) }()
		synctest.Wait()
		if err := d.Nack(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if again == nil || again.Attempt != 2 {
			t.Errorf("a receiver that waited got %v", again)
		}
		c.Close()
		synctest.Wait()
	})
}

// TestWindowOrder: a new value comes after older records that are only in the file,
// even if there is room in memory again.
func TestWindowOrder(t *testing.T) {
	c, _ := small(0)
	for i := range 30 {
		if err := c.TrySend(numbered(i)); err != nil {
			t.Fatal(err)
		}
		if i == 20 {
			for j := range 5 {
				mustRecv(t, c, j)
			}
		}
	}
	for i := 5; i < 30; i++ {
		mustRecv(t, c, i)
	}
}

// TestCloseDuringCommit: a waiting receiver gets the values of a commit in progress
// at Close, and only then ErrClosed.
func TestCloseDuringCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := small(0)
		gate := make(chan struct{})
		s.onWrite = func(uint64, [][]byte, []uint64) error {
			<-gate
			return nil
		}
		sent, second := errors.New("not yet"), errors.New("not yet")
		var d *Delivery[[]byte]
		go func() { sent = c.Send(context.Background(), numbered(0)) }()
		go func() {
			d, _ = c.Recv(context.Background())
			_, second = c.Recv(context.Background())
		}()
		synctest.Wait()
		c.Close()
		synctest.Wait()
		if d != nil || second == sluice.ErrClosed {
			t.Fatal("a receiver did not wait for the commit in progress")
		}
		close(gate)
		synctest.Wait()
		if sent != nil || d == nil || !bytes.Equal(d.Value, numbered(0)) || second != sluice.ErrClosed {
			t.Errorf("sent %v, received %v, then %v", sent, d, second)
		}
	})
}

// TestWindowEnds: a record that does not fit into memory ends the window, even if
// the records after it are small.
func TestWindowEnds(t *testing.T) {
	c, _ := small(0)
	var sent [][]byte
	for i := range 6 {
		sent = append(sent, bytes.Repeat([]byte{byte(i)}, []int{100, 2000, 10}[i%3]))
	}
	if n, err := c.SendBatch(context.Background(), sent); n != 6 || err != nil {
		t.Fatal(n, err)
	}
	for i, want := range sent {
		if d, err := c.TryRecv(); err != nil || !bytes.Equal(d.Value, want) {
			t.Fatalf("record %d: %v, %v", i, d, err)
		}
	}
	if c.backlog.bytes != 0 {
		t.Errorf("%d bytes in an empty window", c.backlog.bytes)
	}
}

// TestLeaverGivesWay: a sender that stops waiting for room lets the next one, which
// is smaller, proceed.
func TestLeaverGivesWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := small(130)
		if err := c.TrySend(numbered(0)); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		var first error
		second := errors.New("still waits")
		go func() { first = c.Send(ctx, numbered(1)) }()
		synctest.Wait()
		go func() { second = c.Send(context.Background(), nil) }()
		synctest.Wait()
		cancel()
		synctest.Wait()
		if first != context.Canceled || second != nil {
			t.Errorf("the sender that left: %v; the next one: %v", first, second)
		}
		c.Close()
	})
}
