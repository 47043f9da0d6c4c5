package spill

import (
	"encoding/binary"
	"fmt"
	"sync"
	"testing"
	"time"
	"unsafe"
	"weak"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/codec"
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/ramdir"
	"github.com/sluice-go/sluice/internal/suite"
	"github.com/sluice-go/sluice/sluicetest"
	"github.com/sluice-go/sluice/spill/internal/disk"
	"github.com/sluice-go/sluice/spill/internal/logstore"
)

// fixed encodes numbers in 8 bytes, so that tests know how many fit.
type fixed struct{}

func (fixed) Name() string { return "fixed" }

func (fixed) Append(b []byte, v uint64) ([]byte, error) {
	return binary.LittleEndian.AppendUint64(b, v), nil
}

func (fixed) Decode(b []byte) (uint64, error) {
	if len(b) != 8 {
		return 0, fmt.Errorf("%d bytes, not 8", len(b))
	}
	return binary.LittleEndian.Uint64(b), nil
}

// addresses encodes the bytes of a Parcel as a number, and decodes the number to the same
// bytes, because the suite compares pointers. It keeps nothing alive.
type addresses struct {
	mu   sync.Mutex
	seen []weak.Pointer[sluicetest.Parcel]
}

func (*addresses) Name() string { return "addresses" }

func (a *addresses) Append(b []byte, v []byte) ([]byte, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen = append(a.seen, weak.Make(parcelOf(v)))
	return binary.LittleEndian.AppendUint64(b, uint64(len(a.seen)-1)), nil
}

func (a *addresses) Decode(b []byte) ([]byte, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return bytesOf(a.seen[binary.LittleEndian.Uint64(b)].Value()), nil
}

// bytesOf returns the memory of a Parcel, which lives as long as these bytes do.
func bytesOf(p *sluicetest.Parcel) []byte {
	if p == nil {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(p)), unsafe.Sizeof(*p))
}

func parcelOf(b []byte) *sluicetest.Parcel {
	return (*sluicetest.Parcel)(unsafe.Pointer(unsafe.SliceData(b)))
}

// pointers returns a maker of channels of pointers, which are the bytes of what they point to in a
// channel that open opens.
func pointers(open func(codec.Codec[[]byte]) sluicetest.Channel[[]byte]) func() sluicetest.Channel[*sluicetest.Parcel] {
	return func() sluicetest.Channel[*sluicetest.Parcel] {
		return sluicetest.Encoded(open(new(addresses)), bytesOf, parcelOf)
	}
}

// inMemory returns how many bytes an Elastic counts for size bytes in memory.
func inMemory(size int) int { return engine.SizeOf[[]byte]() + size }

// counted is a channel whose capacity in values is known, because all of its values
// have the same size.
type counted[T any] struct {
	*Elastic[T]
	capacity int
}

func (c counted[T]) Cap() int { return c.capacity }

func (c counted[T]) Stats() sluice.Stats {
	s := c.Elastic.Stats()
	s.Cap = c.capacity
	return s
}

// A shape is the number of values that an Elastic holds in memory and on disk; 0 on
// disk means no limit.
type shape struct {
	memory, disk int
	sized        bool // by a function, and so by a meter
	block        int  // bytes; 0 for the default
}

func (s shape) String() string {
	name := fmt.Sprintf("%d in memory", s.memory)
	if s.disk > 0 {
		name += fmt.Sprintf(", %d on disk", s.disk)
	}
	if s.sized {
		name += ", sized"
	}
	if s.block > 0 {
		name += fmt.Sprintf(", blocks of %d", s.block)
	}
	return name
}

func (s shape) capacity() int {
	if s.disk == 0 {
		return sluice.Unlimited
	}
	return s.memory + s.disk
}

// open returns an Elastic of the shape, whose values count size bytes in memory and
// payload bytes on disk.
func open[T any](t *testing.T, dir string, s shape, size, payload int, as codec.Codec[T]) sluicetest.Channel[T] {
	o := &ElasticOptions[T]{MemoryLimit: int64(s.memory * size), DiskLimit: int64(s.disk * (header + payload)), Codec: as}
	if s.sized {
		o.Size = func(T) int { return size }
	}
	c := withFullLimit(t, directory(dir), o)
	if s.block > 0 {
		c.backlog.blockSize, c.backlog.segmentSize = s.block, int64(4*s.block)
	}
	return counted[T]{c, s.capacity()}
}

func TestConformance(t *testing.T) {
	shapes := []shape{
		{memory: 4, disk: 7, block: 30, sized: true},
		{memory: 50, block: 100},
	}
	if suite.All() {
		shapes = append(shapes,
			shape{memory: 1, disk: 1},
			shape{memory: 4, disk: 7, block: 30},
			shape{memory: 100, sized: true, block: 100},
			shape{memory: 1 << 20},
		)
	}
	for i, s := range shapes {
		t.Run(s.String(), func(t *testing.T) {
			dir := ramdir.New(t) // one for all: the suite makes very many channels
			sluicetest.Run(t, sluicetest.Kind{
				Capacity:  s.capacity(),
				MaxBypass: 32,
				Allocates: true,
				Variant:   i >= 2 || !suite.All(), // the first two run in full
				Numbers: func(func(uint64)) sluicetest.Channel[uint64] {
					return open[uint64](t, dir, s, 8, 8, fixed{})
				},
				Pointers: pointers(func(as codec.Codec[[]byte]) sluicetest.Channel[[]byte] {
					s := s
					s.sized = true
					return open(t, dir, s, 8, 8, as)
				}),
			}.OverBytes(func(size int) sluicetest.Channel[[]byte] {
				return open[[]byte](t, dir, s, inMemory(size), size, nil)
			}))
		})
	}
}

// countedAutoAck is like counted, for a Durable of plain values.
type countedAutoAck[T any] struct {
	AutoAck[T]
	capacity int
}

func (c countedAutoAck[T]) Cap() int { return c.capacity }

func (c countedAutoAck[T]) Stats() sluice.Stats {
	s := c.AutoAck.Stats()
	s.Cap = c.capacity
	return s
}

// A durableShape is the number of values that a Durable can store, and the number
// that it keeps in memory.
type durableShape struct {
	capacity, memory int
	disk             bool
	overflow         sluice.Overflow
	age              bool                             // with a MaxAge, which no value reaches
	fresh            bool                             // with a Fresh, which no value reaches
	kept             *[]interface{ Shutdown() error } // those on disk, which have open files
}

func (s durableShape) String() string {
	name := fmt.Sprintf("%d, %d in memory", s.capacity, s.memory)
	if s.capacity == sluice.Unlimited {
		name = fmt.Sprintf("any number, %d in memory", s.memory)
	}
	if s.disk {
		name += ", on disk"
	}
	if s.overflow != sluice.Block {
		name += ", " + s.overflow.String()
	}
	if s.age {
		name += ", MaxAge"
	}
	if s.fresh {
		name += ", Fresh"
	}
	return name
}

// shutdown shuts down what is kept.
func (s durableShape) shutdown(t *testing.T) {
	if s.kept == nil {
		return
	}
	for _, c := range *s.kept {
		if err := c.Shutdown(); err != nil {
			t.Error(err)
		}
	}
}

// openDurable returns a Durable of the shape, whose values are payload bytes long.
func openDurable[T any](t *testing.T, s durableShape, payload int, as codec.Codec[T], onDrop func(T)) sluicetest.Channel[T] {
	o := &DurableOptions[T]{Codec: as, MemoryLimit: int64(s.memory * max(payload, 1)), Overflow: s.overflow, OnUndelivered: undelivered(onDrop)}
	if s.age {
		o.MaxAge = 10_000 * time.Hour // the suite waits for hours, in bubbles
	}
	if s.fresh {
		o.Fresh = 9_999 * time.Hour
	}
	switch {
	case s.capacity == sluice.Unlimited:
	case s.overflow != sluice.Block || s.age: // a policy looks at both limits
		o.Capacity = s.capacity
	default:
		o.DiskLimit = int64(s.capacity * (payload + recordCost))
	}
	if !s.disk {
		return countedAutoAck[T]{durableOn(newMemoryStore(), o).AutoAck(), s.capacity}
	}
	p, err := o.config()
	if err != nil {
		t.Fatal(err)
	}
	log, held, err := logstore.Open(disk.Folder{Dir: ramdir.New(t), NoSync: true}, logstore.Options{Codec: p.codec.Name(), Reserve: 1})
	if err != nil {
		t.Fatal(err)
	}
	c := newDurable(p, log, held)
	kept := s.kept
	if *kept = append(*kept, c); len(*kept) > 1000 { // the suite is done with the first ones
		err = (*kept)[0].Shutdown()
		*kept = (*kept)[1:]
	}
	if err != nil {
		t.Fatal(err)
	}
	return countedAutoAck[T]{c.AutoAck(), s.capacity}
}

func TestDurableConformance(t *testing.T) {
	shapes := []durableShape{{capacity: 11, memory: 4}}
	if suite.All() {
		shapes = append(shapes,
			durableShape{capacity: 1, memory: 1},
			durableShape{capacity: sluice.Unlimited, memory: 100},
			durableShape{capacity: 12, memory: 3, disk: true, kept: new([]interface{ Shutdown() error })}, // each channel makes files
		)
	}
	for i, overflow := range []sluice.Overflow{sluice.Reject, sluice.DropNewest, sluice.DropOldest} {
		shapes = append(shapes, durableShape{capacity: 3 + 4*i, memory: 2, overflow: overflow, age: i%2 == 1})
		if suite.All() {
			shapes = append(shapes, durableShape{capacity: 1, memory: 1, overflow: overflow, age: i%2 == 0})
		}
	}
	shapes = append(shapes, durableShape{capacity: 5, memory: 4, age: true, fresh: true})
	if suite.All() {
		shapes = append(shapes,
			durableShape{capacity: 5, memory: 4, age: true},
			durableShape{capacity: 6, memory: 2, fresh: true},
			durableShape{capacity: 13, memory: 4, overflow: sluice.DropOldest, age: true, fresh: true},
		)
	}
	for _, s := range shapes {
		t.Run(s.String(), func(t *testing.T) {
			defer s.shutdown(t)
			sluicetest.Run(t, sluicetest.Kind{
				Capacity:  s.capacity,
				MaxBypass: 0,
				Allocates: true,
				InFlight:  true,
				Variant:   s.capacity != 11 || !suite.All(), // Block and DropOldest run in full
				Overflow:  s.overflow,
				Numbers: func(onDrop func(uint64)) sluicetest.Channel[uint64] {
					return openDurable[uint64](t, s, 8, fixed{}, onDrop)
				},
				Pointers: pointers(func(as codec.Codec[[]byte]) sluicetest.Channel[[]byte] {
					return openDurable(t, s, 8, as, nil)
				}),
			}.OverBytes(func(size int) sluicetest.Channel[[]byte] {
				return openDurable[[]byte](t, s, size, nil, nil)
			}))
		})
	}
}

// undelivered returns the hook of a channel of the suite.
func undelivered[T any](onDrop func(T)) func(T, sluice.Reason) {
	if onDrop == nil {
		return nil
	}
	return func(v T, _ sluice.Reason) { onDrop(v) }
}
