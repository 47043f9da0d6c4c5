package spill

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/sluice-go/sluice/spill/internal/logstore"
)

// A logStore is a logstore.Store as the store of a Durable. It is here to show that the
// interface fits; OpenDurable uses bbolt.
type logStore struct{ *logstore.Store }

func (s logStore) write(first uint64, payloads [][]byte, deletes []uint64) error {
	err := s.Write(first, payloads, deletes)
	if errors.Is(err, logstore.ErrUnknown) {
		err = errors.Join(err, errUnknown)
	}
	return err
}

func (s logStore) read(from, to uint64, most int64) (records []storedRecord, err error) {
	found, err := s.Read(from, to, most)
	for _, r := range found {
		records = append(records, storedRecord{seq: r.Seq, payload: r.Payload, damaged: r.Damaged})
	}
	return records, err
}

func (s logStore) size() int64  { return s.Size() }
func (s logStore) close() error { return s.Close() }

// openLog opens a Durable on a log in dir.
func openLog(t *testing.T, dir string) *Durable[[]byte] {
	t.Helper()
	p, err := (*DurableOptions[[]byte])(nil).config()
	if err != nil {
		t.Fatal(err)
	}
	s, found, err := logstore.Open(dir, &logstore.Options{Codec: p.codec.Name()})
	if err != nil {
		t.Fatal(err)
	}
	p.limit = 1000 // most records are read from disk
	return newDurable(p, logStore{s}, contents{found.First, found.Next, found.Records, found.Bytes})
}

// TestDurableOnLog: a Durable works on a log of segments: order, Nack, Ack, reopening, and
// a damaged record, which can be dropped.
func TestDurableOnLog(t *testing.T) {
	dir := t.TempDir()
	c := openLog(t, dir)
	for i := range 60 {
		if err := c.Send(context.Background(), numbered(i)); err != nil {
			t.Fatal(err)
		}
	}
	first := mustRecv(t, c, 0)
	if err := errors.Join(mustRecv(t, c, 1).Ack(), first.Nack(), mustRecv(t, c, 0).Ack(), c.Shutdown()); err != nil {
		t.Fatal(err)
	}
	damage := func(path string) {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		b[bytes.LastIndex(b, numbered(43))+50] ^= 4
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	paths, _ := filepath.Glob(filepath.Join(dir, "0*.log"))
	damage(paths[len(paths)-1])
	c = openLog(t, dir)
	if c.Len() != 58 {
		t.Errorf("%d values", c.Len())
	}
	for i := 2; i < 60; i++ {
		if i != 43 {
			if err := mustRecv(t, c, i).Ack(); err != nil {
				t.Fatal(err)
			}
			continue
		}
		var bad *RecordError
		if _, err := c.TryRecv(); !errors.As(err, &bad) || len(bad.Raw) != 100 || bad.Drop() != nil {
			t.Fatalf("the damaged one: %v", err)
		}
	}
	if c.bytes != 0 || c.Len() != 0 {
		t.Errorf("%d values and %d bytes are left", c.Len(), c.bytes)
	}
	if err := c.Shutdown(); err != nil {
		t.Fatal(err)
	}
	c = openLog(t, dir)
	if s := c.Stats(); s.Len != 0 || c.bytes != 0 || s.BytesOnDisk == 0 {
		t.Errorf("opened again: %+v", s)
	}
	if err := c.Shutdown(); err != nil {
		t.Fatal(err)
	}
}
