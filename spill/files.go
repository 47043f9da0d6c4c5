package spill

import (
	"fmt"
	"io"
	"os"
)

// files creates the files that an Elastic writes. It is an interface so that tests can
// simulate disks that are full or fail.
type files interface {
	// create returns a file that no other process can open. The file is deleted when
	// it is closed or when the process ends, however it ends.
	create() (file, error)
}

type file interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Name() string
}

// A directory creates files on disk.
type directory string

func (d directory) create() (file, error) {
	f, err := os.CreateTemp(string(d), "spill-*.segment")
	if err != nil {
		return nil, err
	}
	// Unlinked, the file lives as long as it is open.
	if err := os.Remove(f.Name()); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("unlink an open file: %w", err)
	}
	return f, nil
}

// makeDir creates the directory dir unless it exists. Its parent must exist.
func makeDir(dir string) error {
	if err := os.Mkdir(dir, 0o700); err == nil || !os.IsExist(err) {
		return err
	}
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = &os.PathError{Op: "open", Path: dir, Err: fmt.Errorf("not a directory")}
	}
	return err
}
