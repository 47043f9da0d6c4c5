package spill

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
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

// create creates a file without a name if the system can. Elsewhere a process that is killed
// between the two steps leaves an empty file, which removeSegments removes.
func (d directory) create() (file, error) {
	if f, err := unnamed(string(d)); err == nil {
		return f, nil
	}
	f, err := os.CreateTemp(string(d), segmentPrefix+"*"+segmentSuffix)
	if err != nil {
		return nil, err
	}
	// Unlinked, the file lives as long as it is open. Another process may have done it.
	if err := os.Remove(f.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		_ = f.Close()
		return nil, fmt.Errorf("unlink an open file: %w", err)
	}
	return f, nil
}

const (
	segmentPrefix = "spill-"
	segmentSuffix = ".segment"
)

// removeSegments removes files that killed processes have left. A file that cannot be removed
// only uses disk space.
func removeSegments(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), segmentPrefix) && strings.HasSuffix(e.Name(), segmentSuffix) {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
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
