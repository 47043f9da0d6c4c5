package logstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-go/sluice/internal/ramdir"
	"github.com/sluice-go/sluice/internal/suite"
	"github.com/sluice-go/sluice/spill/internal/disk"
)

// payloadOf returns the payload of record seq in tests with real files.
func payloadOf(seq uint64) []byte {
	return bytes.Repeat(binary.LittleEndian.AppendUint64(nil, seq*0x9e3779b97f4a7c15), 1+int(seq%40))
}

var small = Options{Codec: "test", SegmentSize: 16 << 10}

// A load writes, reads and acknowledges until it is stopped or fails.
type load struct {
	store   *Store
	stop    atomic.Bool
	written atomic.Uint64
	failed  atomic.Bool
	wrong   atomic.Pointer[Record]
	done    sync.WaitGroup
}

func (l *load) write(next uint64) {
	defer l.done.Done()
	for acked := next; !l.stop.Load(); {
		var payloads [][]byte
		for i := range uint64(8) {
			payloads = append(payloads, payloadOf(next+i))
		}
		var deletes []uint64
		if next > acked+300 {
			for range 8 {
				deletes = append(deletes, acked)
				acked++
			}
		}
		if err := l.store.Write(next, payloads, deletes, 0); err != nil {
			l.failed.Store(true)
			return
		}
		next += 8
		l.written.Store(next)
	}
}

func (l *load) read() {
	defer l.done.Done()
	for !l.stop.Load() {
		for from := uint64(0); ; {
			records, err := l.store.Read(from, 1<<62, 10_000)
			if err != nil || len(records) == 0 {
				break
			}
			l.check(records)
			from = records[len(records)-1].Seq + 1
		}
	}
}

func (l *load) check(records []Record) {
	for _, r := range records {
		if r.Damaged == nil && !bytes.Equal(r.Payload, payloadOf(r.Seq)) {
			l.wrong.Store(&r)
		}
	}
}

// segmentsIn returns the paths of the segments in dir, oldest first.
func segmentsIn(dir string) []string {
	paths, _ := filepath.Glob(filepath.Join(dir, "*"+segmentSuffix))
	return slices.DeleteFunc(paths, func(path string) bool { return strings.HasSuffix(path, disk.LockFile) })
}

func overwrite(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil && info.Size() > 100 {
		_, err = f.WriteAt(bytes.Repeat([]byte{7}, int(info.Size())-100), 100)
	}
	return errors.Join(err, f.Close())
}

// TestDamageWhileOpen: files that other programs truncate, overwrite or remove under a
// load lead to errors. No call hangs or panics, and no record is returned with other
// content. Repair makes the store usable.
func TestDamageWhileOpen(t *testing.T) {
	suite.Needs(t, "a disk that syncs each write")
	first := func(paths []string) string { return paths[0] }
	last := func(paths []string) string { return paths[len(paths)-1] }
	for name, damage := range map[string]struct {
		which func([]string) string
		do    func(path string) error
		ends  bool // writes fail
	}{
		"oldest truncated":   {first, func(p string) error { return os.Truncate(p, 0) }, false},
		"oldest cut":         {first, func(p string) error { return os.Truncate(p, 5000) }, false},
		"oldest overwritten": {first, overwrite, false},
		"oldest removed":     {first, os.Remove, false},
		"last truncated":     {last, func(p string) error { return os.Truncate(p, 0) }, true},
		"last cut":           {last, func(p string) error { return os.Truncate(p, 50) }, true},
		"last overwritten":   {last, overwrite, false},
		"last removed":       {last, os.Remove, true},
		"checkpoint removed": {last, func(p string) error { return os.Remove(filepath.Join(filepath.Dir(p), checkpointFile)) }, false},
		"folder removed":     {last, func(p string) error { return os.RemoveAll(filepath.Dir(p)) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "queue")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			s, c, err := Open(disk.Folder{Dir: dir}, small)
			if err != nil {
				t.Fatal(err)
			}
			l := &load{store: s}
			l.done.Add(2)
			go l.write(c.Next)
			go l.read()
			for l.written.Load() < 400 {
				time.Sleep(100 * time.Microsecond)
			}
			// The load may rotate, and remove a file, at the same moment: do it again.
			for done := false; !done; done = done && (!damage.ends || l.failed.Load()) {
				if paths := segmentsIn(dir); len(paths) > 0 {
					done = damage.do(damage.which(paths)) == nil
				} else {
					done = true
				}
				time.Sleep(100 * time.Microsecond)
			}
			for seen := l.written.Load(); l.written.Load() < seen+160 && !l.failed.Load(); {
				time.Sleep(100 * time.Microsecond)
			}
			l.stop.Store(true)
			l.done.Wait()
			if damage.ends != l.failed.Load() {
				t.Errorf("writes failed: %v, want %v", l.failed.Load(), damage.ends)
			}
			_ = s.Close()
			if wrong := l.wrong.Load(); wrong != nil {
				t.Errorf("record %d: %x", wrong.Seq, wrong.Payload)
			}
			if name == "folder removed" {
				return
			}
			if _, err := Repair(disk.Folder{Dir: dir}, small, nil); err != nil {
				t.Fatal(err)
			}
			if s, c, err = Open(disk.Folder{Dir: dir}, small); err != nil {
				t.Fatal(err)
			}
			records, err := s.Read(0, c.Next, 1<<30)
			if l.check(records); err != nil || len(records) != c.Records || l.wrong.Load() != nil {
				t.Errorf("%d of %d records, %v", len(records), c.Records, err)
			}
			if err := errors.Join(s.Write(c.Next, [][]byte{{1}}, nil, 0), s.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestFiles: the store on real files, its lock, and what it leaves behind.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	s, c, err := Open(disk.Folder{Dir: dir}, Options{})
	if err != nil || c != (Contents{First: 1, Next: 1}) {
		t.Fatal(c, err)
	}
	if _, _, err := Open(disk.Folder{Dir: dir}, Options{}); !errors.Is(err, disk.ErrLocked) || !strings.Contains(err.Error(), dir) {
		t.Errorf("opened twice: %v", err)
	}
	if _, err := Repair(disk.Folder{Dir: dir}, Options{}, nil); !errors.Is(err, disk.ErrLocked) {
		t.Errorf("repaired while open: %v", err)
	}
	if err := s.Write(1, [][]byte{payloadOf(1), payloadOf(2)}, nil, 0); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Write(3, nil, []uint64{1}, 0), s.Close()); err != nil {
		t.Fatal(err)
	}
	if s, c, err = Open(disk.Folder{Dir: dir}, Options{}); err != nil || c.Records != 1 || c.First != 2 || c.Next != 3 {
		t.Fatal(c, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	entries, _ := os.ReadDir(dir)
	if len(entries) != 6 { // the lock, the checkpoint, the mark, a segment, and the spares
		t.Errorf("left: %v", entries)
	}
	report, err := Repair(disk.Folder{Dir: dir}, Options{}, nil)
	if err != nil || report.Lost > 0 || report.Records != 1 || len(report.SetAside) > 0 {
		t.Errorf("%+v, %v", report, err)
	}
	if s, _, err = Open(disk.Folder{Dir: dir}, Options{}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Write(3, nil, []uint64{2}, 0), s.Close()); err != nil {
		t.Fatal(err)
	}
	entries, _ = os.ReadDir(dir)
	var size int64
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			size += info.Size()
		}
	}
	if len(entries) != 4 || size > 1000 {
		t.Errorf("an empty store left %d bytes: %v", size, entries)
	}
}

// TestReplacedFolder: a store whose folder was replaced does not touch the new one.
func TestReplacedFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "queue")
	var stores [3]*Store
	for i := range stores {
		if err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700)); err != nil {
			t.Fatal(err)
		}
		var err error
		if stores[i], _, err = Open(disk.Folder{Dir: dir}, small); err != nil {
			t.Fatal(err)
		}
	}
	if err := stores[2].Write(1, [][]byte{payloadOf(1)}, nil, 0); err != nil {
		t.Fatal(err)
	}
	if err := stores[0].Write(1, [][]byte{payloadOf(1)}, nil, 0); !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), "removed or replaced") {
		t.Errorf("the old store: %v", err)
	}
	before, _ := os.ReadDir(dir)
	if err := errors.Join(stores[0].Close(), stores[1].Close()); !errors.Is(err, ErrUnknown) {
		t.Errorf("nobody heard that the folder was replaced: %v", err)
	}
	if after, _ := os.ReadDir(dir); len(after) != len(before) {
		t.Errorf("%v became %v", before, after)
	}
	if err := errors.Join(stores[2].Write(2, [][]byte{payloadOf(2)}, []uint64{1}, 0), stores[2].Close()); err != nil {
		t.Error(err)
	}
	if s, c, err := Open(disk.Folder{Dir: dir}, small); err != nil || c.Records != 1 || c.First != 2 || s.Close() != nil {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestRemovedLock: when the file of the lock was removed, another store can open the folder. Then the
// first one fails, whichever is used first, and the other one loses nothing.
func TestRemovedLock(t *testing.T) {
	add := func(s *Store, seq uint64) error { return s.Write(seq, [][]byte{payloadOf(seq)}, nil, 0) }
	for _, load := range []struct {
		name   string
		stored uint64 // records when the lock is removed
		use    func(first *Store, next uint64) error
		put    bool // one of another store takes its place, so the other store begins no segment
	}{
		{"a write", 1, writeOther, false},
		{"a write when the file was replaced", 1, writeOther, true},
		{"a write that was between its two looks", 1, writeBetween, false},
		{"the same, into a segment that is empty", 0, writeBetween, false},
		{"Close", 1, func(first *Store, _ uint64) error { return first.Close() }, false},
	} {
		for _, alone := range []bool{true, false} {
			dir := ramdir.New(t)
			first, _, err := Open(disk.Folder{Dir: dir}, small)
			for seq := range load.stored {
				err = errors.Join(err, add(first, seq+1))
			}
			if err = errors.Join(err, os.Remove(filepath.Join(dir, disk.LockFile))); err == nil && load.put {
				err = os.WriteFile(filepath.Join(dir, disk.LockFile), []byte{'\n'}, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			next := load.stored + 1
			if alone { // there is no other store
				if err := load.use(first, next); !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), disk.LockFile) {
					t.Errorf("%s without a lock: %v", load.name, err)
				}
				continue
			}
			second, c, err := Open(disk.Folder{Dir: dir}, small)
			if err != nil || c.Next != next || add(second, next) != nil {
				t.Fatal(c, err)
			}
			if err = load.use(first, next); !errors.Is(err, ErrUnknown) {
				t.Errorf("%s: %v", load.name, err)
			}
			_ = first.Close()
			if err := errors.Join(add(second, next+1), second.Close()); err != nil {
				t.Error(err)
			}
			s, c, err := Open(disk.Folder{Dir: dir}, small)
			if err != nil || c.First != 1 || c.Records != int(next+1) {
				t.Fatalf("%s: %+v, %v", load.name, c, err)
			}
			for seq := range next + 1 {
				if r, err := s.Read(seq+1, seq+2, 1); err != nil || len(r) != 1 || !bytes.Equal(r[0].Payload, payloadOf(seq+1)) {
					t.Errorf("%s: record %d: %v, %v", load.name, seq+1, r, err)
				}
			}
			_ = s.Close()
		}
	}
}

// writeOther writes another record than the other store does.
func writeOther(first *Store, seq uint64) error {
	return first.Write(seq, [][]byte{bytes.Repeat([]byte("other"), 100)}, nil, 0)
}

// writeBetween is writeOther, begun when nothing had happened.
func writeBetween(first *Store, seq uint64) error {
	g := first.state.active()
	g.file = &lookedAt{File: g.file, size: g.length}
	return writeOther(first, seq)
}

// lookedAt is a file whose first check has the result of an earlier one.
type lookedAt struct {
	disk.File
	size int64 // 0 after the first check
}

func (f *lookedAt) Check() (size int64, err error) {
	if size, f.size = f.size, 0; size > 0 {
		return size, nil
	}
	return f.File.Check()
}

// TestNotAFile: a pipe or a folder in place of a file is an error, and does not hang.
func TestNotAFile(t *testing.T) {
	for _, name := range []string{disk.LockFile, checkpointFile, markFile} {
		dir := t.TempDir()
		s, _, err := Open(disk.Folder{Dir: dir}, Options{})
		if err != nil || s.Close() != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o700)); err != nil {
			t.Fatal(err)
		}
		if _, _, err := Open(disk.Folder{Dir: dir}, Options{}); err == nil || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
