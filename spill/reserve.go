package spill

import (
	"os"
	"path/filepath"
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

// create creates the reserve unless it exists.
func (r reserve) create() error {
	if info, err := os.Stat(r.path); err == nil && info.Size() == reserveSize {
		return nil
	}
	f, err := os.OpenFile(r.path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, reserveSize))
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

// release removes the reserve, and reports whether it existed.
func (r reserve) release() bool { return os.Remove(r.path) == nil }

func (o opener) reserve(dir string) reserve {
	return reserve{path: filepath.Join(dir, reserveFile), sync: !o.noSync}
}
