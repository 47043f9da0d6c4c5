//go:build unix

package paced

import (
	"syscall"
	"time"
)

// CPU returns the CPU time that this process has used until now, in user and system mode.
func CPU() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
