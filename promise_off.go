//go:build !race && !sluicecheck

package sluice

import "github.com/sluice-go/sluice/internal/engine"

// keepPromises does nothing in this build: see promise_on.go.
func keepPromises[T any](e engine.Engine[T], _ engine.Config[T]) engine.Engine[T] { return e }
