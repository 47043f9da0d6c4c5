package disk

import (
	"errors"
	"math"
	"os"

	"golang.org/x/sys/windows"
)

// lockFileOf locks f until it is closed, or until the process ends. The locked byte is
// beyond the end of the file.
func lockFileOf(f *os.File) error {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	at := &windows.Overlapped{Offset: math.MaxUint32, OffsetHigh: math.MaxUint32}
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrLocked
	}
	return err
}
