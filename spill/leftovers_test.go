package spill

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sluice-go/sluice/internal/ramdir"
	"github.com/sluice-go/sluice/internal/suite"
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

// emptyQueue has the names of the files of an empty queue that was shut down.
const emptyQueue = "0000000000000001.log checkpoint log.lock synced "

// TestLeftovers: the temporary files of a process that died are removed when the queue is opened
// next; other files stay.
func TestLeftovers(t *testing.T) {
	dir := t.TempDir()
	for range 2 { // the first one creates the queue
		for _, name := range []string{"acks.new", "checkpoint.new", "repair.new", "zz-mine"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("half"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		c, err := reopen(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Shutdown(); err != nil || names(t, dir) != emptyQueue+"zz-mine " {
			t.Errorf("after OpenDurable: %v, %v", names(t, dir), err)
		}
	}
}

// TestMadeByMany: of several goroutines that create a queue in one directory at the
// same time, one opens it, and each of the others does when it is free.
func TestMadeByMany(t *testing.T) {
	for range suite.Rounds(2, 5) {
		dir := ramdir.New(t)
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
		if got := names(t, dir); opened == 0 || got != emptyQueue {
			t.Errorf("%d opened it, left: %s", opened, got)
		}
	}
}

// TestRefusedLeavesNothing: after an error of OpenDurable there is no new file.
func TestRefusedLeavesNothing(t *testing.T) {
	dir := queueOf(t, 5)
	before := filesIn(t, dir)
	if _, err := OpenDurable[uint64](dir, nil); err == nil || !maps.Equal(filesIn(t, dir), before) {
		t.Errorf("%v; left: %s", err, names(t, dir))
	}
}
