//go:build !race && !sluicecheck

package segqueue

const asserting = false
