// Package simdisk is a disk in memory, for tests of the log store and of what is built on
// it. It counts operations, fails them on demand, is full, and crashes: then what was not
// synced is lost, kept, or torn into sectors.
package simdisk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"sync"
	"syscall"

	"github.com/sluice-go/sluice/spill/internal/disk"
)

// A Disk is a disk in memory. Its methods may be called from any goroutine. The exported
// fields are set while no other goroutine uses the disk.
type Disk struct {
	// Fail is called before each operation, with its name and the file; an error fails it.
	// The operations are create, open, rename, remove, list, syncdir, write, read,
	// truncate, sync and check. After EIO a write has written a half. Fail runs with the
	// lock held.
	Fail func(op, name string) error
	// Liar is the operation, sync or syncdir, that does nothing.
	Liar string
	// Limit is the size of the disk in bytes; 0: none.
	Limit int64
	// Block is the unit in which files use up the Limit, in bytes; 0: single bytes.
	Block int64

	mu      sync.Mutex
	names   map[string]*inode
	durable map[string]*inode // names after a crash without luck
	changes []change          // of names, since Sync
	locked  bool
	ops     int
	read    int64
	syncs   int
	handles int
}

// An inode is a file, and what was done to it since it was synced.
type inode struct {
	data, synced []byte
	changes      []write
}

// A write is a write, or, with nil data, a truncation.
type write struct {
	data []byte
	at   int64
}

// A change gives a file a name, takes one away, or both.
type change struct {
	from, to string
	inode    *inode
}

func (c change) apply(names map[string]*inode) {
	delete(names, c.from)
	if c.to != "" {
		names[c.to] = c.inode
	}
}

// ErrOff is the error of all operations on a machine that is off.
var ErrOff = errors.New("the machine is off")

// New returns an empty disk.
func New() *Disk { return &Disk{names: map[string]*inode{}, durable: map[string]*inode{}} }

// attempt counts an operation, and returns the error if it fails. The caller holds mu.
func (d *Disk) attempt(op, name string) error {
	if d.ops++; d.Fail != nil {
		if err := d.Fail(op, name); err != nil {
			return fmt.Errorf("%s %s: %w", op, name, err)
		}
	}
	return nil
}

// do calls f, an operation, with mu held, unless it fails.
func (d *Disk) do(op, name string, f func() error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.attempt(op, name); err != nil {
		return err
	}
	return f()
}

// StopAt makes all operations after the first n fail: nothing happens on a machine that is
// off.
func (d *Disk) StopAt(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.Fail = func(string, string) error {
		if d.ops > n {
			return ErrOff
		}
		return nil
	}
}

func (d *Disk) Lock() (disk.Lock, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.locked {
		return nil, disk.ErrLocked
	}
	d.locked = true
	return lock{d}, nil
}

type lock struct{ *Disk }

func (lock) Check() (int64, error)                  { return 1, nil }
func (lock) WriteAt(b []byte, _ int64) (int, error) { return len(b), nil }

func (l lock) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.locked = false
	return nil
}

func (d *Disk) change(c change) {
	c.apply(d.names)
	d.changes = append(d.changes, c)
}

func (d *Disk) Create(name string) (made disk.File, err error) {
	err = d.do("create", name, func() error {
		if d.names[name] != nil {
			return fs.ErrExist
		}
		created := new(inode)
		d.change(change{to: name, inode: created})
		made = d.handle(name, created)
		return nil
	})
	return made, err
}

func (d *Disk) Open(name string) (opened disk.File, err error) {
	err = d.do("open", name, func() error {
		if d.names[name] == nil {
			return fs.ErrNotExist
		}
		opened = d.handle(name, d.names[name])
		return nil
	})
	return opened, err
}

func (d *Disk) handle(name string, of *inode) *file {
	d.handles++
	return &file{disk: d, name: name, inode: of}
}

func (d *Disk) Rename(from, to string) error { return d.do("rename", to, d.move(from, to)) }
func (d *Disk) Remove(name string) error     { return d.do("remove", name, d.move(name, "")) }

// move returns the operation that gives a file another name, or none.
func (d *Disk) move(from, to string) func() error {
	return func() error {
		if d.names[from] == nil {
			return fs.ErrNotExist
		}
		d.change(change{from, to, d.names[from]})
		return nil
	}
}

func (d *Disk) List() (files map[string]int64, err error) {
	err = d.do("list", "", func() error {
		files = map[string]int64{}
		for name, inode := range d.names {
			files[name] = int64(len(inode.data))
		}
		return nil
	})
	return files, err
}

func (d *Disk) Sync() error {
	return d.do("syncdir", "", func() error {
		if d.syncs++; d.Liar != "syncdir" {
			d.durable, d.changes = maps.Clone(d.names), nil
		}
		return nil
	})
}

func (d *Disk) Path(name string) string { return "disk/" + name }

func (d *Disk) used() (n int64) {
	for _, inode := range d.names {
		n += d.blocks(int64(len(inode.data)))
	}
	return n
}

// blocks returns the space that a file of n bytes uses.
func (d *Disk) blocks(n int64) int64 {
	if d.Block > 0 {
		n = (n + d.Block - 1) / d.Block * d.Block
	}
	return n
}

// A file is an open file.
type file struct {
	disk   *Disk
	name   string
	inode  *inode
	closed bool
}

func (w write) apply(data []byte) []byte {
	end := w.at + int64(len(w.data))
	if w.data == nil && int64(len(data)) > end {
		return data[:end:end]
	}
	if short := end - int64(len(data)); short > 0 {
		data = append(data, make([]byte, short)...)
	}
	copy(data[w.at:], w.data)
	return data
}

func (f *file) add(w write) {
	f.inode.data = w.apply(f.inode.data)
	f.inode.changes = append(f.inode.changes, w)
}

func (f *file) WriteAt(b []byte, at int64) (n int, err error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if err := f.disk.attempt("write", f.name); err != nil {
		if errors.Is(err, syscall.EIO) && len(b) > 0 { // a part got through
			f.add(write{append([]byte{}, b[:len(b)/2]...), at})
			return len(b) / 2, err
		}
		return 0, err
	}
	n = len(b)
	if d := f.disk; d.Limit > 0 {
		size := int64(len(f.inode.data))
		room := max(0, d.Limit-d.used()) + d.blocks(size) // for this file
		if d.Block > 0 {
			room = room / d.Block * d.Block
		}
		if end := at + int64(n); end > max(size, room) {
			n, err = int(max(size, room)-at), fmt.Errorf("write %s: %w", f.name, syscall.ENOSPC)
		}
	}
	if n = max(n, 0); n > 0 {
		f.add(write{append([]byte{}, b[:n]...), at})
	}
	return n, err
}

func (f *file) ReadAt(b []byte, at int64) (n int, err error) {
	err = f.disk.do("read", f.name, func() error {
		if at < int64(len(f.inode.data)) {
			n = copy(b, f.inode.data[at:])
		}
		if f.disk.read += int64(n); n < len(b) {
			return io.EOF
		}
		return nil
	})
	return n, err
}

func (f *file) Truncate(size int64) error {
	return f.disk.do("truncate", f.name, func() error {
		f.add(write{nil, size})
		return nil
	})
}

func (f *file) Sync() error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if err := f.disk.attempt("sync", f.name); err != nil {
		if !errors.Is(err, ErrOff) {
			f.inode.changes = nil // Linux drops what it could not write, and keeps it in memory
		}
		return err
	}
	if f.disk.syncs++; f.disk.Liar == "sync" {
		return nil
	}
	for _, w := range f.inode.changes {
		f.inode.synced = w.apply(f.inode.synced)
	}
	f.inode.changes = nil
	return nil
}

func (f *file) Close() error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.closed {
		return fs.ErrClosed
	}
	f.closed = true
	f.disk.handles--
	return nil
}

func (f *file) Check() (size int64, err error) {
	err = f.disk.do("check", f.name, func() error {
		if f.disk.names[f.name] != f.inode {
			return fs.ErrNotExist
		}
		size = int64(len(f.inode.data))
		return nil
	})
	return size, err
}
