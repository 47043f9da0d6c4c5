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
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err := errors.Join(err, os.WriteFile(r.path, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := r.fill(full); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("hold: %v", err)
	}
	if _, err := os.Lstat(r.path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("left: %v", err)
	}
}
