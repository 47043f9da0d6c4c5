package main

import "sync/atomic"

// grind is work: n dependent steps of about two nanoseconds each. It never
// returns 0.
func grind(seed uint64, n int) uint64 {
	x := seed | 1
	for range n {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

// results is where sink would store a 0 from grind. The compiler cannot know
// that grind never returns 0, and keeps the work.
var results atomic.Uint64

func sink(x uint64) {
	if x == 0 {
		results.Add(1)
	}
}

// forever starts n goroutines of f, each with its index.
func forever(n int, f func(i int)) {
	for i := range n {
		go f(i)
	}
}
