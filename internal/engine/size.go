package engine

import (
	"math"
	"reflect"
	"unsafe"
)

// The sizes of a slice and a string in a slot, without the bytes that they point to.
const (
	SliceHeader  = int(unsafe.Sizeof([]byte(nil)))
	StringHeader = int(unsafe.Sizeof(""))
)

// KnownSize returns the function that computes the size of a value, in bytes, if T
// is []byte or string, and nil for any other T. The size is the header and the
// bytes behind it: for a slice its whole capacity, because all of it stays in
// memory. A slice whose length is within limit and whose capacity is not counts as
// limit bytes: it can be sent, and fills the channel alone.
func KnownSize[T any](limit int64) func(T) int {
	size, _ := any(func(b []byte) int {
		used, held := len(b)+SliceHeader, cap(b)+SliceHeader
		if int64(held) > limit {
			return max(used, int(min(limit, int64(held))))
		}
		return held
	}).(func(T) int)
	if size == nil {
		size, _ = any(func(s string) int { return len(s) + StringHeader }).(func(T) int)
	}
	return size
}

// SizeOf returns the size of a T in a slot, in bytes.
func SizeOf[T any]() int {
	var zero T
	return int(unsafe.Sizeof(zero))
}

// Bytes returns the sum of sizes that are not negative, or the largest int64 if that is less: a Size
// function may return anything, and the memory of the queue is added to what it returns.
func Bytes(sizes ...int64) (sum int64) {
	for _, size := range sizes {
		sum += min(size, math.MaxInt64-sum)
	}
	return sum
}

// HasPointers reports whether a T contains pointers: a slot keeps alive what they
// point to, and the size of the T is not all of the memory that it holds.
func HasPointers[T any]() bool { return hasPointers(reflect.TypeFor[T]()) }

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
