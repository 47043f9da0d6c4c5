//go:build !unix

package jetstream

// serve is for roles that tests have only where processes can be stopped.
func serve() bool { return false }
