//go:build race

package sluicetest_test

const raceEnabled = true
