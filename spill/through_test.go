package spill

import (
	"bytes"
	"context"
	"encoding/binary"
	"flag"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

var through = flag.Int64("spill.through", 32<<20, "how many bytes TestThroughLimit sends through a limit of -spill.limit")
var throughLimit = flag.Int64("spill.limit", 1<<20, "how many bytes of memory TestThroughLimit allows")
var mostResident = flag.Int64("spill.resident", 0, "how many bytes of the process may have been resident after TestThroughLimit; 0: any")

// TestThroughLimit sends all records before it receives the first. They come back in
// order and unchanged, and the values in memory stay within their share of the
// limit.
func TestThroughLimit(t *testing.T) {
	const size = 1024
	dir := t.TempDir()
	c, err := OpenElastic(dir, &ElasticOptions[[]byte]{MemoryLimit: *throughLimit})
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
	disk := c.Stats().Disk.Bytes
	c.Close()
	next := uint64(0)
	for v := range c.Values(context.Background()).All() {
		if len(v) != size || binary.LittleEndian.Uint64(v) != next {
			t.Fatalf("record %d came as %d", next, binary.LittleEndian.Uint64(v))
		}
		if next++; next%1000 == 0 {
			most = max(most, c.Stats().Bytes)
		}
	}
	all := time.Since(start)
	if next != n || disk < *through-*throughLimit-1<<20 || most > share(*throughLimit)+2<<20 {
		t.Errorf("received %d of %d; %d bytes were on disk, %d in memory", next, n, disk, most)
	}
	resident := peakMemory()
	t.Logf("%d records of %d bytes, limit %d MiB: %.0f a second to disk, %.0f there and back; at most %d MiB held, %d resident (0: not known here)",
		n, size, *throughLimit>>20, float64(n)/sent.Seconds(), float64(n)/all.Seconds(), most>>20, resident>>20)
	if *mostResident > 0 && (resident == 0 || resident > *mostResident) {
		t.Errorf("%d bytes were resident, want %d at most", resident, *mostResident)
	}
}

// peakMemory returns the peak resident memory of this process, as Linux reports it.
// A parent cannot read it for a child: the kernel includes what the parent had when
// it started the child.
func peakMemory() (bytes int64) {
	status, _ := os.ReadFile("/proc/self/status") // empty on other systems
	for line := range strings.Lines(string(status)) {
		if words := strings.Fields(line); len(words) == 3 && words[0] == "VmHWM:" {
			kB, _ := strconv.ParseInt(words[1], 10, 64)
			return kB << 10
		}
	}
	return 0
}
