package simdisk

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"slices"
)

// A Crash is what happens to changes that were not synced.
type Crash int

const (
	Killed Crash = iota // the process ends: all are kept, and still not synced
	Lost                // all are lost
	Torn                // sectors and renames are kept or lost at random
)

// After returns the disk after a crash.
func (d *Disk) After(how Crash, random *rand.Rand) *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	if how == Killed {
		return d.copy()
	}
	after := New()
	names := maps.Clone(d.durable)
	if how == Torn {
		for _, change := range d.changes[:random.IntN(len(d.changes)+1)] {
			change.apply(names)
		}
	}
	for name, inode := range names {
		data := bytes.Clone(inode.synced)
		if how == Torn {
			for _, w := range inode.changes {
				data = w.tear(data, random)
			}
		}
		after.Put(name, data)
	}
	return after
}

// copy returns a disk in the same state. The caller holds mu.
func (d *Disk) copy() *Disk {
	c := New()
	copies := map[*inode]*inode{}
	of := func(i *inode) *inode {
		if copies[i] == nil && i != nil {
			copies[i] = &inode{bytes.Clone(i.data), bytes.Clone(i.synced), slices.Clone(i.changes)}
		}
		return copies[i]
	}
	for name, i := range d.names {
		c.names[name] = of(i)
	}
	for name, i := range d.durable {
		c.durable[name] = of(i)
	}
	for _, change := range d.changes {
		change.inode = of(change.inode)
		c.changes = append(c.changes, change)
	}
	return c
}

// Put stores a file durably, in the place of one of the same name.
func (d *Disk) Put(name string, data []byte) {
	stored := &inode{data: data, synced: bytes.Clone(data)}
	d.names[name], d.durable[name] = stored, stored
}

// Contents returns a copy of all files.
func (d *Disk) Contents() map[string][]byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	files := map[string][]byte{}
	for name, inode := range d.names {
		files[name] = append([]byte{}, inode.data...)
	}
	return files
}

// Become makes d the other disk, which must not be used any more.
func (d *Disk) Become(other *Disk) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.names, d.durable, d.changes = other.names, other.durable, other.changes
}

// A Usage is what was done with a disk, and what it holds.
type Usage struct {
	Ops       int   // operations
	Syncs     int   // of files and of the folder
	BytesRead int64 // since ForgetReads
	Size      int64 // bytes of all files, in whole blocks
	Files     int
	Handles   int // open files
}

// Usage returns the usage of the disk.
func (d *Disk) Usage() Usage {
	d.mu.Lock()
	defer d.mu.Unlock()
	return Usage{d.ops, d.syncs, d.read, d.used(), len(d.names), d.handles}
}

// ForgetReads resets BytesRead.
func (d *Disk) ForgetReads() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.read = 0
}

const sector = 64 // smaller than a real one, so that more is torn

// tear applies some sectors of a write.
func (w write) tear(data []byte, random *rand.Rand) []byte {
	if w.data == nil {
		if random.IntN(2) == 0 {
			data = w.apply(data)
		}
		return data
	}
	for at := w.at; at < w.at+int64(len(w.data)); {
		end := min(at/sector*sector+sector, w.at+int64(len(w.data)))
		if random.IntN(3) > 0 {
			data = write{w.data[at-w.at : end-w.at], at}.apply(data)
		}
		at = end
	}
	return data
}
