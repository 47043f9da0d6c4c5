//go:build !unix

package jetstream

// serve reports false: tests use other roles only where processes have signals.
func serve() bool { return false }
