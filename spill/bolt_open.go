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

	lockTimeout = 250 * time.Millisecond // for a process that is just ending
)

var (
	metaBucket    = []byte("sluice-spill")
	recordsBucket = []byte("records")
	versionKey    = []byte("version")
	codecKey      = []byte("codec")
)

// An opening is how a bolt file is opened. Tests leave out the syncs, and have copies
// fail.
type opener struct {
	noSync bool
	copy   func(to, from *bolt.DB, step int64) error // nil: bolt.Compact
}

func (o opener) options() *bolt.Options {
	return &bolt.Options{
		Timeout: lockTimeout, NoSync: o.noSync, NoGrowSync: o.noSync,
		NoFreelistSync: true, FreelistType: bolt.FreelistMapType,
	}
}

// open opens the queue in dir for records of that codec, and makes one if there is
// none.
func (o opener) open(dir, codec string) (s *boltStore, found contents, err error) {
	path := filepath.Join(dir, queueFile)
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		if err := o.create(dir, path, codec); err != nil {
			return nil, found, err
		}
	} else if err != nil {
		return nil, found, err
	}
	if err := o.verify(path); err != nil {
		return nil, found, err
	}
	db, file, err := o.lock(path)
	if err != nil {
		return nil, found, err
	}
	removeUnfinished(dir)
	s = &boltStore{db: db, file: file, path: path, reserve: o.reserve(dir), update: db.Update}
	err = s.guard("open", func() error {
		return db.View(func(tx *bolt.Tx) error {
			if err := s.checkCodec(tx, codec); err != nil {
				return err
			}
			found, err = s.count(tx.Bucket(recordsBucket))
			return err
		})
	})
	if err != nil {
		_ = db.Close()
		return nil, found, err
	}
	s.length.Store(s.size())
	s.reserveUsed = s.reserve.create() != nil // a full disk, or the one who left: see write
	return s, found, nil
}

// lock opens the file alone. It may have been replaced by a compacted one while we
// waited for its lock: then that one is opened.
func (o opener) lock(path string) (db *bolt.DB, opened *os.File, err error) {
	for {
		options := o.options()
		options.OpenFile = func(name string, flag int, mode os.FileMode) (*os.File, error) {
			var err error
			opened, err = os.OpenFile(name, flag&^os.O_CREATE, mode)
			return opened, err
		}
		err = catch(path, "open", func() (err error) {
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
func (o opener) create(dir, path, codec string) error {
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
		about, err := tx.CreateBucket(metaBucket)
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
	return syncDir(dir)
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
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// inspect looks at a file before bbolt reads it for writing: to meet a page that is
// not there, or not what it should be, would end the process.
func (o opener) verify(path string) error {
	return catch(path, "open", func() error {
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
			if err := scanFile(file, db.Info().PageSize); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			return nil
		})
	})
}

// recognize checks that the file is a queue of ours, for that codec.
func (s *boltStore) checkCodec(tx *bolt.Tx, codec string) error {
	if err := s.checkFormat(tx); err != nil {
		return err
	}
	if c := string(tx.Bucket(metaBucket).Get(codecKey)); c != codec {
		return fmt.Errorf("%s: its records are in the form of codec %q, not %q", s.path, c, codec)
	}
	return nil
}

// recognizeFormat checks that the file is a queue of ours.
func (s *boltStore) checkFormat(tx *bolt.Tx) error {
	about := tx.Bucket(metaBucket)
	if about == nil || tx.Bucket(recordsBucket) == nil {
		return fmt.Errorf("%s: a database, but not a queue", s.path)
	}
	if v := string(about.Get(versionKey)); v != formatVersion {
		return fmt.Errorf("%s: format version %q; this program reads version %q", s.path, v, formatVersion)
	}
	return nil
}

// take takes stock of what is there.
func (s *boltStore) count(records *bolt.Bucket) (found contents, err error) {
	found.next = 1
	cursor := records.Cursor()
	for k, v := cursor.First(); k != nil; k, v = cursor.Next() {
		if len(k) != 8 || seqOf(k) < found.next || seqOf(k) == math.MaxUint64 || len(v) < checksumSize {
			return found, fmt.Errorf("%s: damaged: a record with the key %x and %d bytes", s.path, k, len(v))
		}
		if found.records++; found.records == 1 {
			found.first = seqOf(k)
		}
		found.next = seqOf(k) + 1
		found.bytes += int64(len(v) - checksumSize)
	}
	if found.records == 0 {
		found.first = found.next
	}
	return found, nil
}
