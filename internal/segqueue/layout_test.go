package segqueue

import (
	"testing"
	"unsafe"

	"github.com/sluice-go/sluice/internal/engine"
)

// What a side writes for each value lies in one cache line, and none of it in a
// line of the other side, nor of anybody else: the meter, which is the senders', too.
func TestSidesAreAligned(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) != 8 {
		t.Skip("laid out for 64 bits")
	}
	for range 100 {
		e := New(engine.Config[string]{Limit: 100, Elastic: true})
		for _, s := range []*side[string]{&e.send, &e.recv} {
			if at := uintptr(unsafe.Pointer(s)); at%cacheLine != 0 || unsafe.Offsetof(s.debt) != cacheLine {
				t.Fatalf("a side at %#x, with %d bytes before debt", at, unsafe.Offsetof(s.debt))
			}
		}
		m := metered(100, 1000)
		if at, size := uintptr(unsafe.Pointer(m.meter)), unsafe.Sizeof(*m.meter); at%cacheLine != 0 || size != 2*cacheLine {
			t.Fatalf("a meter of %d bytes at %#x", size, at)
		}
	}
}
