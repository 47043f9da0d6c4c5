//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package report

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Hold excludes other runs of the lab from the directory until release is
// called or the process ends: two runs would replace each other's files and
// disturb each other's figures. On a file system without locks it does nothing.
func Hold(dir string) (release func(), err error) {
	// The lock is on the directory itself, because a lock file would be left
	// behind.
	folder, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	release = func() { folder.Close() } // read only: no error to report
	if err := syscall.Flock(int(folder.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		release()
		return nil, fmt.Errorf("another run of %s is writing to %s; wait for it, or choose another directory with -o", Tool, dir)
	}
	return release, nil
}
