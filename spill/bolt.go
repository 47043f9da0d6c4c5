package spill

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"runtime/debug"
	"sync/atomic"

	bolt "go.etcd.io/bbolt"
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
// A file gets its name when it is complete (opening.create), so a folder has no queue, or a
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

// Records come in the order of their numbers, so no page needs room for later.
const fillPercent = 0.95

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
