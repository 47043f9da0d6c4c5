//go:build unix

package speed

import (
	"syscall"
	"time"
)

// cpuTime returns the CPU time that this process has used. Where it cannot be known it
// is 0, and so is the figure.
func cpuTime() time.Duration {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
