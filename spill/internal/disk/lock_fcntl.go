//go:build solaris || aix

package disk

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lockFileOf locks f until it is closed, or until the process ends. These systems have no
// flock. The lock does not keep out the same process.
func lockFileOf(f *os.File) error {
	lock := unix.Flock_t{Type: unix.F_WRLCK}
	err := unix.FcntlFlock(f.Fd(), unix.F_SETLK, &lock)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return ErrLocked
	}
	return err
}
