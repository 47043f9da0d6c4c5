package spill

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// TestPagesAreUsedAgain: the file of a queue that is filled and drained repeatedly
// does not grow, and Compact shrinks it and keeps its contents.
func TestPagesAreUsedAgain(t *testing.T) {
	dir := t.TempDir()
	c, err := reopen(dir)
	if err != nil {
		t.Fatal(err)
	}
	batch := make([][]byte, 3000)
	for i := range batch {
		batch[i] = numbered(i)
	}
	buf := make([]*Delivery[[]byte], 200)
	largest := int64(0)
	for round := range 10 {
		if n, err := c.SendBatch(context.Background(), batch); n != len(batch) || err != nil {
			t.Fatal(n, err)
		}
		for c.Len() > 0 {
			n, err := c.RecvBatch(context.Background(), buf)
			if err = errors.Join(err, c.Ack(buf[:n]...)); err != nil {
				t.Fatal(err)
			}
		}
		size := c.Stats().BytesOnDisk
		if round == 1 {
			largest = size
		}
		if round > 1 && size > largest {
			t.Fatalf("round %d: the file has %d bytes, after the first rounds %d", round, size, largest)
		}
	}
	if n, err := c.SendBatch(context.Background(), batch[:50]); n != 50 || err != nil {
		t.Fatal(n, err)
	}
	if err := c.Shutdown(); err != nil {
		t.Fatal(err)
	}
	before, after, err := Compact(dir)
	if err != nil || before != largest || after > before/3 {
		t.Errorf("Compact: from %d to %d, %v", before, after, err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("the directory has %v", left)
	}
	if c, err = reopen(dir); err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		if d, err := c.TryRecv(); err != nil || !bytes.Equal(d.Value, numbered(i)) {
			t.Fatalf("record %d after Compact: %v, %v", i, d, err)
		}
	}
	if c.Len() != 0 {
		t.Errorf("%d records too many", c.Len())
	}
	if err := c.Shutdown(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Compact(filepath.Join(dir, "nowhere")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Compact of a missing queue: %v", err)
	}
}

// TestCompactFails: a copy that fails leaves the old file unchanged, unlocked, and
// nothing beside it.
func TestCompactFails(t *testing.T) {
	dir := queueOf(t, 100)
	path := filepath.Join(dir, queueFile)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	full := errors.New("no space left on device")
	for how, breaks := range map[string]func() error{
		"an error": func() error { return full },
		"a panic":  func() error { panic(full) },
	} {
		broken := opener{noSync: true, copy: func(to, from *bolt.DB, step int64) error {
			return errors.Join(bolt.Compact(to, from, step), breaks())
		}}
		if _, _, err := broken.compact(dir); err == nil || !strings.Contains(err.Error(), full.Error()) {
			t.Errorf("Compact, by %s: %v", how, err)
		}
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
			t.Errorf("the queue has changed from %d to %d bytes: %v", len(before), len(after), err)
		}
		c, err := reopen(dir)
		if err != nil {
			t.Fatalf("after Compact, by %s: %v", how, err)
		}
		if err := c.Shutdown(); err != nil || names(t, dir) != "queue.db " {
			t.Errorf("%v; the directory has %s", err, names(t, dir))
		}
	}
	taken := opener{noSync: true, copy: func(to, from *bolt.DB, step int64) error {
		return errors.Join(bolt.Compact(to, from, step), os.Remove(path), os.Mkdir(path, 0o700))
	}}
	if _, _, err := taken.compact(dir); err == nil || names(t, dir) != "queue.db " {
		t.Errorf("Compact of a directory: %v; left: %s", err, names(t, dir))
	}
}
