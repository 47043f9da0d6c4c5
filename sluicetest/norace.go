//go:build !race

package sluicetest

// raceEnabled reports whether the race detector is on; it allocates.
const raceEnabled = false
