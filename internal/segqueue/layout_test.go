package segqueue

import (
	"testing"
	"unsafe"

	"github.com/sluice-go/sluice/internal/engine"
)

// TestSidesAreAligned: the fields that a side writes for each value are in one
// cache line, without false sharing with the other side or another object. The same
// holds for the meter, which belongs to the senders.
func TestSidesAreAligned(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) != 8 {
		t.Skip("the layout is for 64 bits")
	}
	for range 100 {
		e := New(engine.Config[string]{Limit: 100, Elastic: true})
		for _, s := range []*side[string]{&e.send, &e.recv} {
			if at := uintptr(unsafe.Pointer(s)); at%cacheLine != 0 || unsafe.Offsetof(s.rescue) != cacheLine {
				t.Fatalf("a side at %#x, with %d bytes before rescue", at, unsafe.Offsetof(s.rescue))
			}
		}
		m := metered(100, 1000)
		if at, size := uintptr(unsafe.Pointer(m.meter)), unsafe.Sizeof(*m.meter); at%cacheLine != 0 || size != 2*cacheLine {
			t.Fatalf("a meter of %d bytes at %#x", size, at)
		}
	}
}
