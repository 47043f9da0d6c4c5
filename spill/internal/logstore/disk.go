package logstore

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// A disk is a folder. Names are relative to it. Tests replace it to simulate crashes and
// failures.
type disk interface {
	// lock acquires the lock of the folder, or returns errLocked.
	lock() (io.Closer, error)
	// create creates a file, which must not exist.
	create(name string) (file, error)
	// open opens a regular file.
	open(name string) (file, error)
	rename(from, to string) error
	remove(name string) error
	// list returns the regular files and their sizes.
	list() (map[string]int64, error)
	// sync makes the names in the folder durable.
	sync() error
	// path returns the path of a file, for errors.
	path(name string) string
}

// A file is an open file of a disk.
type file interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Sync() error
	Truncate(size int64) error
	// check returns the size. It returns an error if the name of the file does not lead
	// to it any more.
	check() (size int64, err error)
}

var errLocked = errors.New("in use by another Durable, in this process or another")

// A folder is a disk of the operating system.
type folder struct {
	dir    string
	noSync bool
}

const lockFile = "log.lock"

func (d folder) lock() (io.Closer, error) {
	f, err := openRegular(d.path(lockFile), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	if err = lockFileOf(f); err == nil {
		_, err = (&osFile{File: f}).check()
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("%s: %w", d.path(lockFile), err)
	}
	return f, nil
}

func (d folder) create(name string) (file, error) {
	f, err := os.OpenFile(d.path(name), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return &osFile{f, d.noSync}, nil
}

func (d folder) open(name string) (file, error) {
	f, err := openRegular(d.path(name), os.O_RDWR)
	if err != nil {
		return nil, err
	}
	return &osFile{f, d.noSync}, nil
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

func (d folder) rename(from, to string) error { return os.Rename(d.path(from), d.path(to)) }
func (d folder) remove(name string) error     { return os.Remove(d.path(name)) }
func (d folder) path(name string) string      { return filepath.Join(d.dir, name) }

func (d folder) list() (map[string]int64, error) {
	entries, err := os.ReadDir(d.dir)
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

func (d folder) sync() error {
	if d.noSync || runtime.GOOS == "windows" { // NTFS has no sync of a folder
		return nil
	}
	f, err := os.Open(d.dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

type osFile struct {
	*os.File
	noSync bool
}

func (f *osFile) Sync() error {
	if f.noSync {
		return nil
	}
	return f.File.Sync()
}

func (f *osFile) check() (size int64, err error) {
	ours, err := f.Stat()
	if err != nil {
		return 0, err
	}
	named, err := os.Lstat(f.Name())
	if err != nil {
		return 0, err
	}
	if !os.SameFile(ours, named) {
		return 0, fmt.Errorf("%s: the file was replaced", f.Name())
	}
	return ours.Size(), nil
}
