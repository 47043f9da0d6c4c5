package logstore

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"sync"
	"syscall"
)

// A sim is a disk in memory. It counts operations, can fail them, and can crash: then
// what was not synced is lost, or kept, or torn.
type sim struct {
	mu      sync.Mutex
	names   map[string]*simInode
	durable map[string]*simInode // names after a crash without luck
	changes []func(map[string]*simInode)
	locked  bool
	ops     int
	read    int64
	syncs   int
	liar    string // the operation that does nothing
	limit   int64  // bytes of all files; 0: none
	// fail is called before each operation; an error fails it.
	fail func(op, name string) error
}

type simInode struct {
	data, synced []byte
	changes      []simWrite
}

// A simWrite is a write, or, with nil data, a truncation.
type simWrite struct {
	data []byte
	at   int64
}

var errDead = errors.New("the machine is off")

func newSim() *sim { return &sim{names: map[string]*simInode{}, durable: map[string]*simInode{}} }

func (d *sim) do(op, name string) error {
	d.ops++
	if d.fail != nil {
		if err := d.fail(op, name); err != nil {
			return fmt.Errorf("%s %s: %w", op, name, err)
		}
	}
	return nil
}

func (d *sim) lock() (io.Closer, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.locked {
		return nil, errLocked
	}
	d.locked = true
	return simLock{d}, nil
}

type simLock struct{ *sim }

func (l simLock) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.locked = false
	return nil
}

func (d *sim) change(f func(map[string]*simInode)) {
	f(d.names)
	d.changes = append(d.changes, f)
}

func (d *sim) create(name string) (file, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.do("create", name); err != nil {
		return nil, err
	}
	if d.names[name] != nil {
		return nil, fs.ErrExist
	}
	inode := new(simInode)
	d.change(func(m map[string]*simInode) { m[name] = inode })
	return &simFile{d, name, inode}, nil
}

func (d *sim) open(name string) (file, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.do("open", name); err != nil {
		return nil, err
	}
	if d.names[name] == nil {
		return nil, fs.ErrNotExist
	}
	return &simFile{d, name, d.names[name]}, nil
}

func (d *sim) rename(from, to string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.do("rename", to); err != nil {
		return err
	}
	inode := d.names[from]
	if inode == nil {
		return fs.ErrNotExist
	}
	d.change(func(m map[string]*simInode) {
		delete(m, from)
		m[to] = inode
	})
	return nil
}

func (d *sim) remove(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.do("remove", name); err != nil {
		return err
	}
	if d.names[name] == nil {
		return fs.ErrNotExist
	}
	d.change(func(m map[string]*simInode) { delete(m, name) })
	return nil
}

func (d *sim) list() (map[string]int64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.do("list", ""); err != nil {
		return nil, err
	}
	files := map[string]int64{}
	for name, inode := range d.names {
		files[name] = int64(len(inode.data))
	}
	return files, nil
}

func (d *sim) sync() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.do("syncdir", ""); err != nil {
		return err
	}
	if d.syncs++; d.liar == "syncdir" {
		return nil
	}
	d.durable, d.changes = maps.Clone(d.names), nil
	return nil
}

func (d *sim) path(name string) string { return "disk/" + name }

func (d *sim) used() (n int64) {
	for _, inode := range d.names {
		n += int64(len(inode.data))
	}
	return n
}

// size returns the size of all files.
func (d *sim) size() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.used()
}

type simFile struct {
	disk  *sim
	name  string
	inode *simInode
}

func (w simWrite) apply(data []byte) []byte {
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

func (f *simFile) add(w simWrite) {
	f.inode.data = w.apply(f.inode.data)
	f.inode.changes = append(f.inode.changes, w)
}

func (f *simFile) WriteAt(b []byte, at int64) (n int, err error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if err := f.disk.do("write", f.name); err != nil {
		if errors.Is(err, syscall.EIO) && len(b) > 0 { // a part got through
			f.add(simWrite{append([]byte{}, b[:len(b)/2]...), at})
			return len(b) / 2, err
		}
		return 0, err
	}
	n = len(b)
	if d := f.disk; d.limit > 0 {
		grow := max(0, at+int64(n)-int64(len(f.inode.data)))
		if free := max(0, d.limit-d.used()); grow > free {
			n, err = n-int(grow-free), fmt.Errorf("write %s: %w", f.name, syscall.ENOSPC)
		}
	}
	if n = max(n, 0); n > 0 {
		f.add(simWrite{append([]byte{}, b[:n]...), at})
	}
	return n, err
}

func (f *simFile) ReadAt(b []byte, at int64) (n int, err error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if err := f.disk.do("read", f.name); err != nil {
		return 0, err
	}
	if at < int64(len(f.inode.data)) {
		n = copy(b, f.inode.data[at:])
	}
	f.disk.read += int64(n)
	if n < len(b) {
		err = io.EOF
	}
	return n, err
}

func (f *simFile) Truncate(size int64) error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if err := f.disk.do("truncate", f.name); err != nil {
		return err
	}
	f.add(simWrite{nil, size})
	return nil
}

func (f *simFile) Sync() error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if err := f.disk.do("sync", f.name); err != nil {
		f.inode.changes = nil // Linux drops what it could not write, and keeps it in memory
		return err
	}
	if f.disk.syncs++; f.disk.liar == "sync" {
		return nil
	}
	for _, w := range f.inode.changes {
		f.inode.synced = w.apply(f.inode.synced)
	}
	f.inode.changes = nil
	return nil
}

func (f *simFile) Close() error { return nil }

func (f *simFile) check() (int64, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if err := f.disk.do("check", f.name); err != nil {
		return 0, err
	}
	if f.disk.names[f.name] != f.inode {
		return 0, fs.ErrNotExist
	}
	return int64(len(f.inode.data)), nil
}

// A crash is what happens to changes that were not synced.
type crash int

const (
	killed crash = iota // the process ends: all are kept
	lost                // all are lost
	torn                // sectors and renames are kept or lost at random
)

// crashed returns the disk after a crash.
func (d *sim) crashed(how crash, random *rand.Rand) *sim {
	d.mu.Lock()
	defer d.mu.Unlock()
	after := newSim()
	names := maps.Clone(d.durable)
	switch how {
	case killed:
		names = d.names
	case torn:
		for _, change := range d.changes[:random.IntN(len(d.changes)+1)] {
			change(names)
		}
	}
	for name, inode := range names {
		data := append([]byte{}, inode.synced...)
		switch how {
		case killed:
			data = append([]byte{}, inode.data...)
		case torn:
			for _, w := range inode.changes {
				data = w.tear(data, random)
			}
		}
		after.put(name, data)
	}
	return after
}

// put stores a file durably.
func (d *sim) put(name string, data []byte) {
	inode := &simInode{data: data, synced: append([]byte{}, data...)}
	d.names[name], d.durable[name] = inode, inode
}

const sector = 64 // smaller than a real one, so that more is torn

// tear applies some sectors of a write.
func (w simWrite) tear(data []byte, random *rand.Rand) []byte {
	if w.data == nil {
		if random.IntN(2) == 0 {
			data = w.apply(data)
		}
		return data
	}
	for at := w.at; at < w.at+int64(len(w.data)); {
		end := min(at/sector*sector+sector, w.at+int64(len(w.data)))
		if random.IntN(3) > 0 {
			data = simWrite{w.data[at-w.at : end-w.at], at}.apply(data)
		}
		at = end
	}
	return data
}
