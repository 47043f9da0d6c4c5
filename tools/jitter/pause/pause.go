// Package jitter is what command jitter puts before statements that publish something.
package jitter

import (
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"syscall"
)

// every is 0 in processes that jitter has not started.
var every = func() uint32 {
	n, _ := strconv.ParseUint(os.Getenv("JITTER"), 10, 32)
	return uint32(n)
}()

// Pause sleeps up to 5 ms in one of every calls, and lets others run up to 20 times in 30 of them. It synchronizes with
// nothing, so that the race detector sees what it sees without it.
func Pause() {
	if every == 0 {
		return
	}
	switch x := rand.Uint32N(every); {
	case x == 0:
		sleep := syscall.NsecToTimespec(rand.Int64N(5_000_000))
		_ = syscall.Nanosleep(&sleep, nil) // bubbles of synctest do not see it
	case x <= 30:
		for range rand.Uint32N(20) {
			runtime.Gosched()
		}
	}
}
