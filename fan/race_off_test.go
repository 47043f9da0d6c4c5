//go:build !race

package fan_test

const raceEnabled = false
