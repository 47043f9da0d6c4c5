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

	reserve     reserve
	reserveUsed bool // the reserve was given up
	// update is db.Update; tests have disks that are full.
	update func(func(*bolt.Tx) error) error
}

// Records come in the order of their numbers, so no page needs room for later.
const fillPercent = 0.95

// number is what a key says.
func seqOf(key []byte) uint64 { return binary.BigEndian.Uint64(key) }

const checksumSize = 4

// seal puts its checksum before a form.
func addChecksum(payload []byte) []byte {
	sealed := make([]byte, checksumSize, checksumSize+len(payload))
	binary.LittleEndian.PutUint32(sealed, crc32.Checksum(payload, castagnoli))
	return append(sealed, payload...)
}

// unseal returns the form, a copy, and an error if it is not what was stored.
func splitChecksum(sealed []byte) ([]byte, error) {
	if len(sealed) < checksumSize {
		return nil, fmt.Errorf("it has %d bytes, less than a checksum", len(sealed))
	}
	payload := append([]byte{}, sealed[checksumSize:]...)
	if crc32.Checksum(payload, castagnoli) != binary.LittleEndian.Uint32(sealed) {
		return payload, fmt.Errorf("its %d bytes are not those that were stored", len(payload))
	}
	return payload, nil
}

func (s *boltStore) write(first uint64, payloads [][]byte, deletes []uint64) error {
	if len(payloads) > 0 && s.reserveUsed {
		err := s.reserve.create()
		if s.reserveUsed = err != nil; err != nil && !s.hasRoom(payloads) {
			return err
		}
	}
	err := s.commit(first, payloads, deletes)
	if err != nil && len(payloads) == 0 && !errors.Is(err, errUnknown) && s.reserve.release() {
		s.reserveUsed = true
		err = s.commit(first, payloads, deletes)
	}
	return err
}

// roomy reports whether the file has so much free space inside that forms leave more
// than a reserve of it.
func (s *boltStore) hasRoom(payloads [][]byte) bool {
	need := int64(2 * reserveSize)
	for _, payload := range payloads {
		need += 2 * int64(len(payload))
	}
	return int64(s.db.Stats().FreePageN)*int64(s.db.Info().PageSize) > need
}

// commit is write, tried once.
func (s *boltStore) commit(first uint64, payloads [][]byte, deletes []uint64) error {
	err := s.guard("write", func() error {
		return s.update(func(tx *bolt.Tx) error {
			records := tx.Bucket(recordsBucket)
			records.FillPercent = fillPercent
			var key [8]byte
			for _, n := range deletes {
				binary.BigEndian.PutUint64(key[:], n)
				if err := records.Delete(key[:]); err != nil {
					return err
				}
			}
			for i, payload := range payloads {
				// bbolt keeps the value until the commit, and copies the key.
				binary.BigEndian.PutUint64(key[:], first+uint64(i))
				if err := records.Put(key[:], addChecksum(payload)); err != nil {
					return err
				}
			}
			return nil
		})
	})
	if err == nil {
		return s.checkPath()
	}
	if !s.unchanged(first, payloads, deletes) {
		return errors.Join(err, errUnknown)
	}
	return err
}

// inPlace fails if the file is not the one by its name any more: what was written to
// it nobody will find.
func (s *boltStore) checkPath() error {
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
func (s *boltStore) unchanged(first uint64, payloads [][]byte, deletes []uint64) (unchanged bool) {
	err := s.guard("read", func() error {
		return s.db.View(func(tx *bolt.Tx) error {
			var key [8]byte
			records := tx.Bucket(recordsBucket)
			if len(deletes) > 0 {
				binary.BigEndian.PutUint64(key[:], deletes[0])
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

func (s *boltStore) read(from, to uint64, most int64) (records []storedRecord, err error) {
	err = s.guard("read", func() error {
		return s.db.View(func(tx *bolt.Tx) error {
			var key [8]byte
			binary.BigEndian.PutUint64(key[:], from)
			cursor := tx.Bucket(recordsBucket).Cursor()
			for k, v := cursor.Seek(key[:]); k != nil && seqOf(k) < to && most > 0; k, v = cursor.Next() {
				payload, err := splitChecksum(v)
				if err != nil && len(records) > 0 {
					break // the good ones first
				}
				r := storedRecord{seq: seqOf(k), payload: payload}
				if err != nil {
					r.damaged = fmt.Errorf("%s: record %d: %w", s.path, r.seq, err)
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
	if s.checkPath() == nil {
		s.reserve.release()
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
	return catch(s.path, what, f)
}

// guarded runs f, and makes an error of a panic: bbolt panics when pages do not say
// what they should, and the file is mapped, so that a missing page is a fault.
func catch(path, what string, f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("spill: %s %s: damaged: %v", what, path, p)
		}
	}()
	return f()
}
