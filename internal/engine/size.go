package engine

import "unsafe"

// The bytes that a slot takes for what points to the bytes of a value.
const (
	SliceHead  = int(unsafe.Sizeof([]byte(nil)))
	StringHead = int(unsafe.Sizeof(""))
)

// KnownSize says how many bytes of memory a value holds, if T is []byte or string, and
// is nil for any other T: the bytes, and what points to them. A slice keeps all of its
// capacity in memory. One that is within the limit by what is in it counts as no more
// than that: it can be sent, and fills the memory alone.
func KnownSize[T any](limit int64) func(T) int {
	size, _ := any(func(b []byte) int {
		used, held := len(b)+SliceHead, cap(b)+SliceHead
		if int64(held) > limit {
			return max(used, int(min(limit, int64(held))))
		}
		return held
	}).(func(T) int)
	if size == nil {
		size, _ = any(func(s string) int { return len(s) + StringHead }).(func(T) int)
	}
	return size
}
