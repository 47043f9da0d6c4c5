package spill

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestReserveFails: if there is no room for the reserve on disk, no part of it is
// left.
func TestReserveFails(t *testing.T) {
	r := reserve{path: filepath.Join(t.TempDir(), reserveFile)}
	if err := os.Symlink("/dev/full", r.path); err != nil {
		t.Fatal(err)
	}
	if err := r.create(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("hold: %v", err)
	}
	if _, err := os.Lstat(r.path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("left: %v", err)
	}
}
