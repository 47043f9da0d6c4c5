package measure

import (
	"math"
	"testing"
)

// growing is a queue with a known footprint: a slice with explicit doubling.
type growing struct {
	buf []uint64
	n   int
}

func (g *growing) fill(lo, hi int) {
	for v := lo; v < hi; v++ {
		if g.n == len(g.buf) {
			next := make([]uint64, 2*len(g.buf))
			copy(next, g.buf)
			g.buf = next
		}
		g.buf[g.n] = uint64(v)
		g.n++
	}
}

func TestFootprint(t *testing.T) {
	const n = 1 << 18
	tests := []struct {
		name                string
		empty               func(g *growing)
		peak, full, drained float64
	}{
		// Just before the queue is full, the last doubling holds 4 bytes per value
		// beside the 8 bytes of the new slice.
		{"keeps its memory", func(g *growing) { g.n = 0 }, 12, 8, 8 * n},
		{"gives it back", func(g *growing) { *g = growing{} }, 12, 8, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			figures := Footprint(n, 64, func() Queue {
				g := &growing{buf: make([]uint64, 1<<10)}
				return Queue{Fill: g.fill, Empty: func(int) { tt.empty(g) }}
			})
			for i, want := range []float64{tt.peak, tt.full, tt.drained} {
				got, slack := figures[i].Value, 0.02*want
				if i == 2 {
					slack = 0.02 * 8 * n // of its memory: the test binary allocates meanwhile, too
				}
				if math.Abs(got-want) > slack {
					t.Errorf("%s = %.2f, want about %.2f", figures[i].Unit, got, want)
				}
			}
		})
	}
}
