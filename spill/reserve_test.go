package spill

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// TestReserve: an incomplete reserve is completed, and a complete one is not
// rewritten, because on a full disk that would fail. It is released once.
func TestReserve(t *testing.T) {
	r := reserve{path: filepath.Join(t.TempDir(), reserveFile)}
	if r.release() {
		t.Error("given up before it was made")
	}
	for what, n := range map[string]int{"nothing": 0, "half": reserveSize / 2, "more": 2 * reserveSize, "one": reserveSize} {
		there := bytes.Repeat([]byte{7}, n)
		if err := os.WriteFile(r.path, there, 0o600); err != nil {
			t.Fatal(err)
		}
		err := r.create()
		if got, _ := os.ReadFile(r.path); err != nil || len(got) != reserveSize || n == reserveSize && !bytes.Equal(got, there) {
			t.Errorf("%s was there, and then %d bytes: %v", what, len(got), err)
		}
		if !r.release() || r.release() {
			t.Errorf("%s: the reserve was not released exactly once", what)
		}
	}
}

// TestReserveIsForeign: a file that others know under another name, or by a link, is not written to.
func TestReserveIsForeign(t *testing.T) {
	for what, link := range map[string]func(old, new string) error{"symbolic link": os.Symlink, "hard link": os.Link} {
		dir := queueOf(t, 1)
		foreign, path := filepath.Join(t.TempDir(), "foreign"), filepath.Join(dir, reserveFile)
		if err := errors.Join(os.WriteFile(foreign, []byte("precious"), 0o600), link(foreign, path)); err != nil {
			t.Fatal(err)
		}
		c, err := OpenDurable[[]byte](dir, nil)
		if what == "hard link" {
			if err != nil || c.Shutdown() != nil {
				t.Errorf("%s: OpenDurable: %v", what, err)
			}
		} else if !errors.Is(err, errNotRegular) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: OpenDurable: %v", what, err)
		}
		if got, err := os.ReadFile(foreign); err != nil || string(got) != "precious" {
			t.Errorf("%s: the foreign file: %q, %v", what, got, err)
		}
	}
}

// TestFullDisk: on a full disk sends fail, but acknowledgements succeed, thanks to
// the reserve, which is created again afterwards.
func TestFullDisk(t *testing.T) {
	dir := queueOf(t, 5)
	path := filepath.Join(dir, reserveFile)
	c, err := reopen(dir)
	if err != nil {
		t.Fatal(err)
	}
	s := c.store.(*boltStore)
	full := errors.New("no space left on device")
	s.update = func(f func(*bolt.Tx) error) error {
		if _, err := os.Stat(path); err == nil {
			return full
		}
		return s.db.Update(f)
	}
	if err := c.Send(context.Background(), nil); err != full || c.Len() != 5 {
		t.Errorf("Send: %v", err)
	}
	if err := mustRecv(t, c, 0).Ack(); err != nil {
		t.Errorf("Ack: %v", err)
	}
	s.update = s.db.Update
	if err := os.Mkdir(path, 0o700); err != nil { // the reserve cannot be created
		t.Fatal(err)
	}
	if err := c.Send(context.Background(), nil); err == nil || !strings.Contains(err.Error(), reserveFile) {
		t.Errorf("Send without a reserve: %v", err)
	}
	if err := errors.Join(mustRecv(t, c, 1).Ack(), os.Remove(path)); err != nil {
		t.Errorf("Ack without a reserve: %v", err)
	}
	if err := errors.Join(c.Send(context.Background(), numbered(5)), mustRecv(t, c, 2).Ack()); err != nil {
		t.Errorf("there is room again: %v", err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() != reserveSize {
		t.Errorf("the reserve was not made again: %v", err)
	}
	if err := c.Shutdown(); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("left in the directory: %v", left)
	}
}

// TestReserveOfAnother: a Durable whose file was replaced does not touch the reserve
// of the new queue.
func TestReserveOfAnother(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "queue")
	c, err := OpenDurable[[]byte](dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	again, err := OpenDurable[[]byte](dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	before := names(t, dir)
	if err := c.Shutdown(); err != nil || names(t, dir) != before {
		t.Errorf("Shutdown of the first: %v; of %q there is %q", err, before, names(t, dir))
	}
	if err := again.Shutdown(); err != nil {
		t.Fatal(err)
	}
}
