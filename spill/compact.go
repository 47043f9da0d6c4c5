package spill

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	bolt "go.etcd.io/bbolt"
)

// compactStep is the number of bytes that Compact moves in one transaction.
const compactStep = 4 << 20

// Compact shrinks the file of the queue in dir to the size of its contents, and returns
// the sizes before and after in bytes. A Durable reuses the space of acknowledged
// records, but never returns it to the disk, so its file is as large as the queue ever
// was. The queue must not be open. Compact needs disk space for a second copy.
//
// The new file replaces the old one atomically: after a crash or an error the old file
// is unchanged.
func Compact(dir string) (before, after int64, err error) {
	if before, after, err = (opener{}).compact(dir); err != nil {
		err = fmt.Errorf("spill: Compact: %w", err)
	}
	return before, after, err
}

func (o opener) compact(dir string) (before, after int64, err error) {
	path := filepath.Join(dir, queueFile)
	if err := o.verify(path); err != nil {
		return 0, 0, err
	}
	old, _, err := o.lock(path)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, old.Close()) }()
	s := &boltStore{db: old, path: path}
	err = old.View(func(tx *bolt.Tx) error { return s.checkFormat(tx) })
	if err != nil {
		return 0, 0, err
	}
	before = s.size()
	removeUnfinished(dir)
	made, err := os.CreateTemp(dir, unfinished+"*")
	if err != nil {
		return 0, 0, err
	}
	name := made.Name()
	defer func() { _ = os.Remove(name) }() // fails after the rename, as intended
	if err := made.Close(); err != nil {
		return 0, 0, err
	}
	smaller, err := bolt.Open(name, 0o600, o.options())
	if err != nil {
		return 0, 0, err
	}
	transfer := o.copy
	if transfer == nil {
		transfer = bolt.Compact
	}
	err = catch(path, "compact", func() error { return transfer(smaller, old, compactStep) })
	if err = errors.Join(err, smaller.Sync(), smaller.Close()); err != nil {
		return 0, 0, err
	}
	if err := os.Rename(name, path); err != nil {
		return 0, 0, err
	}
	return before, s.size(), syncDir(dir)
}
