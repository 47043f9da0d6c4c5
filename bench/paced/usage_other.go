//go:build !unix

package paced

import "time"

// CPU is unsupported on this system: it returns 0.
func CPU() time.Duration { return 0 }
