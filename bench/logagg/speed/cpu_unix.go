//go:build unix

package speed

import (
	"syscall"
	"time"
)

// cpuTime returns the CPU time used by this process, or 0 if it is unknown.
func cpuTime() time.Duration {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
