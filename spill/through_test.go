package spill

import (
	"bytes"
	"context"
	"encoding/binary"
	"flag"
	"os"
	"strings"
	"testing"
	"time"
)

var through = flag.Int64("spill.through", 32<<20, "how many bytes TestThroughLimit sends through a limit of -spill.limit")
var throughLimit = flag.Int64("spill.limit", 1<<20, "how many bytes of memory TestThroughLimit allows")

// TestThroughLimit sends all of its records before it receives the first: they come
// back in order, each as it was, and memory stays within the limit.
func TestThroughLimit(t *testing.T) {
	const size = 1024
	dir := t.TempDir()
	c, err := Open(dir, &Options[[]byte]{Limit: *throughLimit})
	if err != nil {
		t.Fatal(err)
	}
	n := uint64(*through / size)
	start, record := time.Now(), make([]byte, size)
	most := int64(0)
	for i := range n {
		// A record that goes to disk is free afterwards, one that stays is not.
		v := bytes.Clone(record)
		binary.LittleEndian.PutUint64(v, i)
		if err := c.Send(context.Background(), v); err != nil {
			t.Fatal(err)
		}
		if i%1000 == 0 {
			most = max(most, c.Stats().Bytes)
		}
	}
	sent := time.Since(start)
	disk := c.Stats().BytesOnDisk
	c.Close()
	next := uint64(0)
	for v := range c.All(context.Background()) {
		if len(v) != size || binary.LittleEndian.Uint64(v) != next {
			t.Fatalf("record %d came as %d", next, binary.LittleEndian.Uint64(v))
		}
		if next++; next%1000 == 0 {
			most = max(most, c.Stats().Bytes)
		}
	}
	all := time.Since(start)
	if next != n || disk < *through-*throughLimit-1<<20 || most > *throughLimit+2<<20 {
		t.Errorf("received %d of %d; %d bytes were on disk, %d in memory", next, n, disk, most)
	}
	t.Logf("%d records of %d bytes, limit %d MiB: %.0f a second to disk, %.0f there and back; at most %d MiB held, resident %s",
		n, size, *throughLimit>>20, float64(n)/sent.Seconds(), float64(n)/all.Seconds(), most>>20, peakMemory())
}

// peakMemory is the most memory that this process ever had, as Linux says.
func peakMemory() string {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return "not known here"
	}
	for line := range strings.Lines(string(status)) {
		if words := strings.Fields(line); len(words) == 3 && words[0] == "VmHWM:" {
			return "at most " + words[1] + " " + words[2]
		}
	}
	return "not known here"
}
