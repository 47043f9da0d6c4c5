package jetstream

import (
	"fmt"
	"hash/fnv"
	"math/bits"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// A layout is a record with its streams opened by this process. It does not change, except
// for the flags of its lanes. Invariants of its lanes:
//
//   - The lanes of one generation divide the hashes of keys into ranges of equal size.
//   - lane.parents are the lanes of earlier generations whose ranges overlap with the
//     lane's.
//   - A value is sent to a current lane only after this process has seen that its parents
//     are settled. So the values of a key are sent to one lane at a time.
//   - A value is received from a lane only after its parents are done. So the values of a
//     key that are not acknowledged are in one lane.
type layout struct {
	record   record
	revision uint64
	lanes    []*lane // current
	prior    []*lane // oldest first
	// replaced is closed when there is a newer layout.
	replaced chan struct{}
}

// all returns the lanes of all generations, oldest first.
func (l *layout) all() []*lane { return append(l.prior[:len(l.prior):len(l.prior)], l.lanes...) }

// A lane is one stream.
type lane struct {
	generation string
	index, of  int
	parents    []*lane

	core    *core // nil if the stream was deleted before this process opened it
	channel any   // *Channel[T]

	settle  sync.Once
	settled chan struct{} // closed once no Send to it returns nil
	gone    atomic.Bool   // drained, and its stream is deleted
}

// done reports whether every value of the lane was acknowledged, and none will be stored.
func (l *lane) done() bool { return l.gone.Load() || l.core.life.drained.Load() }

// setSettled closes settled.
func (l *lane) setSettled() { l.settle.Do(func() { close(l.settled) }) }

// setGone records that the record no longer has the lane: it was drained.
func (l *lane) setGone() {
	l.gone.Store(true)
	l.setSettled()
}

// open reports whether all parents are done.
func (l *lane) open() bool {
	for _, p := range l.parents {
		if !p.done() {
			return false
		}
	}
	return true
}

// overlaps reports whether a key may be in both lanes.
func (l *lane) overlaps(o *lane) bool {
	return l.index*o.of < (o.index+1)*l.of && o.index*l.of < (l.index+1)*o.of
}

// laneOf returns the index of the lane of a hash, of n: lane i has the hashes from
// i/n to (i+1)/n of all.
func laneOf(hash uint64, n int) int {
	i, _ := bits.Mul64(hash, uint64(n))
	return int(i)
}

// hashKey returns the hash of a key. It must stay as it is for ever: processes of
// different versions use one channel. FNV-1a leaves its high bits, which choose the lane,
// too similar for similar keys, so the finalizer of MurmurHash3 mixes them.
func hashKey(key string) uint64 {
	f := fnv.New64a()
	_, _ = f.Write([]byte(key)) // it never fails
	h := f.Sum64()
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// lanes returns the config of the streams of a generation.
func (c config) lanes(g generation) []config {
	all := make([]config, g.Streams)
	for i := range all {
		all[i] = c
		all[i].name = c.name + "-" + strings.ToLower(g.ID) + "-" + strconv.Itoa(i)
		all[i].laned = true
		all[i].deadName = c.name + deadSuffix
	}
	return all
}

const (
	maxStreams = 1024
	// maxPrior is the most generations that wait to be drained.
	maxPrior = 4
	// maxKeyedName leaves room for the names of the streams.
	maxKeyedName = 160
)

// checkStreams rejects an invalid number of streams.
func checkStreams(function string, n int) error {
	if n < 1 || n > maxStreams {
		return fmt.Errorf("jetstream: %s: %d streams (want 1 to %d)", function, n, maxStreams)
	}
	return nil
}
