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

// A boltStore is a store in a bbolt file.
//
// The file has two buckets. The first has the format version and the name of the codec.
// The second, records, maps the sequence number of a record, 8 bytes in big-endian
// order, to a checksum and the payload. The pages of bbolt have no checksums, so each
// record has its own.
//
// # Crashes
//
// A file gets its name when it is complete (opener.create), so a directory has either no
// queue or a complete one. A write of bbolt is: new pages beside the old ones, fsync,
// then one of two meta pages that points to them, fsync. A process that dies before the
// meta page is on disk, or while it is written, leaves the state before the write;
// afterwards, the state after it. The caller gets a result only after that.
//
// The list of free pages is not written, because it would be most of a commit near the
// end of a large backlog. bbolt rebuilds it by reading the file when it is opened.
type boltStore struct {
	db   *bolt.DB
	file *os.File // of db
	path string

	length atomic.Int64 // a lower bound of the size of the file, which never shrinks

	reserve     reserve
	reserveUsed bool // the reserve was released
	// update is db.Update. Tests replace it to simulate full disks.
	update func(func(*bolt.Tx) error) error
}

// Records are inserted in key order, so pages need no free space for later inserts.
const fillPercent = 0.95

// seqOf returns the sequence number of a key.
func seqOf(key []byte) uint64 { return binary.BigEndian.Uint64(key) }

const checksumSize = 4

// addChecksum returns the checksum of a payload, followed by the payload.
func addChecksum(payload []byte) []byte {
	record := make([]byte, checksumSize, checksumSize+len(payload))
	binary.LittleEndian.PutUint32(record, crc32.Checksum(payload, castagnoli))
	return append(record, payload...)
}

// splitChecksum returns a copy of the payload, and an error if its checksum is wrong.
func splitChecksum(record []byte) ([]byte, error) {
	if len(record) < checksumSize {
		return nil, fmt.Errorf("%d bytes are too short for a checksum", len(record))
	}
	payload := append([]byte{}, record[checksumSize:]...)
	if crc32.Checksum(payload, castagnoli) != binary.LittleEndian.Uint32(record) {
		return payload, fmt.Errorf("wrong checksum of %d bytes", len(payload))
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

// hasRoom reports whether the free pages of the file can hold payloads, and a reserve
// besides.
func (s *boltStore) hasRoom(payloads [][]byte) bool {
	need := int64(2 * reserveSize)
	for _, payload := range payloads {
		need += 2 * int64(len(payload))
	}
	return int64(s.db.Stats().FreePageN)*int64(s.db.Info().PageSize) > need
}

// commit makes one attempt at a write.
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
				// bbolt refers to the value until the commit, and copies the key.
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

// checkPath returns an error if the path does not lead to the open file any more: no
// process would find the records written to it.
func (s *boltStore) checkPath() error {
	named, err := os.Stat(s.path)
	if err == nil {
		var ours os.FileInfo
		if ours, err = s.file.Stat(); err == nil && os.SameFile(ours, named) {
			s.length.Store(ours.Size())
			return nil
		}
	}
	return errors.Join(fmt.Errorf("spill: write %s: the file was removed or replaced", s.path), err, errUnknown)
}

// unchanged reports whether a failed write left the file as it was. The second of its
// two syncs may fail when the new state is already visible.
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
					break // return the intact records first
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
		return 0 // the directory was removed; writes still go to the open file
	}
	return info.Size()
}

// close removes the reserve, unless another queue has replaced this one: then the
// reserve belongs to that queue.
func (s *boltStore) close() error {
	if s.checkPath() == nil {
		s.reserve.release()
	}
	return s.db.Close()
}

// guard runs f like catch, unless another process has truncated the file: at the start
// of a transaction bbolt would then fault while it holds its locks, and never release
// them.
func (s *boltStore) guard(operation string, f func() error) error {
	info, err := s.file.Stat()
	if had := s.length.Load(); err == nil && info.Size() < had {
		err = fmt.Errorf("the file shrank to %d bytes, from %d", info.Size(), had)
	}
	if err != nil {
		return fmt.Errorf("spill: %s %s: damaged: %w", operation, s.path, err)
	}
	return catch(s.path, operation, f)
}

// catch runs f, and returns a panic as an error. bbolt panics at damaged pages; and
// because the file is mapped into memory, a missing page is a fault.
func catch(path, operation string, f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("spill: %s %s: damaged: %v", operation, path, p)
		}
	}()
	return f()
}
