package spill

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

const (
	queueFile     = "queue.db"
	unfinished    = queueFile + ".new-" // and a number
	formatVersion = "1"

	lockPatience = 250 * time.Millisecond // for a process that is just ending
)

var (
	aboutBucket   = []byte("sluice-spill")
	recordsBucket = []byte("records")
	versionKey    = []byte("version")
	codecKey      = []byte("codec")
)

// An opening is how a bolt file is opened. Tests leave out the syncs, and have copies
// fail.
type opening struct {
	noSync bool
	copy   func(to, from *bolt.DB, step int64) error // nil: bolt.Compact
}

func (o opening) options() *bolt.Options {
	return &bolt.Options{
		Timeout: lockPatience, NoSync: o.noSync, NoGrowSync: o.noSync,
		NoFreelistSync: true, FreelistType: bolt.FreelistMapType,
	}
}

// open opens the queue in dir for records of that codec, and makes one if there is
// none.
func (o opening) open(dir, codec string) (s *boltStore, has inventory, err error) {
	path := filepath.Join(dir, queueFile)
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		if err := o.create(dir, path, codec); err != nil {
			return nil, has, err
		}
	} else if err != nil {
		return nil, has, err
	}
	if err := o.inspect(path); err != nil {
		return nil, has, err
	}
	db, file, err := o.lock(path)
	if err != nil {
		return nil, has, err
	}
	removeUnfinished(dir)
	s = &boltStore{db: db, file: file, path: path, reserve: o.reserve(dir), update: db.Update}
	err = s.guard("open", func() error {
		return db.View(func(tx *bolt.Tx) error {
			if err := s.recognize(tx, codec); err != nil {
				return err
			}
			has, err = s.take(tx.Bucket(recordsBucket))
			return err
		})
	})
	if err != nil {
		_ = db.Close()
		return nil, has, err
	}
	s.length.Store(s.size())
	s.short = s.reserve.hold() != nil // a full disk, or the one who left: see write
	return s, has, nil
}

// lock opens the file alone. It may have been replaced by a compacted one while we
// waited for its lock: then that one is opened.
func (o opening) lock(path string) (db *bolt.DB, opened *os.File, err error) {
	for {
		options := o.options()
		options.OpenFile = func(name string, flag int, mode os.FileMode) (*os.File, error) {
			var err error
			opened, err = os.OpenFile(name, flag&^os.O_CREATE, mode)
			return opened, err
		}
		err = guarded(path, "open", func() (err error) {
			db, err = bolt.Open(path, 0o600, options)
			return err
		})
		if err != nil {
			return nil, nil, inUse(path, err)
		}
		ours, err1 := opened.Stat()
		named, err2 := os.Stat(path)
		if err := errors.Join(err1, err2); err != nil {
			_ = db.Close()
			return nil, nil, err
		}
		if os.SameFile(ours, named) {
			return db, opened, nil
		}
		_ = db.Close()
	}
}

// inUse says what is behind an error of opening.
func inUse(path string, err error) error {
	if errors.Is(err, berrors.ErrTimeout) {
		return fmt.Errorf("%s: in use by another channel, in this process or another one", path)
	}
	return err
}

// create makes an empty queue, complete, and then gives it its name; somebody else
// may have been faster.
func (o opening) create(dir, path, codec string) error {
	made, err := os.CreateTemp(dir, unfinished+"*")
	if err != nil {
		return err
	}
	name := made.Name()
	defer func() { _ = os.Remove(name) }()
	if err := made.Close(); err != nil {
		return err
	}
	db, err := bolt.Open(name, 0o600, o.options())
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bolt.Tx) error {
		about, err := tx.CreateBucket(aboutBucket)
		if err == nil {
			err = errors.Join(about.Put(versionKey, []byte(formatVersion)), about.Put(codecKey, []byte(codec)))
		}
		if err == nil {
			_, err = tx.CreateBucket(recordsBucket)
		}
		return err
	})
	if err := errors.Join(err, db.Close()); err != nil {
		return err
	}
	if err := os.Link(name, path); err != nil {
		if _, missing := os.Stat(path); missing != nil {
			return err
		}
	}
	return syncFolder(dir)
}

// removeUnfinished removes what was left by processes that died in create, or in
// Compact, where it may be as large as the queue. Whoever calls it has the queue for
// itself, so nobody compacts it; and create does without its file once there is a queue.
// What cannot be removed costs room, and nothing else.
func removeUnfinished(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), unfinished) {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// syncFolder makes the names in a folder durable.
func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// inspect looks at a file before bbolt reads it for writing: to meet a page that is
// not there, or not what it should be, would end the process.
func (o opening) inspect(path string) error {
	return guarded(path, "open", func() error {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s: not a regular file", path)
		}
		if info.Size() == 0 {
			return fmt.Errorf("%s: not a queue: it is empty", path)
		}
		var file *os.File // by this name there may be another one by now
		options := o.options()
		options.ReadOnly = true
		options.OpenFile = func(name string, flag int, mode os.FileMode) (_ *os.File, err error) {
			file, err = os.OpenFile(name, flag, mode)
			return file, err
		}
		db, err := bolt.Open(path, 0o600, options)
		if errors.Is(err, berrors.ErrTimeout) {
			return inUse(path, err)
		}
		if err != nil {
			return fmt.Errorf("%s: not a queue, or damaged: %w", path, err)
		}
		defer func() { _ = db.Close() }()
		return db.View(func(tx *bolt.Tx) error {
			info, err := file.Stat() // again: it may have grown until we had its lock
			if err != nil {
				return err
			}
			if tx.Size() > info.Size() {
				return fmt.Errorf("%s: truncated: it has %d bytes, and should have %d", path, info.Size(), tx.Size())
			}
			if err := walkFile(file, db.Info().PageSize); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			return nil
		})
	})
}

// recognize checks that the file is a queue of ours, for that codec.
func (s *boltStore) recognize(tx *bolt.Tx, codec string) error {
	if err := s.recognizeFormat(tx); err != nil {
		return err
	}
	if c := string(tx.Bucket(aboutBucket).Get(codecKey)); c != codec {
		return fmt.Errorf("%s: its records are in the form of codec %q, not %q", s.path, c, codec)
	}
	return nil
}

// recognizeFormat checks that the file is a queue of ours.
func (s *boltStore) recognizeFormat(tx *bolt.Tx) error {
	about := tx.Bucket(aboutBucket)
	if about == nil || tx.Bucket(recordsBucket) == nil {
		return fmt.Errorf("%s: a database, but not a queue", s.path)
	}
	if v := string(about.Get(versionKey)); v != formatVersion {
		return fmt.Errorf("%s: format version %q; this program reads version %q", s.path, v, formatVersion)
	}
	return nil
}

// take takes stock of what is there.
func (s *boltStore) take(records *bolt.Bucket) (has inventory, err error) {
	has.next = 1
	cursor := records.Cursor()
	for k, v := cursor.First(); k != nil; k, v = cursor.Next() {
		if len(k) != 8 || number(k) < has.next || number(k) == math.MaxUint64 || len(v) < sumSize {
			return has, fmt.Errorf("%s: damaged: a record with the key %x and %d bytes", s.path, k, len(v))
		}
		if has.records++; has.records == 1 {
			has.first = number(k)
		}
		has.next = number(k) + 1
		has.bytes += int64(len(v) - sumSize)
	}
	if has.records == 0 {
		has.first = has.next
	}
	return has, nil
}
