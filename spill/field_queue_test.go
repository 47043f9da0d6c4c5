package spill

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/ramdir"
)

// fieldQueue is a queue with small segments, in a folder of its own.
func fieldQueue(t *testing.T, policy DamagePolicy) testQueue {
	t.Helper()
	return testQueue{Dir: ramdir.New(t), Segment: 4 << 10, Memory: 4 << 10, Policy: policy}
}

// fill sends the values from to to-1, each with a commit of its own.
func fill(t *testing.T, c *Durable[[]byte], from, to uint64) {
	t.Helper()
	for id := from; id < to; id++ {
		if err := c.Send(context.Background(), valueOf(id)); err != nil {
			t.Fatalf("value %d: %v", id, err)
		}
	}
}

// drain receives everything that a queue delivers, acknowledges it at the end, and returns the numbers
// of the values. Damaged records are dropped and counted.
func drain(t *testing.T, c *Durable[[]byte]) (ids []uint64, dropped int) {
	t.Helper()
	var received []*Delivery[[]byte]
	for {
		d, err := c.TryRecv()
		var bad *RecordError
		switch {
		case err == sluice.ErrEmpty:
			if err := c.Ack(received...); err != nil {
				t.Fatal(err)
			}
			return ids, dropped
		case errors.As(err, &bad):
			dropped++
			if err := bad.Drop(); err != nil {
				t.Fatal(err)
			}
			continue
		case err != nil:
			t.Fatal(err)
		}
		id, err := identify(d.Value)
		if err != nil {
			t.Fatal(err)
		}
		ids, received = append(ids, id), append(received, d)
	}
}

// ids returns the numbers from to to-1, without some.
func ids(from, to uint64, without ...uint64) (all []uint64) {
	for id := from; id < to; id++ {
		if !slices.Contains(without, id) {
			all = append(all, id)
		}
	}
	return all
}

// killedAt returns a copy of a folder while the queue is open: what is there after kill -9.
func killedAt(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(ramdir.New(t), "copy")
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

// usedFieldQueue returns the folder of a queue after kill -9. Its log has several segments
// with the values 30 to 199, and 0 to 29 were acknowledged.
func usedFieldQueue(t *testing.T) testQueue {
	t.Helper()
	q := fieldQueue(t, RefuseDamage)
	c, err := q.open(nil)
	if err != nil {
		t.Fatal(err)
	}
	fill(t, c, 0, 100)
	for range 30 {
		d, err := c.TryRecv()
		if err == nil {
			err = d.Ack()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	fill(t, c, 100, 200)
	q.Dir = killedAt(t, q.Dir)
	if err := c.Shutdown(); err != nil {
		t.Fatal(err)
	}
	if n := len(segments(q.Dir)); n < 4 {
		t.Fatalf("%d segments", n)
	}
	return q
}

// segments returns the paths of the segments of a queue.
func segments(dir string) []string {
	paths, _ := filepath.Glob(filepath.Join(dir, "0*.log"))
	return paths
}

// rewrite replaces the content of a file.
func rewrite(t *testing.T, path string, f func(b []byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, f(b), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// damaged opens a queue that was damaged. With RefuseDamage, OpenDurable must return an error
// that names path and leave all files; if path is empty, it must open. With SetDamageAside it
// must open. It returns what is there, and the report.
func damaged(t *testing.T, q testQueue, path string) ([]uint64, Repair) {
	t.Helper()
	q.Policy = RefuseDamage
	before := snapshot(t, q.Dir)
	c, err := q.open(nil)
	if (err == nil) != (path == "") || err != nil && !strings.Contains(err.Error(), path) {
		t.Fatalf("opened: %v, want an error about %q", err, path)
	}
	if err == nil {
		if err := c.Shutdown(); err != nil {
			t.Fatal(err)
		}
	} else if snapshot(t, q.Dir) != before {
		t.Error("the files were changed")
	}
	q.Policy = SetDamageAside
	if c, err = q.open(nil); err != nil {
		t.Fatalf("with SetDamageAside: %v", err)
	}
	defer func() {
		if err := c.Shutdown(); err != nil {
			t.Error(err)
		}
	}()
	found, _ := drain(t, c)
	if err := c.Send(context.Background(), nil); err != nil {
		t.Errorf("after the repair: %v", err)
	}
	return found, c.Repaired()
}

// snapshot returns the names and contents of all files in a folder, except locks.
func snapshot(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		fmt.Fprintf(&all, "%s %x\n", path, b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// expect compares the values that a queue delivered with those that it should.
func expect(t *testing.T, got, want []uint64) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("received %v, want %v", got, want)
	}
}

// usage returns the size of all files in a folder.
func usage(t *testing.T, dir string) (n int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			n += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
