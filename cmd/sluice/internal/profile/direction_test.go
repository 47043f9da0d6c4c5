package profile

import (
	"testing"
	"time"
)

// TestSelectDirection: what a select does for a goroutine that waits shows which
// way its values go; a plain send needs no such evidence.
func TestSelectDirection(t *testing.T) {
	const unit = 10 * time.Millisecond
	of := func(inner ...string) []string { return append(inner, "runtime.selectgo", "main.f m.go:1") }
	c, err := readCPU(cpuDrawing(
		spent(3*unit, of("runtime.ready", "runtime.goready", "runtime.send")...),
		spent(1*unit, of("runtime.send")...),
		spent(2*unit, of("runtime.memmove", "runtime.recv")...),
		spent(5*unit, of("runtime.lock2", "runtime.sellock")...),
		spent(7*unit, "runtime.goready", "runtime.send", "runtime.chansend", "runtime.chansend1", "main.g m.go:2"),
	).profile())
	if err != nil || len(c.Sites) != 2 {
		t.Fatalf("%v, %v", c, err)
	}
	for _, s := range c.Sites {
		switch {
		case s.Op == Select && (s.Gave != 4*unit || s.Took != 2*unit):
			t.Errorf("select: gave %s, took %s", s.Gave, s.Took)
		case s.Op == Send && s.Gave+s.Took != 0:
			t.Errorf("send: gave %s, took %s", s.Gave, s.Took)
		}
	}
}
