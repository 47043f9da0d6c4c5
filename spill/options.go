package spill

import (
	"fmt"
	"reflect"
	"unsafe"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/codec"
)

// DefaultLimit is how many bytes of values are held in memory if [Options.Limit]
// does not say: 64 MiB.
const DefaultLimit = 64 << 20

// Options are the choices that have a default. A nil *Options means all
// defaults. They are copied: an Options value may be changed and used again. One
// that makes no sense is an error of the constructor.
type Options[T any] struct {
	// Name is shown in Stats, and has [sluice.Channels] list the channel. It
	// need not be unique. Empty is no name.
	Name string

	// Limit is how many bytes of values are held in memory, at most: what comes
	// on top goes to disk, or in a [Durable] is read again when its turn comes. 0
	// stands for DefaultLimit. Not counted are buffers for blocks on their way, a
	// MiB or two or a few times the largest record if that is more, the record
	// that each waiting sender has ready, and what the garbage collector has yet
	// to free.
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
	limit     int64
	diskLimit int64 // never 0
	codec     codec.Codec[T]
	size      func(T) int
	slots     int // if size is nil: how many values of one size the limit holds
}

// plan checks o in the name of function.
func (o *Options[T]) plan(function string) (plan[T], error) {
	if o == nil {
		o = new(Options[T])
	}
	p := plan[T]{name: o.Name, limit: o.Limit, diskLimit: o.DiskLimit, codec: o.Codec, size: o.Size}
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
	case p.limit < 0:
		return refuse("Limit is %d, below 0", p.limit)
	case p.diskLimit < 0:
		return refuse("DiskLimit is %d, below 0", p.diskLimit)
	case !printable(p.codec.Name()):
		return refuse("the name of the codec is %q, not 1 to 64 bytes of printable ASCII", p.codec.Name())
	}
	if p.limit == 0 {
		p.limit = DefaultLimit
	}
	if p.diskLimit == 0 {
		p.diskLimit = int64(^uint64(0) >> 1)
	}
	return p, nil
}

// weigh completes the plan of a channel that holds values themselves.
func (p *plan[T]) weigh() error {
	if p.size != nil {
		return nil
	}
	t := reflect.TypeFor[T]()
	if p.size = knownSize[T](p.limit); p.size != nil {
		return nil
	}
	if hasPointers(t) {
		return fmt.Errorf("spill: Open: Options.Size must say how many bytes a %v holds, as it has pointers in it", t)
	}
	each := max(int64(t.Size()), 1)
	if p.limit < each {
		return fmt.Errorf("spill: Open: Limit is %d, below the %d bytes of one %v", p.limit, each, t)
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
