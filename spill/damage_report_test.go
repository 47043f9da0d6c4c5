package spill

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sluice-go/sluice/spill/internal/logstore"
	"github.com/sluice-go/sluice/spill/internal/simdisk"
)

// damagedQueue returns a disk with a queue of which some bytes of values are damaged, in a
// segment that Open does not read.
func damagedQueue(t *testing.T) (*simdisk.Disk, config[[]byte]) {
	t.Helper()
	o := &DurableOptions[[]byte]{OnDamage: SetDamageAside}
	p, err := o.config()
	if err != nil {
		t.Fatal(err)
	}
	d := simdisk.New()
	c, err := openQueue(d, "", p, logstore.Options{SegmentSize: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 30 {
		if err := c.Send(context.Background(), bytes.Repeat([]byte{byte('a' + n)}, 100)); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Shutdown(); err != nil {
		t.Fatal(err)
	}
	first := d.Contents()["0000000000000001.log"]
	at := bytes.Index(first, []byte("cccc"))
	first[at] = 'x'
	d.Put("0000000000000001.log", first)
	return d, p
}

// receiveAll receives all values that are there.
func receiveAll(t *testing.T, c *Durable[[]byte]) (n int) {
	t.Helper()
	for {
		d, err := c.TryRecv()
		if err != nil {
			return n
		}
		if err := d.Ack(); err != nil {
			t.Fatal(err)
		}
		n++
	}
}

// TestDamagedRecordIsKept: what a receive finds damaged under SetDamageAside is in a file, with
// its bytes, and the report of it is there for the next process, until its file is removed.
func TestDamagedRecordIsKept(t *testing.T) {
	d, p := damagedQueue(t)
	c, err := openQueue(d, "", p, logstore.Options{SegmentSize: 1000})
	if err != nil {
		t.Fatal(err)
	}
	if n := receiveAll(t, c); n != 29 {
		t.Errorf("%d values", n)
	}
	var kept damagedRecord
	if err := json.Unmarshal(d.Contents()[recordsFile], &kept); err != nil || kept.Seq != 3 || len(kept.Bytes) != 100 || kept.Bytes[50] != 'c' {
		t.Errorf("kept %+v, %v", kept, err)
	}
	want := c.Repaired()
	d = d.After(simdisk.Killed, nil)
	if c, err = openQueue(d, "", p, logstore.Options{SegmentSize: 1000}); err != nil {
		t.Fatal(err)
	}
	r := c.Repaired()
	if r.String() != want.String() || r.Lost != 1 || r.First != 3 || !slices.Equal(r.Files, []string{d.Path(recordsFile)}) || c.Stats().Disk.Warning == "" {
		t.Errorf("after a kill: %v, want %v", r, want)
	}
	if err := errors.Join(c.Shutdown(), d.Remove(reportFile)); err != nil {
		t.Fatal(err)
	}
	if c, err = openQueue(d, "", p, logstore.Options{SegmentSize: 1000}); err != nil || c.Repaired().Err != nil {
		t.Errorf("the report was removed: %v, %v", c.Repaired(), err)
	}
}

// TestReportSurvives: at whichever operation a process dies that repairs a queue, the damage is
// reported once, by it or by the next one.
func TestReportSurvives(t *testing.T) {
	whole, p := damagedQueue(t)
	files := whole.Contents()
	last := ""
	for name := range files {
		if filepath.Ext(name) == ".log" && name != "log.lock" {
			last = max(last, name)
		}
	}
	files[last] = files[last][:len(files[last])-20] // Open finds this
	for n := 1; ; n++ {
		d := simdisk.New()
		for name, b := range files {
			d.Put(name, bytes.Clone(b))
		}
		d.StopAt(n)
		c, err := openQueue(d, "", p, logstore.Options{SegmentSize: 1000})
		ended := err == nil
		d = d.After(simdisk.Killed, nil)
		if c, err = openQueue(d, "", p, logstore.Options{SegmentSize: 1000}); err != nil {
			t.Fatal(n, err)
		}
		if r := c.Repaired(); r.Err == nil || r.Lost != 2 || r.First != 3 || r.Last != 30 {
			t.Fatalf("killed at operation %d: %v", n, r)
		}
		if got := receiveAll(t, c); got != 28 {
			t.Fatalf("killed at operation %d: %d values", n, got)
		}
		if ended {
			t.Logf("%d operations", n)
			return
		}
	}
}

// TestReportOnRealDisk: the report is a file in the folder.
func TestReportOnRealDisk(t *testing.T) {
	dir := t.TempDir()
	o := &DurableOptions[[]byte]{OnDamage: SetDamageAside}
	c, err := OpenDurable(dir, o)
	if err != nil || c.Send(context.Background(), []byte("one")) != nil || c.Shutdown() != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(dir, "0000000000000001.log"), 40); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if c, err = OpenDurable(dir, o); err != nil || c.Repaired().Lost != 1 || c.Shutdown() != nil {
			t.Fatal(c.Repaired(), err)
		}
	}
}
