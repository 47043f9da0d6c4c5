//go:build race

package sluicetest

const raceEnabled = true
