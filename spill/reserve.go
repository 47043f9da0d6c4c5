package spill

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// A reserve is a file that keeps a little disk space for when the disk is full. bbolt
// copies each page that it changes, so on a full disk even deleting records fails, and
// the queue could never be drained. The store then releases the reserve, so that
// acknowledgements succeed. Until the reserve can be created again, the store accepts
// only records that fit into free pages of its file, with a margin.
type reserve struct {
	path string
	sync bool
}

const (
	reserveFile = "queue.reserve"
	reserveSize = 1 << 20
)

// create creates the reserve unless it exists. It does not write to a file that was there,
// which may have other names, or be what a link points to.
func (r reserve) create() error {
	switch info, err := os.Lstat(r.path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s: %w (remove it)", r.path, errNotRegular)
	case info.Size() == reserveSize:
		return nil
	default:
		if err := os.Remove(r.path); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(r.path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return r.fill(f)
}

// fill writes the reserve to f and closes it, or removes the file.
func (r reserve) fill(f *os.File) error {
	_, err := f.Write(make([]byte, reserveSize))
	if err == nil && r.sync {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		_ = os.Remove(r.path)
	}
	return err
}

var errNotRegular = errors.New("not a regular file")

// impossible reports whether an error of create will not go away when the disk has room again.
func impossible(err error) bool {
	return errors.Is(err, errNotRegular) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}

// release removes the reserve, and reports whether it existed.
func (r reserve) release() bool { return os.Remove(r.path) == nil }

func (o opener) reserve(dir string) reserve {
	return reserve{path: filepath.Join(dir, reserveFile), sync: !o.noSync}
}
