package spill

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// names lists the files in a directory.
func names(t *testing.T, dir string) (all string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		all += e.Name() + " "
	}
	return all
}

// TestLeftovers: the temporary files of a process that died while it created or
// compacted a queue are removed when the queue is opened next; other files stay.
func TestLeftovers(t *testing.T) {
	leave := func(t *testing.T, dir string) {
		for _, name := range []string{"queue.db.new-17", "queue.db.new-4", "queue.db.newer", "mine"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("half"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	const want = "mine queue.db queue.db.newer queue.log "
	dir := t.TempDir()
	leave(t, dir)
	c, err := reopen(dir) // creates the queue
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Shutdown(); err != nil || names(t, dir) != want {
		t.Errorf("after OpenDurable: %v, %v", names(t, dir), err)
	}
	leave(t, dir)
	if err := os.WriteFile(filepath.Join(dir, reserveFile), nil, 0o600); err != nil { // of an earlier version
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, newLogFolder), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Compact(dir); err != nil || names(t, dir) != want {
		t.Errorf("after Compact: %v, %v", names(t, dir), err)
	}
}

// TestMadeMeanwhile: a process that creates a queue, and finds that another one was
// faster, leaves that queue unchanged and no file of its own; so does one that
// cannot link its file.
func TestMadeMeanwhile(t *testing.T) {
	dir := queueOf(t, 3)
	path := filepath.Join(dir, queueFile)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := (opener{noSync: true}).create(path, versionRecords, "another"); err != nil {
		t.Error(err)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the faster one's is not there any more: %v", err)
	}
	if err := (opener{noSync: true}).create(filepath.Join(dir, "no", "where"), versionLog, "another"); err == nil {
		t.Error("created where no directory is")
	}
	if _, err := (opener{noSync: true}).lock(filepath.Join(dir, "gone")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("opened a queue that was removed: %v", err)
	}
	if got := names(t, dir); got != "queue.db queue.log " {
		t.Errorf("left: %s", got)
	}
}

// TestMadeByMany: of several goroutines that create a queue in one directory at the
// same time, one opens it, and each of the others does when it is free. None removes
// the temporary file of another and makes it fail.
func TestMadeByMany(t *testing.T) {
	for range 5 {
		dir := t.TempDir()
		var made sync.WaitGroup
		var mu sync.Mutex
		opened := 0
		for range 6 {
			made.Go(func() {
				c, err := reopen(dir)
				if err == nil {
					mu.Lock()
					opened++
					mu.Unlock()
					err = c.Shutdown()
				}
				if err != nil && !strings.Contains(err.Error(), "in use") {
					t.Error(err)
				}
			})
		}
		made.Wait()
		if got := names(t, dir); opened == 0 || got != "queue.db queue.log " {
			t.Errorf("%d opened it, left: %s", opened, got)
		}
	}
}

// TestRefusedLeavesNothing: after an error of OpenDurable there is no new file.
func TestRefusedLeavesNothing(t *testing.T) {
	dir := oldQueueOf(t, 5)
	about(t, dir, func(tx *bolt.Tx) error { return tx.Bucket(metaBucket).Put(codecKey, []byte("other")) })
	if _, err := reopen(dir); err == nil || names(t, dir) != "queue.db " {
		t.Errorf("%v; left: %s", err, names(t, dir))
	}
}
