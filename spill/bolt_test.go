package spill

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-go/sluice"
	bolt "go.etcd.io/bbolt"
)

// reopen opens a queue without syncs.
func reopen(dir string) (*Durable[[]byte], error) {
	return reopenWith(opener{noSync: true}, dir)
}

func reopenWith(o opener, dir string) (*Durable[[]byte], error) {
	p, err := (&DurableOptions[[]byte]{MemoryLimit: 1000, OnDamage: o.policy, Log: slog.New(slog.DiscardHandler)}).config()
	if err != nil {
		return nil, err
	}
	return openQueue(dir, p, o)
}

// oldQueueOf creates a queue of version 1 with the records 0 to n-1, whose numbers have a gap,
// and returns its directory.
func oldQueueOf(t testing.TB, n int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	o := opener{noSync: true}
	if err := o.create(filepath.Join(dir, queueFile), versionRecords, raw().Name()); err != nil {
		t.Fatal(err)
	}
	about(t, dir, func(tx *bolt.Tx) error {
		for i := range n {
			key := binary.BigEndian.AppendUint64(nil, uint64(i+i/7+3))
			if err := tx.Bucket(recordsBucket).Put(key, addChecksum(numbered(i))); err != nil {
				return err
			}
		}
		return nil
	})
	return dir
}

// queueOf creates a queue with the records 0 to n-1 and returns its directory.
func queueOf(t testing.TB, n int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	c, err := reopen(dir)
	if err != nil {
		t.Fatal(err)
	}
	var vs [][]byte
	for i := range n {
		vs = append(vs, numbered(i))
	}
	if sent, err := c.SendBatch(context.Background(), vs); sent != n || err != nil {
		t.Fatal(sent, err)
	}
	if err := c.Shutdown(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestReopen: records that were not acknowledged are there, in order, even if they
// were delivered or given back; acknowledged ones are not.
func TestReopen(t *testing.T) {
	dir := queueOf(t, 100)
	c, err := reopen(dir)
	if err != nil {
		t.Fatal(err)
	}
	if s := c.Stats(); s.Len != 100 || s.Sent != 100 || s.Disk.Bytes < 100*100 {
		t.Errorf("100 records are there: %+v", s)
	}
	var ds []*Delivery[[]byte]
	for range 60 {
		d, err := c.TryRecv()
		if err != nil {
			t.Fatal(err)
		}
		ds = append(ds, d)
	}
	if err := errors.Join(c.Ack(ds[:10]...), ds[20].Ack(), ds[30].Nack()); err != nil {
		t.Fatal(err)
	}
	if err := c.Shutdown(); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"Ack": ds[40].Ack(), "Nack": ds[41].Nack(), "Send": c.Send(context.Background(), nil),
		"Recv": second(c.Recv(context.Background())), "TryRecv": second(c.TryRecv()),
	} {
		if err != sluice.ErrClosed {
			t.Errorf("%s after Shutdown: %v", what, err)
		}
	}
	if err := c.Shutdown(); err != nil {
		t.Errorf("Shutdown again: %v", err)
	}
	if c, err = reopen(dir); err != nil {
		t.Fatal(err)
	}
	for i := 10; i < 100; i++ {
		if i == 20 {
			continue
		}
		if d, err := c.TryRecv(); err != nil || !bytes.Equal(d.Value, numbered(i)) || d.Attempt != 1 {
			t.Fatalf("record %d: %v, %v", i, d, err)
		}
	}
	if _, err := c.TryRecv(); err != sluice.ErrEmpty {
		t.Errorf("a record too many: %v", err)
	}
	if err := c.Shutdown(); err != nil {
		t.Fatal(err)
	}
}

// lastSegment returns the path of the newest segment of a queue.
func lastSegment(dir string) string {
	paths, _ := filepath.Glob(filepath.Join(dir, logFolder, "0*.log"))
	return paths[len(paths)-1]
}

// damage applies f to a file.
func damage(t *testing.T, path string, f func([]byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, f(b), 0o600); err != nil {
		t.Fatal(err)
	}
}

// about changes the metadata of a queue's file.
func about(t testing.TB, dir string, change func(tx *bolt.Tx) error) {
	t.Helper()
	db, err := bolt.Open(filepath.Join(dir, queueFile), 0o600, &bolt.Options{NoSync: true, NoFreelistSync: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Update(change), db.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestNotAQueue: invalid files are rejected with an error that names the file and
// the reason, and are not changed.
func TestNotAQueue(t *testing.T) {
	for says, spoil := range map[string]func(t *testing.T, dir string){
		"file is empty": func(t *testing.T, dir string) {
			damage(t, filepath.Join(dir, queueFile), func([]byte) []byte { return nil })
		},
		"not a queue, ": func(t *testing.T, dir string) {
			damage(t, filepath.Join(dir, queueFile), func([]byte) []byte { return []byte("some text") })
		},
		"not a queue, or damaged": func(t *testing.T, dir string) {
			damage(t, filepath.Join(dir, queueFile), func(b []byte) []byte { return bytes.Repeat([]byte("foreign "), len(b)/8) })
		},
		"truncated to": func(t *testing.T, dir string) {
			damage(t, filepath.Join(dir, queueFile), func(b []byte) []byte { return b[:3*4096] })
		},
		"not a regular file": func(t *testing.T, dir string) {
			if err := errors.Join(os.Remove(filepath.Join(dir, queueFile)), os.Mkdir(filepath.Join(dir, queueFile), 0o700)); err != nil {
				t.Fatal(err)
			}
		},
		`version "3"`: func(t *testing.T, dir string) {
			about(t, dir, func(tx *bolt.Tx) error { return tx.Bucket(metaBucket).Put(versionKey, []byte("3")) })
		},
		`codec "protobuf", not "raw"`: func(t *testing.T, dir string) {
			about(t, dir, func(tx *bolt.Tx) error { return tx.Bucket(metaBucket).Put(codecKey, []byte("protobuf")) })
		},
		"with other contents": func(t *testing.T, dir string) {
			about(t, dir, func(tx *bolt.Tx) error { return tx.DeleteBucket(metaBucket) })
		},
		"with key 0102": func(t *testing.T, dir string) {
			about(t, dir, func(tx *bolt.Tx) error { return tx.Bucket(recordsBucket).Put([]byte{1, 2}, make([]byte, 9)) })
		},
		"with key 0000000000000000 ": func(t *testing.T, dir string) {
			about(t, dir, func(tx *bolt.Tx) error { return tx.Bucket(recordsBucket).Put(make([]byte, 8), make([]byte, 9)) })
		},
		"with key ffffffffffffffff ": func(t *testing.T, dir string) {
			about(t, dir, func(tx *bolt.Tx) error {
				return tx.Bucket(recordsBucket).Put(bytes.Repeat([]byte{0xff}, 8), make([]byte, 9))
			})
		},
		"with key 0000000000000007 and 3 bytes": func(t *testing.T, dir string) {
			about(t, dir, func(tx *bolt.Tx) error { return tx.Bucket(recordsBucket).Put([]byte{7: 7}, make([]byte, 3)) })
		},
		"header of page 5 has number": func(t *testing.T, dir string) {
			damage(t, filepath.Join(dir, queueFile), func(b []byte) []byte {
				b[5*4096]++
				return b
			})
		},
	} {
		t.Run(says, func(t *testing.T) {
			dir := oldQueueOf(t, 500)
			spoil(t, dir)
			path := filepath.Join(dir, queueFile)
			before, _ := os.ReadFile(path)
			_, err := OpenDurable[[]byte](dir, nil)
			if err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), path) {
				t.Errorf("OpenDurable: %v, want %q and the file", err, says)
			}
			if !strings.HasPrefix(says, "codec") { // Compact reads any
				_, _, err := Compact(dir)
				if err == nil || !strings.Contains(err.Error(), says) || !strings.HasPrefix(err.Error(), "spill: Compact: ") {
					t.Errorf("Compact: %v, want %q", err, says)
				}
			}
			if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
				t.Error("the file was changed")
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "*.new*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// TestDurableDirectory: the directory is created, but not its parent.
func TestDurableDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "no", "where")
	if _, err := OpenDurable[int](dir, nil); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), dir) {
		t.Errorf("without a parent: %v", err)
	}
	if _, err := OpenDurable(dir, &DurableOptions[int]{DiskLimit: -1}); err == nil || !strings.Contains(err.Error(), "DiskLimit is -1") {
		t.Errorf("a bad option: %v", err)
	}
}

// TestOneAtATime: a second Durable, or a program that opens the file for reading,
// gets an error that the queue is in use, until the first one is shut down.
func TestOneAtATime(t *testing.T) {
	dir := t.TempDir()
	c, err := reopen(dir)
	if err != nil {
		t.Fatal(err)
	}
	sendError := func() {
		t.Helper()
		for what, err := range map[string]error{"OpenDurable": second(reopen(dir)), "Compact": func() error { _, _, err := Compact(dir); return err }()} {
			if err == nil || !strings.Contains(err.Error(), "in use by another") || !strings.Contains(err.Error(), dir) {
				t.Errorf("%s of a queue that is open: %v", what, err)
			}
		}
	}
	sendError()
	if err := c.Shutdown(); err != nil {
		t.Fatal(err)
	}
	reads, err := bolt.Open(filepath.Join(dir, queueFile), 0o600, &bolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	sendError()
	if err := reads.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := reopen(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Shutdown(); err != nil {
		t.Fatal(err)
	}
}

// FuzzDamage changes bytes of a queue of version 1, or truncates it. Opening it and receiving
// everything then returns the values that were sent, or an error, and nothing else.
func FuzzDamage(f *testing.F) {
	whole, err := os.ReadFile(filepath.Join(oldQueueOf(f, 200), queueFile))
	if err != nil {
		f.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		f.Add(rng.Uint32(), byte(rng.Uint32()), uint32(len(whole)), rng.Uint32(), byte(1<<rng.IntN(8)))
	}
	for page := range uint32(6) { // the headers of pages
		for field := range uint32(48) {
			f.Add(page*4096+field, byte(rng.Uint32()|1), uint32(len(whole)), uint32(0), byte(0))
		}
	}
	for page := range uint32(9) {
		f.Add(uint32(0), byte(0), page*4096, uint32(0), byte(0))
	}
	f.Fuzz(func(t *testing.T, at1 uint32, xor1 byte, length, at2 uint32, xor2 byte) {
		b := bytes.Clone(whole)
		b[int(at1)%len(b)] ^= xor1
		b[int(at2)%len(b)] ^= xor2
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, queueFile), b[:min(int(length), len(b))], 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := reopen(dir)
		if err != nil {
			return
		}
		defer func() { _ = c.Shutdown() }()
		for range 300 {
			d, err := c.TryRecv()
			if err != nil {
				return
			}
			known := false
			for i := range 200 {
				known = known || bytes.Equal(d.Value, numbered(i))
			}
			if !known {
				t.Fatalf("received %q, which was never sent", d.Value)
			}
		}
		t.Fatal("more records than were sent")
	})
}

// TestUndecodable: a record that the codec cannot decode is delivered again until it
// is dropped, and the records after it are not lost.
func TestUndecodable(t *testing.T) {
	c := durableOn(newMemoryStore(), &DurableOptions[string]{Codec: fragile{raw()}})
	for _, v := range []string{"late panic", "late error", "fine"} {
		if err := c.TrySend(v); err != nil {
			t.Fatal(err)
		}
	}
	s := c.store.(*memoryStore)
	for i, v := range []string{"late panic", "late error"} {
		var bad *RecordError
		for range 2 {
			if _, err := c.TryRecv(); !errors.As(err, &bad) || string(bad.Raw) != v || !strings.Contains(err.Error(), "no value") {
				t.Fatalf("%s: %v", v, err)
			}
		}
		full := errors.New("full")
		s.onWrite = func(uint64, [][]byte, []uint64) error { return full }
		if err := bad.Drop(); err != full {
			t.Errorf("dropped on a full disk: %v", err)
		}
		s.onWrite = nil
		if err := bad.Drop(); err != nil {
			t.Fatal(err)
		}
		if err := bad.Drop(); err != ErrSettled {
			t.Errorf("dropped again: %v", err)
		}
		if s := c.Stats(); s.Len != 2-i || s.Sent-s.Received != uint64(s.Len) {
			t.Errorf("after a Drop: %+v", s)
		}
		if v == "late error" && errors.Unwrap(bad) == nil {
			t.Error("a RecordError without a reason")
		}
	}
	d, err := c.TryRecv()
	if err != nil || d.Value != "fine" || d.Ack() != nil || c.InFlight() != 0 || c.bytes != 0 {
		t.Errorf("behind them: %v, %v; %d unsettled, %d bytes", d, err, c.InFlight(), c.bytes)
	}
}
