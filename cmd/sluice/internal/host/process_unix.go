//go:build unix

package host

import "syscall"

// process returns the CPU time of this process in seconds, and the number of
// preemptions of its threads.
func process() (seconds, switches *float64) {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return nil, nil
	}
	cpu := float64(used.Utime.Nano()+used.Stime.Nano()) / 1e9
	n := float64(used.Nivcsw)
	return &cpu, &n
}
