package spill

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// largeOldQueue is oldQueueOf, with records that take several steps to convert.
func largeOldQueue(t *testing.T) (dir string, want [][]byte) {
	dir = oldQueueOf(t, 100)
	for i := range 100 {
		want = append(want, numbered(i))
	}
	about(t, dir, func(tx *bolt.Tx) error {
		for i := range byte(5) {
			want = append(want, bytes.Repeat([]byte{i}, 3<<20/2))
			if err := tx.Bucket(recordsBucket).Put([]byte{6: 1, 7: i}, addChecksum(want[100+int(i)])); err != nil {
				return err
			}
		}
		return nil
	})
	return dir, want
}

// holds receives everything, and leaves it there.
func holds(c *Durable[[]byte], want [][]byte) error {
	for i, v := range want {
		if d, err := c.TryRecv(); err != nil || !bytes.Equal(d.Value, v) {
			return fmt.Errorf("record %d: %v", i, err)
		}
	}
	if c.Len() != 0 {
		return fmt.Errorf("%d values too many", c.Len())
	}
	return nil
}

func copyFolder(t *testing.T, from string) (to string) {
	t.Helper()
	to = t.TempDir()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return to
}

// TestConvert: a queue of version 1 is converted when it is opened. A process that dies
// between two steps leaves a queue that has all records once.
func TestConvert(t *testing.T) {
	dir, want := largeOldQueue(t)
	moments, steps := []string{copyFolder(t, dir)}, ""
	watched := opener{noSync: true, step: func(name string) error {
		moments, steps = append(moments, copyFolder(t, dir)), steps+name+" "
		return nil
	}}
	c, err := reopenWith(watched, dir)
	if err != nil {
		t.Fatal(err)
	}
	if steps != "records records log version rename " {
		t.Errorf("steps: %s", steps)
	}
	moments = append(moments, copyFolder(t, dir)) // after kill -9
	if err := errors.Join(holds(c, want), c.Shutdown()); err != nil {
		t.Error(err)
	}
	for i, dir := range append(moments, dir) {
		for range 2 {
			c, err := reopen(dir)
			if err != nil {
				t.Fatalf("moment %d: %v", i, err)
			}
			if err := errors.Join(holds(c, want), c.Shutdown()); err != nil {
				t.Errorf("moment %d: %v", i, err)
			}
		}
		info, err := os.Stat(filepath.Join(dir, queueFile))
		if err != nil || info.Size() >= largeFile || names(t, dir) != "queue.db queue.log " {
			t.Errorf("moment %d: %v; the folder has %s", i, err, names(t, dir))
		}
	}
}

// TestConvertFails: a conversion that fails leaves the file as it was, and nothing beside it.
func TestConvertFails(t *testing.T) {
	dir, want := largeOldQueue(t)
	path := filepath.Join(dir, queueFile)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	full := errors.New("no space left on device")
	if _, err := reopenWith(opener{noSync: true, step: func(string) error { return full }}, dir); !errors.Is(err, full) || !strings.Contains(err.Error(), path) {
		t.Errorf("%v", err)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) || names(t, dir) != "queue.db " {
		t.Errorf("changed: %v; left: %s", err, names(t, dir))
	}
	old, after, err := Compact(dir)
	if err != nil || old != int64(len(before)) || after == 0 || after >= old {
		t.Errorf("Compact: %d to %d bytes, %v", old, after, err)
	}
	c, err := reopen(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(holds(c, want), c.Shutdown()); err != nil {
		t.Error(err)
	}
}

// TestConvertDamaged: a damaged record of version 1 is an error, or is left out and reported;
// then the file is kept.
func TestConvertDamaged(t *testing.T) {
	dir := oldQueueOf(t, 60)
	path := filepath.Join(dir, queueFile)
	damage(t, path, func(b []byte) []byte {
		b[bytes.LastIndex(b, numbered(43))+50] ^= 4
		return b
	})
	before, _ := os.ReadFile(path)
	_, err := reopen(dir)
	if after, _ := os.ReadFile(path); err == nil || !strings.Contains(err.Error(), path+": damaged: record 52") || !bytes.Equal(before, after) {
		t.Fatalf("not refused: %v", err)
	}
	c, err := reopenWith(opener{noSync: true, policy: SetDamageAside}, dir)
	if err != nil {
		t.Fatal(err)
	}
	kept := path + damagedSuffix
	if r := c.Repaired(); r.Err == nil || r.Lost != 1 || r.First != 52 || r.Last != 52 || fmt.Sprint(r.Files) != fmt.Sprint([]string{kept}) {
		t.Errorf("%+v", r)
	}
	if w := c.Stats().Disk.Warning; !strings.HasPrefix(w, "1 damaged record was lost (number 52)") {
		t.Errorf("warning: %s", w)
	}
	var want [][]byte
	for i := range 60 {
		if i != 43 {
			want = append(want, numbered(i))
		}
	}
	if err := errors.Join(holds(c, want), c.Shutdown()); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(kept); err != nil || !bytes.Contains(b, numbered(42)) || names(t, dir) != "queue.db queue.db.damaged queue.log " {
		t.Errorf("%v; the folder has %s", err, names(t, dir))
	}
}

// TestKeepsOut: processes of an earlier version and of this one cannot use a queue
// that is open; afterwards an earlier one finds a version that is too high. A queue.db that
// somebody has removed is made again.
func TestKeepsOut(t *testing.T) {
	dir := queueOf(t, 3)
	about(t, dir, func(tx *bolt.Tx) error {
		if v := tx.Bucket(metaBucket).Get(versionKey); string(v) != versionLog {
			t.Errorf("version %q", v)
		}
		return nil
	})
	c, err := reopen(dir)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := reopen(dir); err == nil || !strings.Contains(err.Error(), "in use by another") || !strings.Contains(err.Error(), dir) {
			t.Errorf("opened twice: %v", err)
		}
		_ = os.Remove(filepath.Join(dir, queueFile)) // the log has a lock, too
	}
	if err := errors.Join(c.Send(context.Background(), numbered(3)), c.Shutdown()); err != nil {
		t.Fatal(err)
	}
	// An earlier version may have created an empty queue instead.
	for _, old := range []string{"", copyFolder(t, oldQueueOf(t, 0))} {
		if old != "" {
			if err := os.Rename(filepath.Join(old, queueFile), filepath.Join(dir, queueFile)); err != nil {
				t.Fatal(err)
			}
		}
		if c, err = reopen(dir); err != nil {
			t.Fatal(err)
		}
		for i := range 4 {
			mustRecv(t, c, i)
		}
		if err := c.Shutdown(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(filepath.Join(oldQueueOf(t, 1), queueFile), filepath.Join(dir, queueFile)); err != nil {
		t.Fatal(err)
	}
	if _, err := reopen(dir); err == nil || !strings.Contains(err.Error(), "there are records in this file, and in") {
		t.Errorf("with records in both: %v", err)
	}
}
