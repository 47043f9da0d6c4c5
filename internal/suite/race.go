//go:build race

package suite

// Race reports whether the race detector is on. It allocates, and is slow.
const Race = true
