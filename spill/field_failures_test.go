package spill

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sluice-go/sluice/internal/ramdir"
)

// The tests TestField… replay failures that users of other projects had.

// TestFieldForeignPages: pages of another file appear in the middle of the store, as after a
// SAN that was cut off. The process does not end, and what is not affected is delivered.
// Seen in opentelemetry-collector-contrib #35899, #36840, #49735, etcd-io/bbolt #537, #562.
func TestFieldForeignPages(t *testing.T) {
	for _, target := range []string{"checkpoint", "segment"} {
		q := usedFieldQueue(t)
		path := filepath.Join(q.Dir, "checkpoint")
		if target == "segment" {
			path = segments(q.Dir)[len(segments(q.Dir))-1]
		}
		rewrite(t, path, func(b []byte) []byte {
			text := bytes.Repeat([]byte("ration: 10 #"), 400)
			copy(b[len(b)/3:], text[:min(len(text), len(b)/3)])
			return b
		})
		found, report := damaged(t, q, path)
		if report.Err == nil || len(found)+report.Lost != 170 && !report.Returned || target == "checkpoint" && report.Lost > 0 {
			t.Errorf("%s: %d values, and %v", target, len(found), report)
		}
	}
}

// TestFieldTornTail: the process was killed, or the power failed, within a write. All that is
// whole is there, and no error.
// Seen in influxdata/telegraf #18528.
func TestFieldTornTail(t *testing.T) {
	q := usedFieldQueue(t)
	last := segments(q.Dir)[len(segments(q.Dir))-1]
	for _, tail := range [][]byte{{7}, bytes.Repeat([]byte{0xff}, 50), valueOf(77), make([]byte, 4096), make([]byte, 1<<20)} {
		again := q
		again.Dir = killedAt(t, q.Dir)
		rewrite(t, filepath.Join(again.Dir, filepath.Base(last)), func(b []byte) []byte { return append(b, tail...) })
		found, report := damaged(t, again, "")
		if expect(t, found, ids(30, 200)); report.Err != nil {
			t.Errorf("%d bytes behind the end: %v", len(tail), report)
		}
	}
}

// TestFieldZeros: a file is as long as it was, and has zeros only. That is an error of
// OpenDurable, not an empty queue; and SetDamageAside opens it.
// Seen in grafana/loki #6268, valkey-io/valkey #1148, databendlabs/databend #17042.
func TestFieldZeros(t *testing.T) {
	whole := usedFieldQueue(t)
	for i := range segments(whole.Dir) {
		q := whole
		q.Dir = killedAt(t, whole.Dir)
		path := segments(q.Dir)[i]
		rewrite(t, path, func(b []byte) []byte { return make([]byte, len(b)) })
		if i+1 < len(segments(q.Dir)) {
			path = "" // found by the receive that comes to it
		}
		found, report := damaged(t, q, path)
		if report.Err == nil || report.Lost == 0 || len(found)+report.Lost != 170 && !report.Returned {
			t.Errorf("segment %d: %d values, and %v", i, len(found), report)
		}
	}
	q := whole
	q.Dir = killedAt(t, whole.Dir)
	path := filepath.Join(q.Dir, "checkpoint")
	rewrite(t, path, func(b []byte) []byte { return make([]byte, len(b)) })
	found, report := damaged(t, q, path)
	if expect(t, found[len(found)-170:], ids(30, 200)); report.Err == nil || len(found) > 170 && !report.Returned {
		t.Errorf("checkpoint: %v, %d values", report, len(found))
	}
}

// TestFieldEmptySegment: the newest segment is an empty file, or its header is not whole,
// because the process died when it had created it. The queue opens.
// Seen in prometheus/prometheus #3283, rabbitmq/ra #165, yugabyte/yugabyte-db #17592.
func TestFieldEmptySegment(t *testing.T) {
	for n := range 30 {
		q := usedFieldQueue(t)
		next := filepath.Join(q.Dir, fmt.Sprintf("%016x.log", len(segments(q.Dir))+100))
		if err := os.WriteFile(next, make([]byte, n), 0o600); err != nil {
			t.Fatal(err)
		}
		found, report := damaged(t, q, "")
		if expect(t, found, ids(30, 200)); report.Err != nil {
			t.Errorf("%d bytes: %v", n, report)
		}
		if n > 2 {
			break
		}
	}
}

// TestFieldLeftFiles: processes that died in a loop left temporary files. The next OpenDurable
// removes them.
// Seen in cortexproject/cortex #2726, prometheus/prometheus #8514.
func TestFieldLeftFiles(t *testing.T) {
	q := usedFieldQueue(t)
	left := []string{"checkpoint.new", "repair.new", "acks.new"}
	for _, name := range left {
		if err := os.WriteFile(filepath.Join(q.Dir, name), make([]byte, 1<<20), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found, report := damaged(t, q, "")
	if expect(t, found, ids(30, 200)); report.Err != nil {
		t.Error(report)
	}
	for _, name := range left {
		if _, err := os.Stat(filepath.Join(q.Dir, name)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", name, err)
		}
	}
}

// TestFieldStateMissing: the file with the positions is gone, and the files with the records
// are there. They are not overwritten by a new queue.
// Seen in rsyslog/rsyslog #5771.
func TestFieldStateMissing(t *testing.T) {
	for _, names := range [][]string{{"checkpoint"}, {"checkpoint", "synced"}} {
		q := usedFieldQueue(t)
		for _, name := range names {
			if err := os.Remove(filepath.Join(q.Dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		found, report := damaged(t, q, "checkpoint")
		if expect(t, found[len(found)-170:], ids(30, 200)); !report.Returned {
			t.Errorf("without %v: %v", names, report)
		}
	}
}

// TestFieldSegmentMissing: one of the files with records is missing. The others are delivered,
// and the report has the number of those that are lost.
// Seen in rsyslog/rsyslog #868.
func TestFieldSegmentMissing(t *testing.T) {
	whole := usedFieldQueue(t)
	for i := range segments(whole.Dir) {
		q := whole
		q.Dir = killedAt(t, whole.Dir)
		path := segments(q.Dir)[i]
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		found, report := damaged(t, q, path)
		if len(found)+report.Lost != 170 || report.Lost == 0 {
			t.Errorf("segment %d: %d values, and %v", i, len(found), report)
		}
	}
}

// TestFieldOneBit: a bit changes on the disk. One value is lost, and not a range.
// Seen in nats-io/nats-server #7549.
func TestFieldOneBit(t *testing.T) {
	whole := usedFieldQueue(t)
	for i, path := range segments(whole.Dir) {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		for at := int64(64); at < info.Size(); at += 397 {
			q := whole
			q.Dir, q.Policy = killedAt(t, whole.Dir), SetDamageAside
			rewrite(t, segments(q.Dir)[i], func(b []byte) []byte {
				b[at] ^= 8
				return b
			})
			c, err := q.open(nil)
			if err != nil {
				t.Fatal(err)
			}
			found, _ := drain(t, c)
			report := c.Repaired()
			if len(found) < 169 || report.Lost > 1 || len(found)+report.Lost != 170 && !report.Returned {
				t.Errorf("bit of byte %d of segment %d: %d values, and %v", at, i, len(found), report)
			}
			if err := c.Shutdown(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestFieldOldFiles: files of an earlier moment are put back, as by the restoration of one
// file from a backup, or of a state file that was not synced. No value that is there is
// overwritten, and nothing is lost without an error.
// Seen in nsqio/go-diskqueue #28, etcd-io/etcd #13406.
func TestFieldOldFiles(t *testing.T) {
	q := fieldQueue(t, RefuseDamage)
	c, err := q.open(nil)
	if err != nil {
		t.Fatal(err)
	}
	fill(t, c, 0, 3)
	early := killedAt(t, q.Dir)
	fill(t, c, 3, 5) // in the same segment
	close := killedAt(t, q.Dir)
	fill(t, c, 5, 200)
	late := killedAt(t, q.Dir)
	if err := c.Shutdown(); err != nil {
		t.Fatal(err)
	}
	for _, old := range []struct {
		from, to, name string
		refused        bool
		n              uint64
	}{
		{early, close, "checkpoint", false, 5}, // the same one: no segment was begun
		{early, close, "synced", false, 5},
		{early, late, "synced", false, 200},
		{early, late, "checkpoint", true, 200},
		{early, close, "0000000000000001.log", true, 3},
	} {
		q.Dir = killedAt(t, old.to)
		b, err := os.ReadFile(filepath.Join(old.from, old.name))
		if err == nil {
			err = os.WriteFile(filepath.Join(q.Dir, old.name), b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		path := ""
		if old.refused {
			path = q.Dir
		}
		found, report := damaged(t, q, path)
		if uint64(len(found)) < old.n || old.refused != (report.Err != nil) || !slices.IsSorted(found) {
			t.Errorf("%s: %d values, want %d; %v", old.name, len(found), old.n, report)
		}
	}
}

// TestFieldNoLoop: a store that is damaged in the middle and at its end. Each call returns,
// the queue is drained in a bounded number of calls, and it works after that.
// Seen in vectordotdev/vector #17644, #26231.
func TestFieldNoLoop(t *testing.T) {
	q := usedFieldQueue(t)
	c, err := q.open(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range segments(q.Dir) {
		rewrite(t, path, func(b []byte) []byte {
			for at := 100; at < len(b); at += 300 {
				b[at] ^= 1
			}
			return b
		})
	}
	calls := 0
	for c.Len() > 0 && calls < 1000 {
		calls++
		d, err := c.TryRecv()
		var bad *RecordError
		switch {
		case errors.As(err, &bad):
			err = bad.Drop()
		case err == nil:
			err = d.Ack()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if c.Len() > 0 || calls > 2*170 {
		t.Errorf("%d values are left after %d calls", c.Len(), calls)
	}
	if err := errors.Join(c.Send(context.Background(), valueOf(1)), c.Shutdown()); err != nil {
		t.Error(err)
	}
}

// TestFieldSpaceReturns: a backlog makes the files grow; when it is drained, the space is
// free, while the queue is open.
// Seen in open-telemetry/opentelemetry-collector #5159, etcd-io/bbolt #288.
func TestFieldSpaceReturns(t *testing.T) {
	dir := ramdir.New(t)
	c, err := OpenDurable[[]byte](dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	batch := make([][]byte, 100)
	for i := range batch {
		batch[i] = make([]byte, 64<<10)
	}
	for range 5 {
		if _, err := c.SendBatch(context.Background(), batch); err != nil {
			t.Fatal(err)
		}
	}
	peak := usage(t, dir)
	ackAll(t, c, 100)
	if left := usage(t, dir); peak < 30<<20 || left > 13<<20 {
		t.Errorf("%d bytes are left of %d", left, peak)
	}
	if err := c.Shutdown(); err != nil {
		t.Error(err)
	}
}
