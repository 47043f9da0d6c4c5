// Package disk is a folder of files, as far as the log store needs one. Tests replace it
// by the disk of package simdisk.
package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// A Disk is a folder. Names are relative to it.
type Disk interface {
	// Lock acquires the lock of the folder, or returns ErrLocked.
	Lock() (Lock, error)
	// Create creates a file, which must not exist.
	Create(name string) (File, error)
	// Open opens a regular file.
	Open(name string) (File, error)
	Rename(from, to string) error
	Remove(name string) error
	// List returns the regular files and their sizes.
	List() (map[string]int64, error)
	// Sync makes the names in the folder durable.
	Sync() error
	// Path returns the path of a file, for errors.
	Path(name string) string
}

// A File is an open file of a Disk.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Sync() error
	Truncate(size int64) error
	// Check returns the size. It returns an error if the name of the file does not lead
	// to it any more.
	Check() (size int64, err error)
}

// A Lock is the file of a folder that is locked. After an error of Check, another process may have the
// lock, too.
type Lock interface {
	io.WriterAt
	io.Closer
	Check() (size int64, err error) // as for a File
}

// ErrLocked is part of the error of Lock if the folder is locked.
var ErrLocked = errors.New("in use by another Durable, in this process or another")

var errReplaced = errors.New("it is another file now")

// A Folder is a disk of the operating system.
type Folder struct {
	Dir    string
	NoSync bool // leave out all syncs
}

// LockFile is the name of the file that is locked.
const LockFile = "log.lock"

// lockTimeout is how long Lock waits for a process that is about to exit.
const lockTimeout = 250 * time.Millisecond

func (d Folder) Lock() (Lock, error) {
	f, err := openRegular(d.Path(LockFile), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	err = lockFileOf(f)
	for start := time.Now(); err == ErrLocked && time.Since(start) < lockTimeout; err = lockFileOf(f) {
		time.Sleep(lockTimeout / 10)
	}
	if err == nil {
		var held File
		if held, err = d.opened(f, nil); err == nil {
			if _, err = held.Check(); err == nil {
				return held, nil
			}
		}
	}
	_ = f.Close()
	return nil, fmt.Errorf("%s: %w", d.Path(LockFile), err)
}

func (d Folder) Create(name string) (File, error) {
	return d.opened(os.OpenFile(d.Path(name), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600))
}

func (d Folder) Open(name string) (File, error) {
	return d.opened(openRegular(d.Path(name), os.O_RDWR))
}

// opened returns a file that was opened, unless that failed.
func (d Folder) opened(f *os.File, err error) (File, error) {
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &osFile{f, info, d.NoSync}, nil
}

// openRegular opens a file, but no pipe, for which open would wait.
func openRegular(path string, flag int) (*os.File, error) {
	info, err := os.Lstat(path)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: not a regular file", path)
	case err != nil && (!errors.Is(err, fs.ErrNotExist) || flag&os.O_CREATE == 0):
		return nil, err
	}
	return os.OpenFile(path, flag, 0o600)
}

func (d Folder) Rename(from, to string) error { return os.Rename(d.Path(from), d.Path(to)) }
func (d Folder) Remove(name string) error     { return os.Remove(d.Path(name)) }
func (d Folder) Path(name string) string      { return filepath.Join(d.Dir, name) }

func (d Folder) List() (map[string]int64, error) {
	entries, err := os.ReadDir(d.Dir)
	if err != nil {
		return nil, err
	}
	files := map[string]int64{}
	for _, e := range entries {
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if info.Mode().IsRegular() {
			files[e.Name()] = info.Size()
		}
	}
	return files, nil
}

func (d Folder) Sync() error {
	if d.NoSync || runtime.GOOS == "windows" { // NTFS has no sync of a folder
		return nil
	}
	f, err := os.Open(d.Dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

type osFile struct {
	*os.File
	identity fs.FileInfo // of the file that was opened; it cannot change, nor be another file's meanwhile
	noSync   bool
}

func (f *osFile) Sync() error {
	if f.noSync {
		return nil
	}
	return f.File.Sync()
}

func (f *osFile) Check() (size int64, err error) {
	named, err := os.Lstat(f.Name())
	if err != nil {
		return 0, err
	}
	if !os.SameFile(f.identity, named) {
		return 0, &fs.PathError{Op: "check", Path: f.Name(), Err: errReplaced}
	}
	return named.Size(), nil
}
