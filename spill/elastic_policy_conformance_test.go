package spill

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/codec"
	"github.com/sluice-go/sluice/internal/locked"
	"github.com/sluice-go/sluice/internal/ramdir"
	"github.com/sluice-go/sluice/internal/suite"
	"github.com/sluice-go/sluice/sluicetest"
)

// forever is a MaxAge that no value reaches.
const forever = 1e6 * time.Hour

// A policyShape is a shape with a policy. If limit is not 0, it is the Limit, and the shape
// has no limit on disk.
type policyShape struct {
	shape
	limit    int
	overflow sluice.Overflow
	maxAge   time.Duration
}

func (s policyShape) String() string {
	name := fmt.Sprint(s.overflow, ", ", s.shape)
	if s.limit > 0 {
		name += fmt.Sprint(", limit ", s.limit)
	}
	if s.maxAge > 0 {
		name += fmt.Sprint(", for ", s.maxAge)
	}
	return name
}

func (s policyShape) capacity() int {
	if s.limit > 0 {
		return s.limit
	}
	return s.shape.capacity()
}

// openPolicy returns an Elastic of the shape: see open.
func openPolicy[T any](t *testing.T, disk files, s policyShape, size, payload int, as codec.Codec[T], hook func(T, sluice.Reason)) *Elastic[T] {
	t.Helper()
	record, held := header+payload, size
	if s.maxAge > 0 {
		record, held = record+timeCost, size+locked.DatedBytes
	}
	o := &ElasticOptions[T]{
		MemoryLimit: int64(s.memory * held), DiskLimit: int64(s.disk * record), Codec: as,
		Capacity: s.limit, Overflow: s.overflow, MaxAge: s.maxAge, OnUndelivered: hook,
	}
	if s.sized {
		o.Size = func(T) int { return held }
	}
	c := withFullLimit(t, disk, o)
	if s.block > 0 {
		c.backlog.blockSize, c.backlog.segmentSize = s.block, int64(4*s.block)
	}
	return c
}

// TestPolicyConformance: the conformance suite, for each policy, with a Limit in memory and one
// on disk, and with a DiskLimit.
func TestPolicyConformance(t *testing.T) {
	across := shape{memory: 4, block: 30}
	within := shape{memory: 1000}
	onDisk := shape{memory: 4, disk: 7, block: 30}
	sized := shape{memory: 4, block: 30, sized: true}
	shapes := []policyShape{
		{across, 11, sluice.DropOldest, 0},
		{sized, 11, sluice.Block, 0},
		{across, 11, sluice.Block, forever},
	}
	if suite.All() {
		shapes = append(shapes,
			policyShape{across, 11, sluice.Block, 0},
			policyShape{across, 11, sluice.Reject, 0},
			policyShape{across, 11, sluice.DropNewest, 0},
			policyShape{sized, 11, sluice.DropOldest, 0},
			policyShape{within, 5, sluice.Block, 0},
			policyShape{within, 5, sluice.Reject, 0},
			policyShape{within, 5, sluice.DropNewest, 0},
			policyShape{within, 1, sluice.DropOldest, 0},
			policyShape{onDisk, 0, sluice.Reject, 0},
			policyShape{onDisk, 0, sluice.DropNewest, 0},
			policyShape{onDisk, 0, sluice.DropOldest, 0},
			policyShape{sized, 11, sluice.DropOldest, forever},
			policyShape{within, 5, sluice.Reject, forever},
			policyShape{onDisk, 0, sluice.Block, forever},
			policyShape{onDisk, 0, sluice.DropNewest, forever},
			policyShape{across, 0, sluice.Block, forever},
		)
	}
	for _, s := range shapes {
		t.Run(s.String(), func(t *testing.T) {
			dir := directory(ramdir.New(t))
			sluicetest.Run(t, sluicetest.Kind{
				Capacity:  s.capacity(),
				Overflow:  s.overflow,
				MaxBypass: 32,
				Allocates: true,
				Variant:   true,
				Numbers: func(onDrop func(uint64)) sluicetest.Channel[uint64] {
					return capped(s, openPolicy(t, dir, s, 8, 8, codec.Codec[uint64](fixed{}), undelivered(onDrop)))
				},
				Pointers: pointers(func(as codec.Codec[[]byte]) sluicetest.Channel[[]byte] {
					s := s
					s.sized = true
					return capped(s, openPolicy(t, dir, s, 8, 8, as, nil))
				}),
			}.OverBytes(func(size int) sluicetest.Channel[[]byte] {
				return capped(s, openPolicy[[]byte](t, dir, s, inMemory(size), size, nil, nil))
			}))
		})
	}
}

// capped returns c, with the capacity of its shape if it has no Limit.
func capped[T any](s policyShape, c *Elastic[T]) sluicetest.Channel[T] {
	if s.limit > 0 {
		return c
	}
	return counted[T]{c, s.capacity()}
}
