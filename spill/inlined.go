package spill

import _ "sync/atomic"

var _ = inlined

// inlined is never called. It has the same purpose as the function inlined of package
// sluice: the compiler instantiates the channel and its engine in this package, so that
// programs that import spill, but not sluice, get their inlined methods.
func inlined() { _, _ = OpenElastic[[]byte]("", nil) }
