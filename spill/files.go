package spill

import (
	"fmt"
	"io"
	"os"
)

// files makes the files that an Elastic writes. It is an interface so that tests
// can have disks that are full, or fail.
type files interface {
	// create makes a file that nobody else can reach, and that is gone when it
	// is closed, or the process ends however it does.
	create() (file, error)
}

type file interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Name() string
}

// folder makes files in a folder of the disk.
type folder string

func (f folder) create() (file, error) {
	made, err := os.CreateTemp(string(f), "spill-*.segment")
	if err != nil {
		return nil, err
	}
	// From now on the name is free and the space belongs to the open file.
	if err := os.Remove(made.Name()); err != nil {
		_ = made.Close()
		return nil, fmt.Errorf("unlink an open file: %w", err)
	}
	return made, nil
}

// makeFolder sees to it that dir is a folder. Its parent must be there.
func makeFolder(dir string) error {
	if err := os.Mkdir(dir, 0o700); err == nil || !os.IsExist(err) {
		return err
	}
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = &os.PathError{Op: "open", Path: dir, Err: fmt.Errorf("not a folder")}
	}
	return err
}
