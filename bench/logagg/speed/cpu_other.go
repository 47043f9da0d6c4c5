//go:build !unix

package speed

import "time"

// cpuTime is unsupported on this system.
func cpuTime() time.Duration { return 0 }
