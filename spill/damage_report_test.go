package spill

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/sluice-go/sluice/internal/suite"
	"github.com/sluice-go/sluice/spill/internal/disk"
	"github.com/sluice-go/sluice/spill/internal/logstore"
	"github.com/sluice-go/sluice/spill/internal/simdisk"
)

// tiny makes a log of many files, and of few bytes: a test opens hundreds of copies.
var tiny = logstore.Options{SegmentSize: 1000, Reserve: 4000, Acks: 16_000}

// damagedQueue returns a disk with a queue of which some bytes of values are damaged, in a
// segment that Open does not read.
func damagedQueue(t *testing.T) (*simdisk.Disk, config[[]byte]) {
	t.Helper()
	o := &DurableOptions[[]byte]{OnDamage: SetDamageAside, Log: slog.New(slog.DiscardHandler)}
	p, err := o.config()
	if err != nil {
		t.Fatal(err)
	}
	d := simdisk.New()
	c, err := openQueue(d, "", p, tiny)
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
	c, err := openQueue(d, "", p, tiny)
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
	if c, err = openQueue(d, "", p, tiny); err != nil {
		t.Fatal(err)
	}
	r := c.Repaired()
	if r.String() != want.String() || r.Lost != 1 || r.First != 3 || !slices.Equal(r.Files, []string{d.Path(recordsFile)}) || c.Stats().Disk.Warning == "" {
		t.Errorf("after a kill: %v, want %v", r, want)
	}
	if err := errors.Join(c.Shutdown(), d.Remove(reportFile)); err != nil {
		t.Fatal(err)
	}
	if c, err = openQueue(d, "", p, tiny); err != nil || c.Repaired().Err != nil {
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
	reportSurvives(t, p, files)
	files["checkpoint"][20] ^= 1 // a copy of it is made during the repair
	reportSurvives(t, p, files)
}

func reportSurvives(t *testing.T, p config[[]byte], files map[string][]byte) {
	for n := 1; ; n++ {
		d := simdisk.New()
		for name, b := range files {
			d.Put(name, bytes.Clone(b))
		}
		d.StopAt(n)
		_, err := openQueue(d, "", p, tiny)
		ended := err == nil
		d = d.After(simdisk.Killed, nil)
		c, err := openQueue(d, "", p, tiny)
		if err != nil {
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

// TestReportOfSkipSurvives: at whichever operation a process dies that skips a damaged record, the
// record is reported once.
func TestReportOfSkipSurvives(t *testing.T) {
	whole, p := damagedQueue(t)
	for n, ended := 1, false; !ended; n++ {
		d := whole.After(simdisk.Killed, nil)
		d.StopAt(n)
		if c, err := openQueue(d, "", p, tiny); err == nil {
			for range 5 {
				v, err := c.TryRecv()
				if ended = err == nil && v.Ack() == nil; !ended {
					break
				}
			}
		}
		d = d.After(simdisk.Killed, nil)
		c, err := openQueue(d, "", p, tiny)
		if err != nil {
			t.Fatal(n, err)
		}
		receiveAll(t, c)
		if r := c.Repaired(); r.Lost != 1 || r.First != 3 || r.Last != 3 {
			t.Fatalf("killed at operation %d: %v", n, r)
		}
	}
}

// lockHook is a disk that calls a function before the folder is locked.
type lockHook struct {
	disk.Disk
	before func()
}

func (d lockHook) Lock() (disk.Lock, error) {
	d.before()
	return d.Disk.Lock()
}

// TestReportHandover: a process that waits for the folder learns what the one before it lost at last.
func TestReportHandover(t *testing.T) {
	d, p := damagedQueue(t)
	c, err := openQueue(d, "", p, tiny)
	if err != nil {
		t.Fatal(err)
	}
	last := lockHook{d, func() {
		receiveAll(t, c)
		if err := c.Shutdown(); err != nil {
			t.Error(err)
		}
	}}
	next, err := openQueue(last, "", p, tiny)
	if err != nil || next.Repaired().Lost != 1 {
		t.Errorf("%v, %v", next.Repaired(), err)
	}
}

// TestReportDamaged: a report that cannot be read does not keep a queue from being opened. It is damage.
func TestReportDamaged(t *testing.T) {
	for _, content := range []string{"", "{", string(make([]byte, maxReport+1))} {
		d, p := damagedQueue(t)
		d.Put(reportFile, []byte(content))
		c, err := openQueue(d, "", p, tiny)
		if err != nil || c.Repaired().Err == nil || c.Repaired().Lost != 0 {
			t.Fatal(err)
		}
		receiveAll(t, c)
		if r, err := loadRepair(d); err != nil || r.Lost != 1 || r.Err.Error() != c.Repaired().Err.Error() {
			t.Errorf("%v, %v", r, err)
		}
	}
}

// TestLostAgain: a queue whose files are removed twice has lost records twice, although the new one
// numbers them like the one before.
func TestLostAgain(t *testing.T) {
	dir := t.TempDir()
	c, err := OpenDurable(dir, &DurableOptions[[]byte]{OnDamage: SetDamageAside})
	if err != nil {
		t.Fatal(err)
	}
	for lost := range 3 {
		if err := c.Send(context.Background(), []byte("lost")); err != nil {
			t.Fatal(err)
		}
		names, err := filepath.Glob(filepath.Join(dir, "*"))
		for _, name := range names {
			err = errors.Join(err, os.Remove(name))
		}
		if err = errors.Join(err, c.Send(context.Background(), []byte("left"))); err != nil {
			t.Fatal(err)
		}
		receiveAll(t, c)
		if r := c.Repaired(); r.Lost != lost+1 {
			t.Errorf("%v, want %d", r, lost+1)
		}
	}
}

// TestReportAtOnce: receivers skip damaged records while the queue is opened again and repaired. The
// report in the folder is that in memory.
func TestReportAtOnce(t *testing.T) {
	for range suite.Rounds(3, 10) {
		files, _ := damagedQueue(t)
		dir := t.TempDir()
		for name, b := range files.Contents() {
			for _, value := range []string{"aaaa", "bbbb", "dddd", "eeee"} {
				if at := bytes.Index(b, []byte(value)); at > 0 {
					b[at] = 'x'
				}
			}
			if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		c, err := OpenDurable(dir, &DurableOptions[[]byte]{OnDamage: SetDamageAside, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		var running sync.WaitGroup
		for range 3 {
			running.Go(func() {
				for {
					v, err := c.TryRecv()
					if err != nil {
						return
					}
					_ = v.Ack() // or ErrReopened
				}
			})
		}
		for range 3 {
			names, _ := filepath.Glob(filepath.Join(dir, "0*.log"))
			_ = os.Truncate(names[len(names)-1], 60) // the next write finds this
			if err := c.Send(context.Background(), []byte("new")); err != nil {
				t.Fatal(err)
			}
		}
		running.Wait()
		if err := c.Shutdown(); err != nil {
			t.Fatal(err)
		}
		if r, err := loadRepair(disk.Folder{Dir: dir}); err != nil || r.String() != c.Repaired().String() {
			t.Errorf("%v, %v; in memory %v", r, err, c.Repaired())
		}
	}
}

// TestDamagedRecordOnFullDisk: a line that did not fit leaves nothing behind.
func TestDamagedRecordOnFullDisk(t *testing.T) {
	d := simdisk.New()
	for _, line := range []string{"one\n", "two\n", "three\n"} {
		d.Limit = 6
		if line == "three\n" {
			d.Limit = 0
		}
		if err := logstore.Append(d, recordsFile, []byte(line)); (err != nil) != (line == "two\n") {
			t.Error(line, err)
		}
	}
	if got := string(d.Contents()[recordsFile]); got != "one\nthree\n" {
		t.Errorf("%q", got)
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
