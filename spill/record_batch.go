package spill

import (
	"encoding/binary"
	"fmt"
	"math"
	"sync"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/codec"
	"github.com/sluice-go/sluice/internal/engine"
)

// A recordBatch holds values that a sender has encoded before it takes the lock: the
// values, and their records one after another. A record is a header, the length of the
// payload, and the payload, the encoded value.
type recordBatch[T any] struct {
	one    [1]T // backs values when a single value is sent
	values []T  // owned by the caller
	bytes  []byte
	ends   []int // the end of each record, as an index into bytes; empty if nothing is encoded

	losses losses[T] // of an Elastic: for these values, or instead of them
}

const (
	// A recordBatch is full at this size, or at this number of values.
	batchBytes  = 64 << 10
	batchValues = 256
	// A larger buffer is not kept for reuse.
	maxKeptBytes = 1 << 20

	maxRecord = math.MaxInt32 - 16 // bytes of a payload; the limit of a log is slightly higher
)

// fill takes values from the start of vs, until the batch is full or a value fails, and encodes
// them if it is to. It returns an error only if the first value fails. method is the method that
// the user called, for panics.
func (p *recordBatch[T]) fill(config *config[T], encoded bool, vs []T, method string) error {
	p.bytes, p.ends, p.values = p.bytes[:0], p.ends[:0], vs
	if config.size == nil && !encoded {
		p.values = vs[:min(len(vs), batchValues)]
		return nil
	}
	for i, v := range vs {
		var err error
		if config.size != nil {
			err = config.checkSize(config.size(v), method)
		}
		if err == nil && encoded {
			err = p.add(config, v)
		}
		switch {
		case err != nil && i == 0:
			return err
		case err != nil:
			p.values = vs[:i]
			return nil
		case len(p.bytes) >= batchBytes, i+1 == batchValues:
			p.values = vs[:i+1]
			return nil
		}
	}
	return nil
}

// release returns p to its pool, without references to values.
func (p *recordBatch[T]) release(to *sync.Pool) {
	p.one, p.values = [1]T{}, nil
	clear(p.losses)
	p.losses = p.losses[:0]
	if cap(p.bytes) > maxKeptBytes {
		p.bytes = nil
	}
	to.Put(p)
}

// losses are values that no receiver gets, for the hook, and the reasons.
type losses[T any] []loss[T]

type loss[T any] struct {
	value T
	why   sluice.Reason
}

// add adds v, if there is a hook.
func (l *losses[T]) add(config *config[T], v T, why sluice.Reason) {
	if config.undelivered != nil {
		*l = append(*l, loss[T]{v, why})
	}
}

// report gives all of them to the hook. The caller holds no lock.
func (l *losses[T]) report(config *config[T]) {
	if len(*l) > 0 {
		engine.CallEach(func(v loss[T]) { config.undelivered(v.value, v.why) }, *l)
	}
}

// add encodes v.
func (p *recordBatch[T]) add(config *config[T], v T) error {
	start := len(p.bytes)
	bytes, err := encode(config.codec, append(p.bytes, make([]byte, header+config.stamp)...), v)
	if err != nil {
		return err
	}
	length := len(bytes) - start
	if int64(length) > config.diskLimit || length-header > maxRecord {
		return sluice.ErrTooLarge
	}
	binary.LittleEndian.PutUint32(bytes[start:], uint32(length-header))
	p.bytes = bytes
	p.ends = append(p.ends, len(bytes))
	return nil
}

// record returns record i, including its header.
func (p *recordBatch[T]) record(i int) []byte {
	start := 0
	if i > 0 {
		start = p.ends[i-1]
	}
	return p.bytes[start:p.ends[i]]
}

// payload returns the payload of record i.
func (p *recordBatch[T]) payload(i int) []byte { return p.record(i)[header:] }

// encode appends the encoded v to b.
func encode[T any](codec codec.Codec[T], b []byte, v T) ([]byte, error) {
	longer, err := codec.Append(b, v)
	if err != nil {
		return b, fmt.Errorf("spill: codec %q: Append: %w", codec.Name(), err)
	}
	if len(longer) < len(b) {
		return b, fmt.Errorf("spill: codec %q: Append returned %d bytes, fewer than the %d that were passed in", codec.Name(), len(longer), len(b))
	}
	return longer, nil
}

// decode returns the value of a payload. A panic of the codec becomes an error.
func decode[T any](codec codec.Codec[T], payload []byte) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("spill: codec %q: Decode panicked: %v", codec.Name(), p)
		}
	}()
	if v, err = codec.Decode(payload); err != nil {
		err = fmt.Errorf("spill: codec %q: Decode: %w", codec.Name(), err)
	}
	return v, err
}
