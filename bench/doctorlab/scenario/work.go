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

// results is where sink would put what grind returned, were it ever 0: the
// compiler cannot know that, and leaves the work in.
var results atomic.Uint64

func sink(x uint64) {
	if x == 0 {
		results.Add(1)
	}
}

// forever starts n goroutines of f, each with its number.
func forever(n int, f func(i int)) {
	for i := range n {
		go f(i)
	}
}
