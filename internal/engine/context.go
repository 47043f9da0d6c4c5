package engine

import "context"

// A Parent makes any context a safe parent for contexts of the standard library.
// Package context asks for Err only once Done is closed, and ends the program if Err is
// nil then, as that of a user's context may be.
type Parent struct{ context.Context }

// Err is [ContextError]: it is meant for a context whose Done is closed.
func (p Parent) Err() error { return ContextError(p.Context) }
