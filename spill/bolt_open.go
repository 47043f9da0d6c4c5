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

	lockTimeout = 250 * time.Millisecond // for a process that is about to exit
)

var (
	metaBucket    = []byte("sluice-spill")
	recordsBucket = []byte("records")
	versionKey    = []byte("version")
	codecKey      = []byte("codec")
)

// An opener opens and creates bbolt files. Tests disable syncs, and make copies fail.
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

// open opens the queue in dir, whose records have the encoding of codec, or creates one.
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
	if err = s.reserve.create(); impossible(err) {
		_ = db.Close()
		return nil, found, fmt.Errorf("create the reserve for a full disk: %w", err)
	}
	s.reserveUsed = err != nil // the disk is full, or was full before: see write
	return s, found, nil
}

// lock opens the file exclusively. If Compact replaced the file while lock waited, it
// opens the new one.
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

// inUse translates an error of bolt.Open.
func inUse(path string, err error) error {
	if errors.Is(err, berrors.ErrTimeout) {
		return fmt.Errorf("%s: in use by another Durable, in this process or another", path)
	}
	return err
}

// create creates an empty queue under a temporary name and then links it to path.
// Another process may have created the queue meanwhile, which is no error.
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

// removeUnfinished removes the temporary files of processes that died in create or in
// Compact, which may be as large as the queue. The caller has locked the queue, so no
// Compact is running; and a concurrent create does not need its file once there is a
// queue. A file that cannot be removed only uses disk space.
func removeUnfinished(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), unfinished) {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// syncDir makes the entries of a directory durable.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// verify checks a file before bbolt opens it for writing: at a missing or damaged page
// bbolt would end the process.
func (o opener) verify(path string) error {
	return catch(path, "open", func() error {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s: %w", path, errNotRegular)
		}
		if info.Size() == 0 {
			return fmt.Errorf("%s: not a queue: the file is empty", path)
		}
		var file *os.File // the open file; the path may lead to another one by now
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
		if file == nil {
			return err // it could not be opened
		}
		if err != nil {
			return fmt.Errorf("%s: not a queue, or damaged: %w", path, err)
		}
		defer func() { _ = db.Close() }()
		return db.View(func(tx *bolt.Tx) error {
			info, err := file.Stat() // again: it may have grown before the lock was acquired
			if err != nil {
				return err
			}
			if tx.Size() > info.Size() {
				return fmt.Errorf("%s: truncated to %d bytes (want %d)", path, info.Size(), tx.Size())
			}
			if err := scanFile(file, db.Info().PageSize); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			return nil
		})
	})
}

// checkCodec checks that the file is a queue with records of codec.
func (s *boltStore) checkCodec(tx *bolt.Tx, codec string) error {
	if err := s.checkFormat(tx); err != nil {
		return err
	}
	if c := string(tx.Bucket(metaBucket).Get(codecKey)); c != codec {
		return fmt.Errorf("%s: the records were written with codec %q, not %q", s.path, c, codec)
	}
	return nil
}

// checkFormat checks that the file is a queue with a known format version.
func (s *boltStore) checkFormat(tx *bolt.Tx) error {
	about := tx.Bucket(metaBucket)
	if about == nil || tx.Bucket(recordsBucket) == nil {
		return fmt.Errorf("%s: not a queue: a bbolt database with other contents", s.path)
	}
	if v := string(about.Get(versionKey)); v != formatVersion {
		return fmt.Errorf("%s: unsupported format version %q (want %q)", s.path, v, formatVersion)
	}
	return nil
}

// count counts the records, and checks their keys.
func (s *boltStore) count(records *bolt.Bucket) (found contents, err error) {
	found.next = 1
	cursor := records.Cursor()
	for k, v := cursor.First(); k != nil; k, v = cursor.Next() {
		if len(k) != 8 || seqOf(k) < found.next || seqOf(k) == math.MaxUint64 || len(v) < checksumSize {
			return found, fmt.Errorf("%s: damaged: invalid record with key %x and %d bytes", s.path, k, len(v))
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
