//go:build !unix

package host

// process returns nil: the figures are unknown on this system.
func process() (seconds, switches *float64) { return nil, nil }
