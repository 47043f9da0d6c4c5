package profile

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime/trace"
	"testing"
)

// TestFlightRecorder reads the dump of a flight recorder: a trace that begins
// after the goroutines did.
func TestFlightRecorder(t *testing.T) {
	recorder := trace.NewFlightRecorder(trace.FlightRecorderConfig{})
	if err := recorder.Start(); err != nil {
		t.Fatal(err)
	}
	pingPong(100_000)
	var dump bytes.Buffer
	if _, err := recorder.WriteTo(&dump); err != nil {
		t.Fatal(err)
	}
	recorder.Stop()
	path := filepath.Join(t.TempDir(), "dump.out")
	if err := os.WriteFile(path, dump.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	c, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if c.GOMAXPROCS == 0 || c.Trace.Window <= 0 || c.Trace.Running <= 0 {
		t.Errorf("GOMAXPROCS %d, trace %+v", c.GOMAXPROCS, c.Trace)
	}
	for _, p := range c.Trace.Pairs {
		if p.Waker.Op.Channel() && p.Sleeper.Op.Channel() {
			return
		}
	}
	t.Errorf("no channel operation woke another one: %+v", c.Trace.Pairs)
}
