package jetstream

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/bits"
	"runtime"
	"slices"
	"strconv"
	"sync"

	"github.com/sluice-go/sluice/inspect"
)

// OpenKeyed opens a channel over a number of streams, 1 to 1024, chosen by a key of each
// value: for more values than one stream can take, or for several receivers that keep the
// order of each key. key returns the key of a value; it must be the same function in all
// processes, safe for concurrent use, and depend on the value only. The rest is as for Open.
//
// Order: the values of one key are in one stream, so they have the order of a Channel of one
// stream; there is no order across keys. With [Options].Ordered, each stream has one value in
// flight, over all processes: the values of a key are processed in order while processes come
// and go, and as many values are in flight as there are streams.
//
// The number of streams is fixed: opening a channel with another number fails. To change it,
// open a channel of another name, send to that, and close the old one; receivers of a key
// that drain the old channel first keep its order.
//
// The guarantees of a Channel hold for each stream. Capacity, MaxBytes, Prefetch and Ordered
// are per stream; Cap, Len and Stats have the sums, and StreamStats each stream. A stream
// without a leader delays the values of its keys only. Streams take turns at receivers.
// Close is not atomic: once it has closed one stream, each process that learns of it
// closes the others, even if the process that called Close has died. All streams share the
// dead letters.
//
// The names of the streams are the Name of o, which has at most 195 bytes, with a suffix: no
// other channel should have a name that begins with it and '-'.
func OpenKeyed[T any](ctx context.Context, streams int, key func(T) string, o *Options[T]) (*Channel[T], error) {
	if key == nil {
		panic("jetstream: OpenKeyed: nil key")
	}
	config, values, err := o.resolve()
	switch {
	case err != nil:
		return nil, err
	case streams < 1 || streams > maxStreams:
		return nil, fmt.Errorf("jetstream: OpenKeyed: %d streams (want 1 to %d)", streams, maxStreams)
	case len(config.name) > maxKeyedName:
		return nil, fmt.Errorf("jetstream: OpenKeyed: Name has %d bytes (want at most %d)", len(config.name), maxKeyedName)
	}
	opened, err := openLanes(ctx, config, streams)
	if err != nil {
		return nil, err
	}
	c := &Channel[T]{shared: shared{}, core: opened.all[0], lanes: opened, codec: values, key: key}
	for _, lane := range opened.all {
		runtime.AddCleanup(c, abandon, lane)
	}
	inspect.Register(config.name, "JetStream by key", c)
	return c, nil
}

const (
	maxStreams = 1024
	// maxKeyedName leaves room for the number of a stream, up to "-1023".
	maxKeyedName = maxName - 5
)

// laneOf returns the index of the stream of a key, of n. It must stay as it is for ever:
// processes of different versions use one channel. Stream i has the hashes from i/n to
// (i+1)/n of all. FNV-1a leaves its high bits, which choose the stream, too similar for
// similar keys, so the finalizer of MurmurHash3 mixes them.
func laneOf(key string, n int) int {
	f := fnv.New64a()
	_, _ = f.Write([]byte(key)) // it never fails
	h := f.Sum64()
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	i, _ := bits.Mul64(h^h>>33, uint64(n))
	return int(i)
}

// lane returns the index of the stream of v.
func (c *Channel[T]) lane(v T) int {
	if c.key == nil {
		return 0
	}
	return laneOf(c.key(v), len(c.lanes.all))
}

// streamConfigs returns the config of each stream of a channel by key.
func (c config) streamConfigs(n int) []config {
	all := make([]config, n)
	for i := range all {
		all[i] = c
		all[i].name = c.name + "-" + strconv.Itoa(i)
		all[i].streams, all[i].deadName = n, c.name+deadSuffix
	}
	return all
}

// A BatchError is returned by [Channel.SendBatch] of a channel by key if values after the
// first one that is not known to be stored are stored, as they have other keys, or if there
// are several causes. [errors.Is] and [errors.As] find the causes.
type BatchError struct {
	// Left are the indices, in ascending order, of the values that are not known to be
	// stored. Those of one key are the last ones of that key: sending them again, in order,
	// keeps the order of each key.
	Left   []int
	causes []error
}

func (e *BatchError) Error() string {
	return fmt.Sprintf("jetstream: %d values are not known to be stored: %v", len(e.Left), errors.Join(e.causes...))
}

// Unwrap returns the causes, one for each stream that failed.
func (e *BatchError) Unwrap() []error { return e.causes }

// A share is the part of a batch that goes to one stream.
type share[T any] struct {
	values  []T
	indices []int
	sent    int
	err     error
}

// sendShares sends a batch: the values of each stream in order, the streams in parallel.
func (c *Channel[T]) sendShares(ctx context.Context, vs []T) (int, error) {
	shares := map[int]*share[T]{}
	for i, v := range vs {
		lane := c.lane(v)
		if shares[lane] == nil {
			shares[lane] = new(share[T])
		}
		shares[lane].values, shares[lane].indices = append(shares[lane].values, v), append(shares[lane].indices, i)
	}
	var group sync.WaitGroup
	for lane, s := range shares {
		group.Go(func() { s.sent, s.err = c.sendTo(ctx, c.lanes.all[lane], s.values) })
	}
	group.Wait()
	e := &BatchError{}
	for _, s := range shares {
		if s.err != nil {
			e.Left = append(e.Left, s.indices[s.sent:]...)
			e.causes = append(e.causes, s.err)
		}
	}
	return e.result(len(vs))
}

// result returns how many values of a batch are known to be stored before the first that is
// not, and an error: the only cause if none after that is stored.
func (e *BatchError) result(all int) (n int, err error) {
	if e.causes == nil {
		return all, nil
	}
	slices.Sort(e.Left)
	if n = e.Left[0]; len(e.causes) == 1 && len(e.Left) == all-n {
		return n, e.causes[0]
	}
	return n, e
}
