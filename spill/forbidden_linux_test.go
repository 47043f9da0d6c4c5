package spill

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// unprivileged runs f in a thread that has only the rights of a file's mode, whoever runs the
// test.
func unprivileged(t *testing.T, f func()) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and the thread ends with the goroutine
		if os.Geteuid() == 0 {
			if err := syscall.Setfsuid(65534); err != nil {
				done <- err
				return
			}
		}
		f()
		done <- nil
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// openToAll lets all users use the files of a queue, except one, or one that is not there
// because its folder must not be written to.
func openToAll(dir, except string) error {
	_, missing := os.Stat(except)
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || path == except:
			return err
		case missing != nil && path == filepath.Dir(except):
			return nil
		case d.IsDir():
			return os.Chmod(path, 0o777)
		}
		return os.Chmod(path, 0o666)
	})
}

// TestForbidden: a file or a folder that the process must not read or write is an error of
// OpenDurable that says so, not damage, and not an error of each Send.
func TestForbidden(t *testing.T) {
	for what, forbid := range map[string]func(dir string) (path string, err error){
		"unreadable file": func(dir string) (string, error) {
			path := filepath.Join(dir, "checkpoint")
			return path, os.Chmod(path, 0)
		},
		"read-only file": func(dir string) (string, error) {
			path := filepath.Join(dir, "checkpoint")
			return path, os.Chmod(path, 0o444)
		},
		"unreadable segment": func(dir string) (string, error) {
			path := lastSegment(dir)
			return path, os.Chmod(path, 0)
		},
		"read-only folder": func(dir string) (string, error) {
			return filepath.Join(dir, "acks.new"), os.Chmod(dir, 0o555)
		},
	} {
		t.Run(what, func(t *testing.T) {
			dir := queueOf(t, 1)
			path, err := forbid(dir)
			if err := errors.Join(err, os.Chmod(filepath.Dir(dir), 0o755)); err != nil {
				t.Fatal(err)
			}
			if os.Geteuid() == 0 { // the files' owner is another user then
				if err := openToAll(dir, path); err != nil {
					t.Fatal(err)
				}
			}
			unprivileged(t, func() { _, err = OpenDurable[[]byte](dir, nil) })
			if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "damaged") {
				t.Errorf("OpenDurable: %v, want a refused permission of %s", err, path)
			}
			if err := os.Chmod(dir, 0o700); err != nil {
				t.Fatal(err)
			}
		})
	}
}
