package spill

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
)

// faulty is a disk in memory that can be made to fail, and that counts open files.
type faulty struct {
	mu      sync.Mutex
	open    int
	made    int
	onMake  error
	onWrite func(b []byte) (n int, err error) // how many bytes get through; nil: all
	onRead  func(b []byte) (n int, err error) // what is done to what was read
}

func (f *faulty) create() (file, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.onMake != nil {
		return nil, &os.PathError{Op: "open", Path: "folder/segment", Err: f.onMake}
	}
	f.made++
	f.open++
	return &faultyFile{disk: f, name: fmt.Sprint("segment-", f.made)}, nil
}

func (f *faulty) opened() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.open
}

type faultyFile struct {
	disk *faulty
	name string
	data []byte
	shut bool
}

func (f *faultyFile) Name() string { return f.name }

func (f *faultyFile) WriteAt(b []byte, at int64) (n int, err error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	n = len(b)
	if f.disk.onWrite != nil {
		n, err = f.disk.onWrite(b)
	}
	if grow := int(at) + n - len(f.data); grow > 0 {
		f.data = append(f.data, make([]byte, grow)...)
	}
	copy(f.data[at:], b[:n])
	return n, err
}

func (f *faultyFile) ReadAt(b []byte, at int64) (n int, err error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	n = copy(b, f.data[at:])
	if f.disk.onRead != nil {
		return f.disk.onRead(b)
	}
	return n, nil
}

func (f *faultyFile) Close() error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.shut {
		return errors.New("closed twice")
	}
	f.shut = true
	f.disk.open--
	return nil
}

// full writes a part of the bytes, like a disk without room for more.
func full(b []byte) (int, error) { return len(b) / 2, syscall.ENOSPC }

// short writes a part of the bytes and returns no error.
func short(b []byte) (int, error) { return len(b) / 2, nil }
