package spill

import (
	"os"
	"path/filepath"
)

// A reserve is a file that holds a little of the disk for the time when the disk is
// full. bbolt writes a page anew to change it, so on a full disk even what removes
// records fails, and the queue could never be drained again. Then the reserve is given
// up for those who acknowledge, and until it can be made again nothing is stored but what
// finds room in the file itself, with as much to spare.
type reserve struct {
	path string
	sync bool
}

const (
	reserveFile = "queue.reserve"
	reserveSize = 1 << 20
)

// hold makes the reserve, unless it is there.
func (r reserve) hold() error {
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

// give gives the reserve up, and reports whether there was one.
func (r reserve) give() bool { return os.Remove(r.path) == nil }

func (o opening) reserve(dir string) reserve {
	return reserve{path: filepath.Join(dir, reserveFile), sync: !o.noSync}
}
