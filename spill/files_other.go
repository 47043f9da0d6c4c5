//go:build !linux

package spill

import (
	"errors"
	"os"
)

// unnamed creates a file without a name in dir, where that is possible.
func unnamed(string) (*os.File, error) { return nil, errors.ErrUnsupported }
