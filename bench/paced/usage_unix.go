//go:build unix

package paced

import (
	"syscall"
	"time"
)

// Used returns what this process has used until now.
func Used() Usage {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return Usage{}
	}
	return Usage{
		CPU:         time.Duration(u.Utime.Nano() + u.Stime.Nano()),
		Voluntary:   int64(u.Nvcsw),
		Involuntary: int64(u.Nivcsw),
	}
}
