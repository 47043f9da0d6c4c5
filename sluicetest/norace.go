//go:build !race

package sluicetest

// raceEnabled tells whether the race detector is on: it allocates by itself.
const raceEnabled = false
