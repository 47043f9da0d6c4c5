package spill

import (
	"encoding/binary"
	"fmt"
	"math"
	"sync"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/codec"
)

// A parcel is what a sender has made ready before it takes the lock: some values,
// and their records one after another.
type parcel[T any] struct {
	one    [1]T // a place for a value that is sent alone
	values []T  // the caller's
	bytes  []byte
	ends   []int // of the records, in bytes
}

const (
	// A parcel is full with so many bytes, or values.
	parcelBytes  = 64 << 10
	parcelValues = 256
	// One whose buffer has become larger is not kept.
	parcelKept = 1 << 20

	maxRecord = math.MaxInt32 - 16 // the form of a value, in bytes; bbolt takes little more
)

// fill encodes the first values of vs, as many as a parcel holds, and before one
// that fails. It fails if that is the first. method is what the user called.
func (p *parcel[T]) fill(config *config[T], size func(T) int, vs []T, method string) error {
	p.bytes, p.ends, p.values = p.bytes[:0], p.ends[:0], vs
	for i, v := range vs {
		err := p.add(config, size, v, method)
		if err != nil && i == 0 {
			return err
		}
		if err != nil || len(p.bytes) >= parcelBytes || len(p.ends) == parcelValues {
			break
		}
	}
	return nil
}

// release puts p back where it came from, without what it was given.
func (p *parcel[T]) release(to *sync.Pool) {
	p.one, p.values = [1]T{}, nil
	if cap(p.bytes) > parcelKept {
		p.bytes = nil
	}
	to.Put(p)
}

// add encodes v.
func (p *parcel[T]) add(config *config[T], size func(T) int, v T, method string) error {
	if size != nil {
		weight := size(v)
		if weight < 0 {
			panic(negative(weight, method))
		}
		if int64(weight) > config.limit {
			return sluice.ErrTooLarge
		}
	}
	start := len(p.bytes)
	bytes, err := encode(config.codec, append(p.bytes, 0, 0, 0, 0), v)
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

// record returns record i, with its header.
func (p *parcel[T]) record(i int) []byte {
	start := 0
	if i > 0 {
		start = p.ends[i-1]
	}
	return p.bytes[start:p.ends[i]]
}

// form returns the form of value i: its record without the header.
func (p *parcel[T]) form(i int) []byte { return p.record(i)[header:] }

// encode appends the form of v to b.
func encode[T any](codec codec.Codec[T], b []byte, v T) ([]byte, error) {
	longer, err := codec.Append(b, v)
	if err != nil {
		return b, fmt.Errorf("spill: codec %q: Append: %w", codec.Name(), err)
	}
	if len(longer) < len(b) {
		return b, fmt.Errorf("spill: codec %q: Append returned %d bytes, less than the %d it was given", codec.Name(), len(longer), len(b))
	}
	return longer, nil
}
