package spill

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// TestStoreReads: read respects its bounds, returns copies, and returns damaged
// records alone.
func TestStoreReads(t *testing.T) {
	dir := queueOf(t, 20)
	s, found, err := opener{noSync: true}.open(dir, raw().Name())
	if want := (contents{first: 1, next: 21, records: 20, bytes: 2000}); err != nil || found != want {
		t.Fatal(found, err)
	}
	empty, found, err := opener{noSync: true}.open(t.TempDir(), raw().Name())
	if want := (contents{first: 1, next: 1}); err != nil || found != want || empty.close() != nil {
		t.Fatal(found, err)
	}
	err = s.db.Update(func(tx *bolt.Tx) error {
		return tx.Bucket(recordsBucket).Put([]byte{7: 5}, []byte("no checksum"))
	})
	if err != nil {
		t.Fatal(err)
	}
	one := (storedRecord{payload: numbered(0)}).size()
	var kept []storedRecord
	for _, test := range []struct {
		from, to uint64
		most     int64
		n        int
		damaged  bool
	}{
		{1, 4, 1 << 20, 3, false},
		{1, 100, 1 << 20, 4, false}, // up to the damaged one
		{5, 100, 1 << 20, 16, true},
		{6, 100, 1, 1, false},
		{6, 100, one, 1, false},
		{6, 100, one + 1, 2, false},
		{19, 100, 1 << 20, 2, false},
		{3, 3, 1 << 20, 0, false},
	} {
		records, err := s.read(test.from, test.to, test.most)
		if err != nil || len(records) != test.n || test.n > 0 && records[0].seq != test.from {
			t.Errorf("%+v: %d records, %v", test, len(records), err)
			continue
		}
		for i, r := range records {
			broken := test.damaged && i == 0
			if (r.damaged != nil) != broken || !broken && !bytes.Equal(r.payload, numbered(int(r.seq)-1)) {
				t.Errorf("%+v: record %d is %q, %v", test, r.seq, r.payload, r.damaged)
			}
			if broken && (string(r.payload) != "hecksum" || !strings.Contains(r.damaged.Error(), queueFile+": record 5")) {
				t.Errorf("a damaged record is %q, %v", r.payload, r.damaged)
			}
		}
		kept = append(kept, records...)
	}
	if err := s.close(); err != nil { // unmaps the pages of the records
		t.Fatal(err)
	}
	for _, r := range kept {
		if r.damaged == nil && !bytes.Equal(r.payload, numbered(int(r.seq)-1)) {
			t.Errorf("record %d became %q", r.seq, r.payload)
		}
	}
}

// TestDoneAndFailed: a write that was stored, but returned an error, fails the
// channel. It is neither repeated nor reported as undone, and deliveries report the
// failure too.
func TestDoneAndFailed(t *testing.T) {
	broken := errors.New("sync: input/output error")
	for what, call := range map[string]func(c *Durable[[]byte], d *Delivery[[]byte]) error{
		"Send": func(c *Durable[[]byte], _ *Delivery[[]byte]) error { return c.Send(context.Background(), numbered(9)) },
		"Ack":  func(_ *Durable[[]byte], d *Delivery[[]byte]) error { return d.Ack() },

		"Ack, and the file cannot be read": func(_ *Durable[[]byte], d *Delivery[[]byte]) error { return d.Ack() },
	} {
		c, err := reopen(queueOf(t, 5))
		if err != nil {
			t.Fatal(err)
		}
		d, other := mustRecv(t, c, 0), mustRecv(t, c, 1)
		s, writes := c.store.(*boltStore), 0
		s.update = func(f func(*bolt.Tx) error) error {
			writes++
			err := s.db.Update(f)
			if strings.HasSuffix(what, "read") {
				err = s.db.Close()
			}
			return errors.Join(err, broken)
		}
		for i, err := range []error{call(c, d), other.Ack(), other.Nack(), c.Send(context.Background(), nil)} {
			if !errors.Is(err, broken) || !errors.Is(err, errUnknown) {
				t.Errorf("%s, then call %d: %v", what, i, err)
			}
		}
		if err := c.Shutdown(); err != nil || writes != 1 {
			t.Errorf("%s: %d writes, %v", what, writes, err)
		}
	}
}

// TestRoomInTheFile: without a reserve, records that fit into free pages of the file
// are stored, larger ones are rejected, and acknowledgements succeed. Records that
// were stored in order fill their pages.
func TestRoomInTheFile(t *testing.T) {
	dir := queueOf(t, 40_000)
	c, err := reopen(dir)
	if err != nil {
		t.Fatal(err)
	}
	err = c.store.(*boltStore).db.View(func(tx *bolt.Tx) error {
		if pages := tx.Bucket(recordsBucket).Stats(); pages.LeafInuse < pages.LeafAlloc/10*9 {
			t.Errorf("%d bytes in pages of %d", pages.LeafInuse, pages.LeafAlloc)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 200 {
		ds := make([]*Delivery[[]byte], 200)
		for i := range ds {
			if ds[i], err = c.TryRecv(); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Ack(ds[:199]...); err != nil {
			t.Fatal(err)
		}
		if err := ds[199].Nack(); err != nil {
			t.Fatal(err)
		}
		if d, err := c.TryRecv(); err != nil || d.Attempt != 2 || d.Ack() != nil {
			t.Fatal(d, err)
		}
	}
	if err := c.Shutdown(); err != nil {
		t.Fatal(err)
	}
	if c, err = reopen(dir); err != nil {
		t.Fatal(err)
	}
	s, path := c.store.(*boltStore), filepath.Join(dir, reserveFile)
	s.reserveUsed = s.reserve.release()
	if err := os.Mkdir(path, 0o700); err != nil || !s.reserveUsed { // it cannot be created again
		t.Fatal(err, s.reserveUsed)
	}
	if err := c.Send(context.Background(), make([]byte, 8<<20)); err == nil || !strings.Contains(err.Error(), reserveFile) {
		t.Errorf("a record larger than the free space: %v", err)
	}
	if err := c.Send(context.Background(), numbered(0)); err != nil {
		t.Errorf("a small one: %v", err)
	}
	if err := mustRecv(t, c, 0).Ack(); err != nil {
		t.Errorf("Ack: %v", err)
	}
	if err := errors.Join(os.Remove(path), c.Shutdown()); err != nil {
		t.Fatal(err)
	}
}

// TestGuard: panics of bbolt, and faults at missing pages, become errors that name
// the file. Outside of the guard, faults are not affected.
func TestGuard(t *testing.T) {
	s, _, err := opener{noSync: true}.open(queueOf(t, 500), raw().Name())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []func() error{
		func() error { panic("page 7 is no leaf") },
		func() error {
			return s.db.View(func(tx *bolt.Tx) error {
				if err := os.Truncate(s.path, 0); err != nil {
					t.Error(err)
				}
				_, err := s.count(tx.Bucket(recordsBucket))
				return err
			})
		},
	} {
		if err := s.guard("read", f); err == nil || !strings.HasPrefix(err.Error(), "spill: read "+s.path+": damaged: ") {
			t.Errorf("guard: %v", err)
		}
	}
	if debug.SetPanicOnFault(false) {
		t.Error("a fault is a panic from then on")
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
}

// TestChecksum: bytes that are too short for a checksum, or that have changed, are an
// error.
func TestChecksum(t *testing.T) {
	payload, err := splitChecksum(addChecksum([]byte("form")))
	if err != nil || string(payload) != "form" {
		t.Errorf("%q, %v", payload, err)
	}
	changed := addChecksum([]byte("form"))
	changed[checksumSize]++
	if payload, err := splitChecksum(changed); err == nil || string(payload) != "gorm" {
		t.Errorf("changed: %q, %v", payload, err)
	}
	if payload, err := splitChecksum(changed[:checksumSize-1]); payload != nil || err == nil || err.Error() != "3 bytes are too short for a checksum" {
		t.Errorf("cut: %q, %v", payload, err)
	}
}
