// Package ramdir has folders in memory, for tests that make thousands of files and are not about the
// disk. On ext4 each new file costs a search for an inode that was not freed within the last five
// seconds: for such a suite, most of its time.
package ramdir

import (
	"os"
	"testing"
)

// least is how many bytes must be free in a file system in memory.
const least = 1 << 30

// New returns a folder that is removed when the test ends: in memory if the system has a place for
// that with a gigabyte free, and otherwise t.TempDir.
func New(t testing.TB) string {
	t.Helper()
	if free(place) < least {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp(place, "sluice-test-")
	if err != nil { // it may be read-only
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("ramdir: %v", err)
		}
	})
	return dir
}
