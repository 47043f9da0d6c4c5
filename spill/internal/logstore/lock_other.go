//go:build !unix && !windows

package logstore

import (
	"errors"
	"os"
)

// lockFileOf locks f, where that is possible.
func lockFileOf(*os.File) error { return errors.ErrUnsupported }
