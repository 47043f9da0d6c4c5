//go:build !race

package sluice_test

// raceEnabled tells whether the race detector is on: it allocates by itself.
const raceEnabled = false
