package pipeline

import (
	"slices"
	"sync"
	"time"
)

// remembered is the number of delays kept: enough for a 99th percentile, few
// enough to represent the last moments.
const remembered = 4096

// delays are the latest ones, in nanoseconds.
type delays struct {
	mu  sync.Mutex
	ns  [remembered]int64
	met int // total number of delays added
}

func (d *delays) add(ns int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ns[d.met%remembered] = ns
	d.met++
}

// quantile returns 0 as long as there are no delays.
func (d *delays) quantile(q float64) time.Duration {
	d.mu.Lock()
	sorted := slices.Clone(d.ns[:min(d.met, remembered)])
	d.mu.Unlock()
	if len(sorted) == 0 {
		return 0
	}
	slices.Sort(sorted)
	at := int(q * float64(len(sorted)))
	return time.Duration(sorted[min(max(at, 0), len(sorted)-1)])
}
