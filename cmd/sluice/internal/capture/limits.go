package capture

import (
	"errors"
	"fmt"
)

// The limits of memory for a Capture, for any content of the files: maxBuilt bytes for
// everything that is kept, and for the profile that is being decoded twice maxPacked
// while it is read; together 256 MiB. Profiles of a busy service take a few megabytes,
// and a dump of 100,000 goroutines takes 60.
const (
	maxBuilt   = 192 << 20 // bytes in memory, as reckoned when they are allocated
	maxPacked  = 32 << 20  // bytes of one profile in pprof format, unpacked
	maxJSON    = 16 << 20  // bytes of a header or a map
	maxText    = 256 << 20 // bytes of a text, of which one line at a time is in memory
	maxLine    = 64 << 10  // bytes of a line; a longer one is read as several
	maxFrames  = 1024      // of a stack: the runtime records 128, and inlined calls
	maxCores   = 1 << 14   // more than any machine has
	maxFiles   = 1000      // in a folder: a capture has 15
	maxMissing = 50        // parts that are named
)

// Sizes of what is built, in bytes.
const (
	frameSize     = 40
	sliceSize     = 24
	sampleSize    = 16 + sliceSize
	goroutineSize = 120
	dumpSize      = 2048 // with its goroutines by number
	entrySize     = 128  // of a map, with its growth
	grown         = 3    // times as much is allocated by a slice that grows
)

var (
	errCost      = fmt.Errorf("would take more than its share of %d MiB, the memory limit of a capture", maxBuilt>>20)
	errTruncated = errors.New("truncated file: fetch it again, and wait until the transfer ends")
)

// A budget is the bytes that may still be allocated; below zero, nothing more is.
type budget struct{ left int64 }

// take takes n times size bytes that were allocated, or are about to be.
func (b *budget) take(n, size int) { b.left -= int64(n) * int64(size) }
