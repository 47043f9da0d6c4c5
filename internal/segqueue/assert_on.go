//go:build race || sluicecheck

package segqueue

// asserting makes the engine check its protocol, in programs built with -race or
// -tags sluicecheck.
const asserting = true
