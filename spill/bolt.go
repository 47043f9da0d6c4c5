package spill

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// A boltStore is a store in one file of bbolt.
//
// The file has two buckets: about, with the version of the format and the name of
// the codec, and records, where the number of a record, 8 bytes with the highest
// first, stands for its checksum and its form. bbolt's own pages have no checksums:
// a record that came back changed is found by its own.
//
// # What happens at each point of a crash
//
// A file gets its name when it is complete (create), so a folder has no queue, or a
// whole one. From then on a write of bbolt is: new pages beside the old ones, fsync,
// then one of two meta pages that points to them, fsync. A process that dies before
// the meta page is on disk, or while it is written, leaves a file that shows the
// state before; afterwards, the state after. The caller was told nothing before that.
//
// The list of free pages is not written: at the end of a large backlog it would be
// most of what a commit writes. It is made anew by reading the file when it is
// opened.
type boltStore struct {
	db   *bolt.DB
	file *os.File // of db
	path string

	length atomic.Int64 // of the file, at least: it grows, and never gets smaller

	reserve reserve
	short   bool // the reserve was given up
	// update is db.Update; tests have disks that are full.
	update func(func(*bolt.Tx) error) error
}

const (
	queueFile     = "queue.db"
	unfinished    = queueFile + ".new-" // and a number
	formatVersion = "1"

	lockPatience = 250 * time.Millisecond // for a process that is just ending

	// Records come in the order of their numbers, so no page needs room for later.
	fillPercent = 0.95
)

var (
	aboutBucket   = []byte("sluice-spill")
	recordsBucket = []byte("records")
	versionKey    = []byte("version")
	codecKey      = []byte("codec")
)

// An opening is how a bolt file is opened. Tests leave out the syncs.
type opening struct{ noSync bool }

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

// number is what a key says.
func number(key []byte) uint64 { return binary.BigEndian.Uint64(key) }

const sumSize = 4

// seal puts its checksum before a form.
func seal(form []byte) []byte {
	sealed := make([]byte, sumSize, sumSize+len(form))
	binary.LittleEndian.PutUint32(sealed, crc32.Checksum(form, castagnoli))
	return append(sealed, form...)
}

// unseal returns the form, a copy, and an error if it is not what was stored.
func unseal(sealed []byte) ([]byte, error) {
	if len(sealed) < sumSize {
		return nil, fmt.Errorf("it has %d bytes, less than a checksum", len(sealed))
	}
	form := append([]byte{}, sealed[sumSize:]...)
	if crc32.Checksum(form, castagnoli) != binary.LittleEndian.Uint32(sealed) {
		return form, fmt.Errorf("its %d bytes are not those that were stored", len(form))
	}
	return form, nil
}

func (s *boltStore) write(first uint64, forms [][]byte, drops []uint64) error {
	if len(forms) > 0 && s.short {
		err := s.reserve.hold()
		if s.short = err != nil; err != nil && !s.roomy(forms) {
			return err
		}
	}
	err := s.commit(first, forms, drops)
	if err != nil && len(forms) == 0 && !errors.Is(err, errUnknown) && s.reserve.give() {
		s.short = true
		err = s.commit(first, forms, drops)
	}
	return err
}

// roomy reports whether the file has so much free space inside that forms leave more
// than a reserve of it.
func (s *boltStore) roomy(forms [][]byte) bool {
	need := int64(2 * reserveSize)
	for _, form := range forms {
		need += 2 * int64(len(form))
	}
	return int64(s.db.Stats().FreePageN)*int64(s.db.Info().PageSize) > need
}

// commit is write, tried once.
func (s *boltStore) commit(first uint64, forms [][]byte, drops []uint64) error {
	err := s.guard("write", func() error {
		return s.update(func(tx *bolt.Tx) error {
			records := tx.Bucket(recordsBucket)
			records.FillPercent = fillPercent
			var key [8]byte
			for _, n := range drops {
				binary.BigEndian.PutUint64(key[:], n)
				if err := records.Delete(key[:]); err != nil {
					return err
				}
			}
			for i, form := range forms {
				// bbolt keeps the value until the commit, and copies the key.
				binary.BigEndian.PutUint64(key[:], first+uint64(i))
				if err := records.Put(key[:], seal(form)); err != nil {
					return err
				}
			}
			return nil
		})
	})
	if err == nil {
		return s.inPlace()
	}
	if !s.unchanged(first, forms, drops) {
		return errors.Join(err, errUnknown)
	}
	return err
}

// inPlace fails if the file is not the one by its name any more: what was written to
// it nobody will find.
func (s *boltStore) inPlace() error {
	named, err := os.Stat(s.path)
	if err == nil {
		var ours os.FileInfo
		if ours, err = s.file.Stat(); err == nil && os.SameFile(ours, named) {
			s.length.Store(ours.Size())
			return nil
		}
	}
	return errors.Join(fmt.Errorf("spill: write %s: the file has vanished, or was replaced", s.path), err, errUnknown)
}

// unchanged reports whether a write that failed left the file as it was: the last of
// its two syncs may fail when the new state is already visible.
func (s *boltStore) unchanged(first uint64, forms [][]byte, drops []uint64) (unchanged bool) {
	err := s.guard("read", func() error {
		return s.db.View(func(tx *bolt.Tx) error {
			var key [8]byte
			records := tx.Bucket(recordsBucket)
			if len(drops) > 0 {
				binary.BigEndian.PutUint64(key[:], drops[0])
				unchanged = records.Get(key[:]) != nil
			} else {
				binary.BigEndian.PutUint64(key[:], first)
				unchanged = records.Get(key[:]) == nil
			}
			return nil
		})
	})
	return err == nil && unchanged
}

func (s *boltStore) read(from, to uint64, most int64) (records []stored, err error) {
	err = s.guard("read", func() error {
		return s.db.View(func(tx *bolt.Tx) error {
			var key [8]byte
			binary.BigEndian.PutUint64(key[:], from)
			cursor := tx.Bucket(recordsBucket).Cursor()
			for k, v := cursor.Seek(key[:]); k != nil && number(k) < to && most > 0; k, v = cursor.Next() {
				form, err := unseal(v)
				if err != nil && len(records) > 0 {
					break // the good ones first
				}
				r := stored{number: number(k), form: form}
				if err != nil {
					r.damaged = fmt.Errorf("%s: record %d: %w", s.path, r.number, err)
				}
				records = append(records, r)
				most -= r.size()
			}
			return nil
		})
	})
	return records, err
}

func (s *boltStore) size() int64 {
	info, err := os.Stat(s.path)
	if err != nil {
		return 0 // the folder has vanished; what is written still goes to the file
	}
	return info.Size()
}

// close leaves no reserve behind: nobody is there to give it up. That of a queue that
// came in the place of this one is not ours.
func (s *boltStore) close() error {
	if s.inPlace() == nil {
		s.reserve.give()
	}
	return s.db.Close()
}

// guard runs f like guarded, unless the file was cut by somebody: bbolt begins a
// transaction with a look at what would be a fault then, and keeps its locks for ever.
func (s *boltStore) guard(what string, f func() error) error {
	info, err := s.file.Stat()
	if had := s.length.Load(); err == nil && info.Size() < had {
		err = fmt.Errorf("it has %d bytes, and had %d", info.Size(), had)
	}
	if err != nil {
		return fmt.Errorf("spill: %s %s: damaged: %w", what, s.path, err)
	}
	return guarded(s.path, what, f)
}

// guarded runs f, and makes an error of a panic: bbolt panics when pages do not say
// what they should, and the file is mapped, so that a missing page is a fault.
func guarded(path, what string, f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("spill: %s %s: damaged: %v", what, path, p)
		}
	}()
	return f()
}
