package spill

import (
	"os"

	"golang.org/x/sys/unix"
)

// unnamed creates a file without a name in dir.
func unnamed(dir string) (*os.File, error) {
	return os.OpenFile(dir, os.O_RDWR|unix.O_TMPFILE, 0o600)
}
