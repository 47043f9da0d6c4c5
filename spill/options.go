package spill

import (
	"fmt"
	"math"
	"reflect"
	"runtime/metrics"
	"unsafe"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/codec"
)

// DefaultLimit is how many bytes of memory a channel may take if [Options.Limit] does
// not say: 64 MiB.
const DefaultLimit = 64 << 20

// Options are the choices that have a default. A nil *Options means all
// defaults. They are copied: an Options value may be changed and used again. One
// that makes no sense is an error of the constructor.
type Options[T any] struct {
	// Name is shown in Stats, and has [sluice.Channels] list the channel. It
	// need not be unique. Empty is no name.
	Name string

	// Limit is how many bytes of memory the channel may make the process take: its
	// values, and the room that the garbage collector wants beside them. The collector
	// looks only when the heap has grown by GOGC percent of what is alive, so values get
	// 100/(100+GOGC) of Limit: half of it by default, two thirds at GOGC=50, and all of
	// it with GOGC=off, when the heap grows to GOMEMLIMIT whatever a channel holds. What
	// comes on top goes to disk, or in a [Durable] is read again when its turn comes. For
	// n bytes of values at the default GOGC, ask for 2n. 0 stands for DefaultLimit.
	//
	// GOGC is read once, when the channel is opened, also as debug.SetGCPercent has set
	// it. Not counted are buffers for blocks on their way, a MiB or two or a few times the
	// largest record if that is more, the record that each waiting sender has ready, what
	// the allocator rounds values up by, unless Size or a capacity tells, and what the
	// program makes and drops while the collector is at work; nor, of a Durable, what the
	// kernel keeps in memory of its file, and takes back when it needs room.
	Limit int64

	// Size says how many bytes of memory a value holds. It is needed by an
	// Overflow of values with pointers in them, but for []byte, which counts its
	// capacity, and string, its length; it is used by no other kind. It is called
	// by senders, more than once for a value, and by whoever moves one back from
	// disk, with a lock held then: it must be quick, must say the same each time,
	// must not be negative, and must not use the channel. If it panics on a value
	// from disk, which the codec may have changed, the channel has failed.
	Size func(v T) int

	// DiskLimit bounds the bytes that wait on disk, or have a place there, in the
	// form that the codec gives them, with what is kept beside each record: 4
	// bytes in an Overflow, 8 in a Durable. A Send waits for room. 0 stands for
	// as much as the disk holds. Files are a little larger: see BytesOnDisk in
	// [sluice.Stats].
	DiskLimit int64

	// Codec turns values into bytes and back. Nil stands for
	// codec.Default[T]. It must not use the channel.
	Codec codec.Codec[T]
}

// A plan is what an Options says, checked, with its defaults in place.
type plan[T any] struct {
	name      string
	memory    int64 // Options.Limit, never 0
	limit     int64 // what values may take of it: all, until a constructor makes it their share
	diskLimit int64 // never 0
	codec     codec.Codec[T]
	size      func(T) int
	slots     int // how many values the limit holds, if what is in their slots is all of them
}

// plan checks o in the name of function.
func (o *Options[T]) plan(function string) (plan[T], error) {
	if o == nil {
		o = new(Options[T])
	}
	p := plan[T]{name: o.Name, memory: o.Limit, diskLimit: o.DiskLimit, codec: o.Codec, size: o.Size}
	refuse := func(format string, args ...any) (plan[T], error) {
		return p, fmt.Errorf("spill: "+function+": "+format, args...)
	}
	if p.codec == nil {
		var err error
		if p.codec, err = codec.Default[T](); err != nil {
			return refuse("%w", err)
		}
	}
	switch {
	case p.memory < 0:
		return refuse("Limit is %d, below 0", p.memory)
	case p.diskLimit < 0:
		return refuse("DiskLimit is %d, below 0", p.diskLimit)
	case !printable(p.codec.Name()):
		return refuse("the name of the codec is %q, not 1 to 64 bytes of printable ASCII", p.codec.Name())
	}
	if p.memory == 0 {
		p.memory = DefaultLimit
	}
	p.limit = p.memory
	if p.diskLimit == 0 {
		p.diskLimit = int64(^uint64(0) >> 1)
	}
	return p, nil
}

// share is how many of memory bytes values may take: with what the collector lets pile
// up beside that much it is all of them. It is 1 at least.
//
// Tried and lost: nothing that a channel does when it is full saves that room. To force
// a collection marks the whole heap of the process, whatever its size; to move values on
// to disk lowers the collector's goal only after its next round.
func share(memory int64) int64 {
	gogc := []metrics.Sample{{Name: "/gc/gogc:percent"}} // debug has no way to read it
	metrics.Read(gogc)
	percent := gogc[0].Value.Uint64()
	if percent == math.MaxUint64 { // off
		return memory
	}
	all := 100 + int64(percent)
	return max(memory/all*100+memory%all*100/all, 1) // in two parts: it must not overflow
}

// weigh completes the plan of a channel that holds values themselves.
func (p *plan[T]) weigh() error {
	if p.size != nil {
		return nil
	}
	t := reflect.TypeFor[T]()
	p.size = knownSize[T](p.limit)
	if p.size == nil && hasPointers(t) {
		return fmt.Errorf("spill: Open: Options.Size must say how many bytes a %v holds, as it has pointers in it", t)
	}
	each := max(int64(t.Size()), 1)
	if p.limit < each {
		return fmt.Errorf("spill: Open: Limit is %d, of which values may take %d: below the %d bytes of one %v",
			p.memory, p.limit, each, t)
	}
	p.slots = int(min(p.limit/each, int64(sluice.Unlimited)))
	return nil
}

// knownSize is the size of []byte and string: the bytes, and what points to them. A
// slice keeps all of its capacity in memory. One that is within the limit by what is
// in it is counted as no more than that: it can be sent, and fills the memory alone.
func knownSize[T any](limit int64) func(T) int {
	size, _ := any(func(b []byte) int {
		head := int(unsafe.Sizeof(b))
		used, held := len(b)+head, cap(b)+head
		if int64(held) > limit {
			return max(used, int(min(limit, int64(held))))
		}
		return held
	}).(func(T) int)
	if size == nil {
		size, _ = any(func(s string) int { return len(s) + int(unsafe.Sizeof(s)) }).(func(T) int)
	}
	return size
}

// hasPointers reports whether a value of type t can hold more than its own size.
func hasPointers(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Array:
		return t.Len() > 0 && hasPointers(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if hasPointers(t.Field(i).Type) {
				return true
			}
		}
		return false
	case reflect.Pointer, reflect.Slice, reflect.String, reflect.Map, reflect.Chan,
		reflect.Func, reflect.Interface, reflect.UnsafePointer:
		return true
	default:
		return false
	}
}

func printable(name string) bool {
	for _, c := range []byte(name) {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return len(name) >= 1 && len(name) <= 64
}

// sizeOf is the size of a T in a slot, in bytes.
func sizeOf[T any]() int64 {
	var zero T
	return int64(unsafe.Sizeof(zero))
}
