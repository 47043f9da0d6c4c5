package logstore

import (
	"testing"

	"github.com/sluice-go/sluice/spill/internal/simdisk"
)

// TestFramesOfWrongCheckpoint: a segment without live records takes its bytes out of the sum, also if a
// checkpoint gives it some.
func TestFramesOfWrongCheckpoint(t *testing.T) {
	d, m := simdisk.New(), newModel()
	o := Options{SegmentSize: 16 << 10, Reserve: 1000, Acks: 1000}
	s, _, err := Open(d, o)
	if err != nil {
		t.Fatal(err)
	}
	fill(t, s, m, 100, 100)
	g := s.state.segments[0]
	for seq := g.first; seq < g.next; seq++ {
		g.gone.set(seq - g.first)
	}
	g.live = 0 // liveBytes stays
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, _, err = Open(d, o); err != nil {
		t.Fatal(err)
	}
	var want int64
	for _, g := range s.state.segments {
		want += g.liveFrames()
	}
	if s.state.frames != want {
		t.Errorf("the frames of live records have %d bytes, want %d", s.state.frames, want)
	}
}
