//go:build !race && !sluicecheck

package sluice

import (
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/shard"
)

// keepPromises checks nothing in this build: see promise_on.go.
func keepPromises[T any](config engine.Config[T], build func(engine.Config[T]) engine.Engine[T]) engine.Engine[T] {
	return build(config)
}

func keepLanePromise[T any](lane *shard.Handle[T]) engine.Sender[T] { return lane.Sender() }
