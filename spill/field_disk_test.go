package spill

import (
	"context"
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/sluice-go/sluice/spill/internal/simdisk"
)

// simulated returns a queue whose log is on a simulated disk.
func simulated(t *testing.T) (testQueue, *simdisk.Disk, *Durable[[]byte]) {
	t.Helper()
	q := fieldQueue(t, RefuseDamage)
	d, err := q.format()
	if err != nil {
		t.Fatal(err)
	}
	c, err := q.open(d)
	if err != nil {
		t.Fatal(err)
	}
	return q, d, c
}

// afterCrash returns the disk after a crash, and the queue on it.
func afterCrash(t *testing.T, q testQueue, d *simdisk.Disk, c *Durable[[]byte], how simdisk.Crash) (*simdisk.Disk, *Durable[[]byte]) {
	t.Helper()
	after := d.After(how, nil)
	d.StopAt(d.Usage().Ops)
	_ = c.Shutdown() // only to unlock the queue
	again, err := q.open(after)
	if err != nil {
		t.Fatal(err)
	}
	return after, again
}

// failing makes operations fail with an error, except those whose names are given.
func failing(with error, except ...string) func(op, name string) error {
	return func(op, name string) error {
		if slices.Contains(except, op) {
			return nil
		}
		return with
	}
}

// delivers checks what a queue delivers, and shuts it down.
func delivers(t *testing.T, c *Durable[[]byte], want []uint64) {
	t.Helper()
	found, dropped := drain(t, c)
	if expect(t, found, want); dropped > 0 {
		t.Errorf("%d records are damaged", dropped)
	}
	if err := c.Shutdown(); err != nil {
		t.Error(err)
	}
}

// TestFieldPowerFails: the power fails right after a Send or an Ack returned. The value is
// there, or does not come back.
// Seen in nats-io/nats-server #7564.
func TestFieldPowerFails(t *testing.T) {
	q, d, c := simulated(t)
	for id := range uint64(60) {
		fill(t, c, id, id+1)
		if d, c = afterCrash(t, q, d, c, simdisk.Lost); c.Len() != 1 {
			t.Fatalf("%d values after send %d", c.Len(), id)
		}
		found, _ := drain(t, c)
		expect(t, found, ids(id, id+1))
		if d, c = afterCrash(t, q, d, c, simdisk.Lost); c.Len() != 0 {
			t.Fatalf("value %d is back", id)
		}
	}
	delivers(t, c, nil)
}

// TestFieldSyncFailsOnce: a sync fails, and the next one would succeed without having written
// the pages. The error of the send that failed is about an unknown outcome, no later one is accepted,
// and what was accepted before survives.
// Seen in https://lwn.net/Articles/752063/, greenplum-db/gpdb #11894.
func TestFieldSyncFailsOnce(t *testing.T) {
	q, d, c := simulated(t)
	fill(t, c, 0, 20)
	d.Fail = func(op, name string) error {
		if op != "sync" {
			return nil
		}
		d.Fail = nil // once
		return syscall.EIO
	}
	if err := c.Send(context.Background(), valueOf(20)); !errors.Is(err, errUnknown) || !errors.Is(err, syscall.EIO) {
		t.Errorf("a send whose sync failed: %v", err)
	}
	for id := range uint64(3) {
		if err := c.Send(context.Background(), valueOf(21+id)); !errors.Is(err, errUnknown) {
			t.Errorf("a send after that: %v", err)
		}
	}
	if warning := c.Stats().Disk.Warning; !strings.Contains(warning, "sync") {
		t.Errorf("the warning is %q", warning)
	}
	_, c = afterCrash(t, q, d, c, simdisk.Lost)
	delivers(t, c, ids(0, 20))
}

// TestFieldFullDisk: a disk is full, and later has room. Values are accepted again, without a
// restart; what was rejected is not there, and what was accepted before and after is, after
// kill -9 too.
// Seen in prometheus/prometheus #13027, #7835, prometheus/prometheus #3283, scylladb/scylladb
// #12626, netdata/netdata #2397.
func TestFieldFullDisk(t *testing.T) {
	for _, full := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG} {
		q, d, c := simulated(t)
		fill(t, c, 0, 50)
		if full == syscall.ENOSPC {
			d.Limit = d.Usage().Size + 100
		} else {
			d.Fail = func(op, name string) error {
				if op == "write" && strings.HasSuffix(name, ".log") {
					return full
				}
				return nil
			}
		}
		for id := range uint64(30) {
			err := c.Send(context.Background(), append(valueOf(1000+id), make([]byte, 200)...))
			if !errors.Is(err, full) || !IsDiskFull(err) || IsDiskFull(context.Canceled) || errors.Is(err, errUnknown) {
				t.Fatalf("%v: send %d: %v", full, id, err)
			}
		}
		if w := c.Stats().Disk.Warning; !strings.Contains(w, "the last send failed") || !strings.Contains(w, full.Error()) {
			t.Errorf("%v: warning %q", full, w)
		}
		for id := range uint64(10) { // room is made in the usual way
			v, err := c.TryRecv()
			if err == nil {
				err = v.Ack()
			}
			if err != nil {
				t.Fatalf("%v: acknowledgement %d: %v", full, id, err)
			}
		}
		d.Limit, d.Fail = 0, nil
		fill(t, c, 50, 60)
		if w := c.Stats().Disk.Warning; w != "" {
			t.Errorf("%v, over: warning %q", full, w)
		}
		_, c = afterCrash(t, q, d, c, simdisk.Lost)
		delivers(t, c, ids(10, 60))
	}
}

// TestFieldFullDrains: on a disk without a free byte a backlog is delivers to its end, and then
// there is room.
// Seen in open-telemetry/opentelemetry-collector #7198, #8115.
func TestFieldFullDrains(t *testing.T) {
	q, d, c := simulated(t)
	fill(t, c, 0, 100)
	d.Limit = d.Usage().Size
	found, _ := drain(t, c)
	expect(t, found, ids(0, 100))
	fill(t, c, 100, 110)
	d.Limit = d.Usage().Size
	if err := c.Shutdown(); err != nil {
		t.Errorf("Shutdown on a full disk: %v", err)
	}
	c, err := q.open(d)
	if err != nil {
		t.Fatal(err)
	}
	delivers(t, c, ids(100, 110))
}

// TestFieldNoInodes: no file can be created, although there is space. Sends fail at the end of
// the segment, acknowledgements succeed, and sends do when files can be created.
// Seen in ipfs/kubo #3444, ClickHouse/ClickHouse #6252.
func TestFieldNoInodes(t *testing.T) {
	q, d, c := simulated(t)
	fill(t, c, 0, 50)
	d.Fail = func(op, name string) error {
		if op == "create" {
			return syscall.ENOSPC
		}
		return nil
	}
	var err error
	id := uint64(50)
	for ; err == nil; id++ {
		err = c.Send(context.Background(), valueOf(id))
	}
	if !errors.Is(err, syscall.ENOSPC) || errors.Is(err, errUnknown) {
		t.Errorf("at the end of the segment: %v", err)
	}
	for range 20 {
		v, err := c.TryRecv()
		if err == nil {
			err = v.Ack()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	d.Fail = nil
	fill(t, c, id-1, id+40)
	_, c = afterCrash(t, q, d, c, simdisk.Killed)
	delivers(t, c, ids(20, id+40))
}

// TestFieldTooManyFiles: a backlog of many segments needs few open files; and while the
// process may not open more, a receive returns an error, and nothing is lost.
// Seen in influxdata/influxdb #516, etcd-io/etcd #3269.
func TestFieldTooManyFiles(t *testing.T) {
	q, d, c := simulated(t)
	fill(t, c, 0, 3000)
	d, c = afterCrash(t, q, d, c, simdisk.Killed)
	d.Fail = func(op, name string) error {
		if op == "open" {
			return syscall.EMFILE
		}
		return nil
	}
	for range 2 {
		if _, err := c.TryRecv(); !errors.Is(err, syscall.EMFILE) || !strings.Contains(err.Error(), "disk/") {
			t.Errorf("too many open files: %v", err)
		}
	}
	d.Fail = nil
	var ds []*Delivery[[]byte]
	for c.Len() > 0 {
		v, err := c.TryRecv()
		if err != nil {
			t.Fatal(err)
		}
		ds = append(ds, v)
	}
	if u := d.Usage(); u.Handles > 70 || u.Files < 80 {
		t.Errorf("%d files are open of %d", u.Handles, u.Files)
	}
	for _, v := range ds {
		if err := v.Nack(); err != nil {
			t.Fatal(err)
		}
	}
	delivers(t, c, ids(0, 3000))
}

// TestFieldStaleHandles: the file server is gone for a while, and each operation on an open
// file fails. Calls return, and when the queue is opened again, everything is there.
// Seen in nats-io/nats-server #2792.
func TestFieldStaleHandles(t *testing.T) {
	q, d, c := simulated(t)
	fill(t, c, 0, 100)
	d.Fail = failing(syscall.ESTALE)
	if err := c.Send(context.Background(), valueOf(100)); !errors.Is(err, syscall.ESTALE) {
		t.Errorf("Send: %v", err)
	}
	_, err := c.Recv(context.Background())
	if !errors.Is(err, syscall.ESTALE) {
		t.Errorf("Recv: %v", err)
	}
	_ = c.Shutdown()
	d.Fail = nil
	if c, err = q.open(d); err != nil {
		t.Fatal(err)
	}
	delivers(t, c, ids(0, 100))
}

// TestFieldReadOnly: the file system is read-only from one moment on, as ext4 after an error.
// Sends and acknowledgements fail with EROFS, stored values can be received,
// and nothing is lost.
// Seen in apache/couchdb #4168.
func TestFieldReadOnly(t *testing.T) {
	q, d, c := simulated(t)
	fill(t, c, 0, 50)
	d.Fail = failing(syscall.EROFS, "read", "open", "check", "list")
	for id := range uint64(3) {
		if err := c.Send(context.Background(), valueOf(50+id)); !errors.Is(err, syscall.EROFS) || !strings.Contains(err.Error(), "disk/") {
			t.Errorf("Send: %v", err)
		}
	}
	var ds []*Delivery[[]byte]
	for range 50 {
		v, err := c.TryRecv()
		if err != nil {
			t.Fatal(err)
		}
		ds = append(ds, v)
	}
	if err := c.Ack(ds...); !errors.Is(err, syscall.EROFS) {
		t.Errorf("Ack: %v", err)
	}
	_ = c.Shutdown()
	d.Fail = failing(syscall.EROFS, "read", "check", "list") // it opens files for reading and writing
	if _, err := q.open(d); !errors.Is(err, syscall.EROFS) {
		t.Errorf("opened: %v", err)
	}
	d.Fail = nil
	c, err := q.open(d)
	if err != nil {
		t.Fatal(err)
	}
	delivers(t, c, ids(0, 50))
}

// TestFieldDeletedFirst: the process dies while it removes segments that were acknowledged, at
// each operation. No reader waits for a file that will not appear, no value is lost, and none
// comes back.
// Seen in vectordotdev/vector #25570.
func TestFieldDeletedFirst(t *testing.T) {
	for n := range 40 {
		q, d, c := simulated(t)
		fill(t, c, 0, 80)
		var ds []*Delivery[[]byte]
		for range 60 {
			v, err := c.TryRecv()
			if err != nil {
				t.Fatal(err)
			}
			ds = append(ds, v)
		}
		d.StopAt(d.Usage().Ops + n)
		first, second := c.Ack(ds[:30]...), c.Ack(ds[30:]...)
		_, again := afterCrash(t, q, d, c, []simdisk.Crash{simdisk.Killed, simdisk.Lost}[n%2])
		found, _ := drain(t, again)
		from := uint64(80 - len(found))
		if expect(t, found, ids(from, 80)); first == nil && from < 30 || second == nil && from < 60 || from%30 != 0 {
			t.Errorf("operation %d: the first value is %d, after %v, %v", n, from, first, second)
		}
		if err := again.Shutdown(); err != nil {
			t.Error(err)
		}
	}
}
