package spill

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/suite"
)

// never is a context that is done: calls do not wait.
var never = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// on returns an Elastic on the given disk, with small blocks.
func on[T any](t *testing.T, disk files, o *ElasticOptions[T]) *Elastic[T] {
	t.Helper()
	c := withFullLimit(t, disk, o)
	c.backlog.blockSize, c.backlog.segmentSize = 200, 900
	return c
}

// withFullLimit returns an Elastic whose values may use all of MemoryLimit, unlike
// those that OpenElastic returns: tests that count bytes then work at any GOGC.
func withFullLimit[T any](t *testing.T, disk files, o *ElasticOptions[T]) *Elastic[T] {
	t.Helper()
	p, err := o.config()
	if err != nil {
		t.Fatal(err)
	}
	c, err := newElastic(p, disk)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestBoundary crosses the boundary between memory and disk at random, with records
// up to several blocks long, and compares the channel with a slice.
func TestBoundary(t *testing.T) {
	for seed := range uint64(suite.Rounds(12, 60)) {
		rng := rand.New(rand.NewPCG(seed, 3))
		disk := new(faulty)
		c := on(t, disk, &ElasticOptions[[]byte]{MemoryLimit: 1500})
		var want [][]byte
		crossings := 0
		for step := range 3000 {
			sends := rng.IntN(100) < 30+40*(step/300%2)
			switch {
			case sends && rng.IntN(4) > 0:
				v := bytes.Repeat([]byte{byte(step)}, rng.IntN(rng.IntN(1300)+1))
				if err := c.TrySend(v); err != nil {
					t.Fatal(err)
				}
				want = append(want, v)
			case sends:
				batch := make([][]byte, rng.IntN(40))
				for i := range batch {
					batch[i] = bytes.Repeat([]byte{byte(step + i)}, rng.IntN(100))
				}
				if n, err := c.SendBatch(never, batch); n != len(batch) || err != nil {
					t.Fatal(n, err)
				}
				want = append(want, batch...)
			default:
				buf := make([][]byte, 1+rng.IntN(5)*rng.IntN(9))
				receive := c.TryRecvBatch
				if step%2 == 0 {
					receive = func(buf [][]byte) (int, error) { return c.RecvBatch(never, buf) }
				}
				n, err := receive(buf)
				if n != min(len(buf), len(want)) || (err != nil) != (len(want) == 0) {
					t.Fatalf("seed %d, step %d: RecvBatch into %d with %d queued: %d, %v", seed, step, len(buf), len(want), n, err)
				}
				for i, v := range buf[:n] {
					if !bytes.Equal(v, want[i]) {
						t.Fatalf("seed %d, step %d: received %d bytes, sent %d", seed, step, len(v), len(want[i]))
					}
				}
				want = want[n:]
			}
			if c.Len() != len(want) {
				t.Fatalf("seed %d, step %d: Len is %d with %d queued", seed, step, c.Len(), len(want))
			}
			if c.Stats().Disk.Bytes > 0 {
				crossings++
			}
		}
		if crossings == 0 {
			t.Errorf("seed %d: never on disk", seed)
		}
		for range want {
			if _, err := c.TryRecv(); err != nil {
				t.Fatal(err)
			}
		}
		checkIdle(t, c, disk)
	}
}

// checkIdle asserts that a drained channel holds no resources.
func checkIdle[T any](t *testing.T, c *Elastic[T], disk *faulty) {
	t.Helper()
	if s := c.Stats(); s.Len != 0 || s.Disk.Bytes != 0 || c.state.Load()&spilling != 0 || disk.opened() != 0 {
		t.Errorf("a drained channel: %+v, %d files open", s, disk.opened())
	}
}

// spilled fills c until n numbered values of 100 bytes each are queued.
func spilled(t *testing.T, c *Elastic[[]byte], n int) {
	t.Helper()
	for i := range n {
		if err := c.TrySend(numbered(i)); err != nil {
			t.Fatalf("value %d: %v", i, err)
		}
	}
}

func numbered(i int) []byte {
	v := make([]byte, 100)
	copy(v, fmt.Sprint(i))
	return v
}

// drained receives the values first to last-1, and expects no others.
func drained(t *testing.T, c *Elastic[[]byte], first, last int) {
	t.Helper()
	for i := first; i < last; i++ {
		v, err := c.TryRecv()
		if err != nil || !bytes.Equal(v, numbered(i)) {
			t.Fatalf("received %.9q, %v, want %d", v, err, i)
		}
	}
	if v, err := c.TryRecv(); err != sluice.ErrEmpty {
		t.Fatalf("received %.9q, %v, want no value", v, err)
	}
}

// TestWriteFails: if the disk rejects a write, Send returns an error with the file
// and the reason. Accepted values stay, and sends succeed when there is room again.
func TestWriteFails(t *testing.T) {
	for name, fault := range map[string]struct {
		set  func(*faulty)
		says []string
	}{
		"full":        {func(d *faulty) { d.onWrite = full }, []string{"segment-", "no space left"}},
		"short write": {func(d *faulty) { d.onWrite = short }, []string{"segment-", "short write"}},
		"read-only":   {func(d *faulty) { d.onMake = syscallReadOnly }, []string{"folder/segment", "read-only"}},
	} {
		t.Run(name, func(t *testing.T) {
			disk := new(faulty)
			c := on(t, disk, &ElasticOptions[[]byte]{MemoryLimit: 1000})
			disk.mu.Lock()
			fault.set(disk)
			disk.mu.Unlock()
			sent := 0
			var err error
			for ; err == nil; sent++ {
				err = c.Send(context.Background(), numbered(sent))
			}
			sent--
			for _, says := range fault.says {
				if !strings.Contains(err.Error(), says) {
					t.Errorf("the error is %q, want it to say %q", err, says)
				}
			}
			if c.Len() != sent {
				t.Fatalf("Len is %d, sent %d", c.Len(), sent)
			}
			if n, again := c.SendBatch(context.Background(), [][]byte{numbered(sent)}); n != 0 || again == nil {
				t.Fatalf("SendBatch to a disk that is still full: %d, %v", n, again)
			}
			disk.mu.Lock()
			disk.onWrite, disk.onMake = nil, nil
			disk.mu.Unlock()
			if err := c.Send(context.Background(), numbered(sent)); err != nil {
				t.Fatalf("there is room again: %v", err)
			}
			for range 20 {
				sent++
				if err := c.TrySend(numbered(sent)); err != nil {
					t.Fatal(err)
				}
			}
			drained(t, c, 0, sent+1)
			checkIdle(t, c, disk)
		})
	}
}

var syscallReadOnly = &fs.PathError{Op: "open", Path: "folder/segment", Err: errors.New("read-only file system")}

// TestReadFails: values accepted before the damaged block are received; then all
// senders and receivers get the failure, including waiting ones.
func TestReadFails(t *testing.T) {
	flip := func(b []byte) (int, error) {
		b[7] ^= 1
		return len(b), nil
	}
	fails := func([]byte) (int, error) { return 0, errors.New("input/output error") }
	for name, fault := range map[string]struct {
		read func([]byte) (int, error)
		says string
	}{
		"error":       {fails, "input/output error"},
		"flipped bit": {flip, "wrong checksum"},
	} {
		t.Run(name, func(t *testing.T) {
			disk := &faulty{onRead: fault.read}
			c := on(t, disk, &ElasticOptions[[]byte]{MemoryLimit: 1000})
			spilled(t, c, 60)
			received := 0
			var err error
			for ; err == nil; received++ {
				_, err = c.Recv(context.Background())
			}
			received--
			if received < 8 || !strings.Contains(err.Error(), fault.says) || !strings.Contains(err.Error(), "segment-") {
				t.Fatalf("received %d, then %v", received, err)
			}
			for what, again := range map[string]error{
				"TryRecv": second(c.TryRecv()), "TrySend": c.TrySend(nil), "Send": c.Send(context.Background(), nil),
				"RecvBatch": second(c.RecvBatch(context.Background(), make([][]byte, 3))),
				"SendBatch": second(c.SendBatch(context.Background(), make([][]byte, 3))),
			} {
				if again == nil || again.Error() != err.Error() {
					t.Errorf("%s of a channel that has failed: %v", what, again)
				}
			}
			s := c.Stats()
			if s.Disk.Warning != err.Error() || int(s.Dropped) != 60-received || s.Len != 0 || !s.Closed || s.Disk.Bytes != 0 || disk.opened() != 0 {
				t.Errorf("received %d, %d files open, but %+v", received, disk.opened(), s)
			}
		})
	}
}

func second[A any](_ A, err error) error { return err }

// TestFailureWakes: a failure wakes waiting receivers and senders.
func TestFailureWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := new(faulty)
		c := on(t, disk, &ElasticOptions[[]byte]{MemoryLimit: 200, DiskLimit: 600})
		for c.TrySend(numbered(0)) == nil {
		}
		var errs [3]error
		for i := range errs {
			go func() { errs[i] = c.Send(context.Background(), numbered(1)) }()
		}
		synctest.Wait()
		if s := c.Stats(); s.SendersWaiting != 3 {
			t.Fatalf("%d wait", s.SendersWaiting)
		}
		disk.mu.Lock()
		disk.onRead = func([]byte) (int, error) { return 0, errors.New("broken") }
		disk.mu.Unlock()
		for range 5 {
			_, _ = c.TryRecv()
		}
		synctest.Wait()
		for _, err := range errs {
			if err == nil || !strings.Contains(err.Error(), "broken") {
				t.Errorf("a sender that waited: %v", err)
			}
		}
	})
}

// TestDirectory: what can be wrong with the directory, on a real disk.
func TestDirectory(t *testing.T) {
	top := t.TempDir()
	plain := filepath.Join(top, "file")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for dir, says := range map[string]string{
		plain:                          "not a directory",
		filepath.Join(top, "no/where"): "no such file",
		filepath.Join(plain, "below"):  "not a directory",
	} {
		if _, err := OpenElastic[uint64](dir, nil); err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), dir) {
			t.Errorf("Open: %v, want an error with %q and %q", err, says, dir)
		}
	}
	dir := filepath.Join(top, "new")
	c, err := OpenElastic(dir, &ElasticOptions[[]byte]{MemoryLimit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	c.backlog.blockSize = 300
	spilled(t, c, 20)
	if left, err := os.ReadDir(dir); len(left) > 0 || err != nil || c.Stats().Disk.Bytes == 0 {
		t.Fatalf("%d bytes on disk, but the directory has %v, %v", c.Stats().Disk.Bytes, left, err)
	}
	// The directory is removed: the open segment works, a new one cannot be created.
	c.backlog.segmentSize = 1
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	sent := 20
	for err = nil; err == nil; sent++ {
		err = c.TrySend(numbered(sent))
	}
	sent--
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), dir) {
		t.Fatalf("the directory is gone: %v", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := c.TrySend(numbered(sent)); err != nil {
		t.Fatalf("the directory is back: %v", err)
	}
	drained(t, c, 0, sent+1)
}

// TestTooLarge: a value above the memory limit, and a record above the disk limit.
func TestTooLarge(t *testing.T) {
	c := on(t, new(faulty), &ElasticOptions[[]byte]{MemoryLimit: 1024, DiskLimit: 600})
	for _, err := range []error{
		c.TrySend(make([]byte, 1001)), c.Send(context.Background(), make([]byte, 1001)),
		second(c.SendBatch(context.Background(), [][]byte{make([]byte, 1001)})),
	} {
		if err != sluice.ErrTooLarge {
			t.Errorf("above the limit: %v", err)
		}
	}
	if err := c.TrySend(make([]byte, 1000)); err != nil {
		t.Errorf("the largest value: %v", err)
	}
	if err := c.TrySend(make([]byte, 597)); err != sluice.ErrTooLarge {
		t.Errorf("a record above the disk limit: %v", err)
	}
	n, err := c.SendBatch(context.Background(), [][]byte{make([]byte, 596-100), {}, make([]byte, 1001), {}})
	if n != 2 || err != sluice.ErrTooLarge {
		t.Errorf("a batch whose third value is too large: %d, %v", n, err)
	}
	if c.Len() != 3 {
		t.Errorf("Len is %d", c.Len())
	}
}

// TestCanceledInQueue: a sender that leaves the wait queue lets the next one, which
// is smaller, proceed.
func TestCanceledInQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := on(t, new(faulty), &ElasticOptions[[]byte]{MemoryLimit: 124, DiskLimit: 300})
		spilled(t, c, 3) // 92 bytes of the disk limit are left
		ctx, cancel := context.WithCancel(context.Background())
		var large, small error
		go func() { large = c.Send(ctx, numbered(98)) }()
		synctest.Wait()
		go func() { small = c.Send(context.Background(), []byte("small")) }()
		synctest.Wait()
		if s := c.Stats(); s.SendersWaiting != 2 || c.TrySend(nil) != sluice.ErrFull {
			t.Fatalf("the line is not kept: %+v", s)
		}
		cancel()
		synctest.Wait()
		if s := c.Stats(); s.SendersWaiting != 0 || large != context.Canceled || small != nil || s.Len != 4 {
			t.Fatalf("after the first sender has left: %v, %v, %+v", large, small, s)
		}
	})
}

// TestCloseSpilled: values accepted before Close are received after it, waiting
// senders get ErrClosed, and no file stays open.
func TestCloseSpilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := new(faulty)
		c := on(t, disk, &ElasticOptions[[]byte]{MemoryLimit: 500, DiskLimit: 3000})
		n := 0
		for ; c.TrySend(numbered(n)) == nil; n++ {
		}
		waiting := errors.New("still waiting")
		err := waiting
		go func() { err = c.Send(context.Background(), numbered(n)) }()
		synctest.Wait()
		if err != waiting || disk.opened() == 0 {
			t.Fatalf("a Send to a full disk: %v, %d files", err, disk.opened())
		}
		c.Close()
		c.Close()
		synctest.Wait()
		if err != sluice.ErrClosed || c.TrySend(nil) != sluice.ErrClosed {
			t.Fatalf("a Send that waited at Close: %v", err)
		}
		i := 0
		for v := range c.Values(context.Background()).All() {
			if !bytes.Equal(v, numbered(i)) {
				t.Fatalf("received %.9q, want %d", v, i)
			}
			i++
		}
		if _, err := c.Recv(context.Background()); i != n || err != sluice.ErrClosed {
			t.Fatalf("received %d of %d, then %v", i, n, err)
		}
		<-c.Ready()
		checkIdle(t, c, disk)
	})
}
