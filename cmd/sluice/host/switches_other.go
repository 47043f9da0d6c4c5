//go:build !unix

package host

// switches is not known here.
func switches() *float64 { return nil }
