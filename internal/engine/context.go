package engine

import "context"

// A Parent makes any context a safe parent for contexts of the standard library.
// Package context asks for Err only once Done is closed, and panics if it is nil
// then, which the Err method of a user's context may return.
type Parent struct{ context.Context }

// Err returns [ContextError]. It is valid once Done is closed.
func (p Parent) Err() error { return ContextError(p.Context) }
