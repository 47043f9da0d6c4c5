//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package report

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Hold keeps other runs of the lab out of the directory until release is called or
// the process ends, however it ends: two at once would replace each other's files,
// and disturb each other's figures. Where the file system knows no locks it does
// nothing.
func Hold(dir string) (release func(), err error) {
	// The lock is on the directory itself: a file would be left behind.
	folder, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	release = func() { folder.Close() } // nothing was written to it
	if err := syscall.Flock(int(folder.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		release()
		return nil, fmt.Errorf("another run of %s is writing to %s; wait for it, or choose another directory by -o", Tool, dir)
	}
	return release, nil
}
