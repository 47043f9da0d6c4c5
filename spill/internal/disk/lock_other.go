//go:build !unix && !windows

package disk

import (
	"errors"
	"os"
)

// lockFileOf locks f, where that is possible.
func lockFileOf(*os.File) error { return errors.ErrUnsupported }
