//go:build unix

package host

import "syscall"

// switches returns how often the system took a CPU from a thread of this process.
func switches() *float64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return nil
	}
	n := float64(used.Nivcsw)
	return &n
}
