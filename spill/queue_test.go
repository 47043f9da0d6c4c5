package spill

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/ramdir"
	"github.com/sluice-go/sluice/internal/suite"
	"github.com/sluice-go/sluice/spill/internal/disk"
	"github.com/sluice-go/sluice/spill/internal/logstore"
)

// spares are options with small files that keep room on the disk: tests copy them often.
var spares = logstore.Options{Reserve: 16 << 10, Acks: 16 << 10}

// reopen opens a queue without syncs.
func reopen(dir string) (*Durable[[]byte], error) {
	return reopenWith(RefuseDamage, dir, spares)
}

func reopenWith(policy DamagePolicy, dir string, o logstore.Options) (*Durable[[]byte], error) {
	p, err := (&DurableOptions[[]byte]{MemoryLimit: 1000, OnDamage: policy, Log: slog.New(slog.DiscardHandler)}).config()
	if err != nil {
		return nil, err
	}
	return openQueue(disk.Folder{Dir: dir, NoSync: true}, dir, p, o)
}

// queueOf creates a queue with the records 0 to n-1 and returns its directory.
func queueOf(t testing.TB, n int) (dir string) {
	t.Helper()
	dir = ramdir.New(t)
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
	paths, _ := filepath.Glob(filepath.Join(dir, "0*.log"))
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

// copyFolder returns a copy of a folder, as after kill -9.
func copyFolder(t *testing.T, from string) (to string) {
	t.Helper()
	to = ramdir.New(t)
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return to
}

// filesIn returns the contents of the files of a folder.
func filesIn(t testing.TB, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if e.Type().IsRegular() {
			b, failed := os.ReadFile(filepath.Join(dir, e.Name()))
			files[e.Name()], err = string(b), errors.Join(err, failed)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestNotAQueue: invalid files are rejected with an error that names the file and the
// reason, and are not changed.
func TestNotAQueue(t *testing.T) {
	checkpoint := func(dir string) string { return filepath.Join(dir, "checkpoint") }
	for _, test := range []struct {
		says  string
		path  func(dir string) string
		spoil func([]byte) []byte // nil: a folder takes the place of the file
	}{
		{"invalid checkpoint", checkpoint, func([]byte) []byte { return nil }},
		{"invalid checkpoint", checkpoint, func([]byte) []byte { return []byte("some text") }},
		{"invalid checkpoint", checkpoint, func(b []byte) []byte { return bytes.Repeat([]byte("foreign "), len(b)/8+9) }},
		{"wrong checksum", checkpoint, func(b []byte) []byte { return b[:len(b)-1] }},
		{"the file is missing", checkpoint, nil},
		{"invalid segment header", lastSegment, func(b []byte) []byte { return bytes.Repeat([]byte("foreign "), len(b)/8+9) }},
		{"bytes, and had", lastSegment, func(b []byte) []byte { return b[:len(b)-1] }},
		{"not a regular file", lastSegment, nil},
		{`codec "raw", not "json"`, checkpoint, func(b []byte) []byte { return b }},
	} {
		dir := queueOf(t, 50)
		path := test.path(dir)
		if test.spoil != nil {
			damage(t, path, test.spoil)
		} else if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o700)); err != nil {
			t.Fatal(err)
		}
		before := filesIn(t, dir)
		var err error
		if strings.HasPrefix(test.says, "codec") {
			_, err = OpenDurable[uint64](dir, nil)
		} else {
			_, err = OpenDurable[[]byte](dir, nil)
		}
		if err == nil || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), path) || !strings.HasPrefix(err.Error(), "spill: OpenDurable: ") {
			t.Errorf("%v, want %q and the file", err, test.says)
		}
		if !maps.Equal(before, filesIn(t, dir)) {
			t.Errorf("%s: the files were changed", test.says)
		}
	}
}

// TestDurableDirectory: the directory is created, but not its parent.
func TestDurableDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "no", "where")
	if _, err := OpenDurable[uint64](dir, nil); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), dir) {
		t.Errorf("without a parent: %v", err)
	}
	if _, err := OpenDurable(dir, &DurableOptions[uint64]{DiskLimit: -1}); err == nil || !strings.Contains(err.Error(), "DiskLimit is -1") {
		t.Errorf("a bad option: %v", err)
	}
}

// TestOneAtATime: a second Durable gets an error that the queue is in use, until the first one is
// shut down.
func TestOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // OpenDurable waits a moment for the lock
		dir := t.TempDir()
		for range 2 {
			c, err := reopen(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, policy := range []DamagePolicy{RefuseDamage, SetDamageAside} {
				_, err := OpenDurable(dir, &DurableOptions[[]byte]{OnDamage: policy})
				if want := filepath.Join(dir, disk.LockFile) + ": in use by another Durable, in this process or another"; err == nil || err.Error() != "spill: OpenDurable: "+want {
					t.Errorf("a queue that is open: %v, want %q", err, want)
				}
			}
			if err := c.Shutdown(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestLockIsReleased: OpenDurable waits a moment for a process that is about to exit.
func TestLockIsReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		c, err := reopen(dir)
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(100*time.Millisecond, func() { _ = c.Shutdown() })
		again, err := reopen(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := again.Shutdown(); err != nil {
			t.Error(err)
		}
	})
}

// FuzzDamage changes bytes of a file of a queue, or truncates it. Opening the queue and receiving
// everything then returns the values that were sent, or an error, and nothing else.
func FuzzDamage(f *testing.F) {
	from := queueOf(f, 200)
	whole := filesIn(f, from)
	names := slices.Sorted(maps.Keys(whole))
	rng := rand.New(rand.NewPCG(1, 1))
	for i, name := range names {
		for range suite.Rounds(10, 100) {
			f.Add(byte(i), rng.Uint32(), byte(rng.Uint32()), uint32(len(whole[name])), rng.Uint32(), byte(1<<rng.IntN(8)))
		}
		for at := uint32(0); at < 100; at += uint32(suite.Rounds(7, 1)) { // headers
			f.Add(byte(i), at, byte(rng.Uint32()|1), uint32(len(whole[name])), uint32(0), byte(0))
		}
		f.Add(byte(i), uint32(0), byte(0), rng.Uint32N(uint32(len(whole[name])+1)), uint32(0), byte(0))
	}
	f.Fuzz(func(t *testing.T, file byte, at1 uint32, xor1 byte, length, at2 uint32, xor2 byte) {
		dir := ramdir.New(t)
		for name, content := range whole {
			b := []byte(content)
			if name == names[int(file)%len(names)] && len(b) > 0 {
				b[int(at1)%len(b)] ^= xor1
				b[int(at2)%len(b)] ^= xor2
				b = b[:min(int(length), len(b))]
			}
			if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
				t.Fatal(err)
			}
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
	c := durableOn(newMemoryStore(), &DurableOptions[[]byte]{Codec: fragile{raw()}})
	for _, v := range []string{"late panic", "late error", "fine"} {
		if err := c.TrySend([]byte(v)); err != nil {
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
	if err != nil || string(d.Value) != "fine" || d.Ack() != nil || c.InFlight() != 0 || c.bytes != 0 {
		t.Errorf("behind them: %v, %v; %d unsettled, %d bytes", d, err, c.InFlight(), c.bytes)
	}
}
