package spill

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"runtime/debug"

	bolt "go.etcd.io/bbolt"
)

// A boltFile is queue.db, a file of bbolt that is open and locked. It says what a folder
// is. Up to format version 1 it also had the records: the second of its two buckets mapped
// the sequence number of a record, 8 bytes in big-endian order, to a checksum and the
// payload. The first bucket has the format version and the name of the codec.
type boltFile struct {
	db   *bolt.DB
	file *os.File // of db
	path string

	version, codec string
}

const (
	versionRecords = "1" // the records are in this file
	versionLog     = "2" // the records are in a log beside it; see log_open.go
)

func (q *boltFile) close() error { return q.db.Close() }

// about reads the version and the codec.
func (q *boltFile) about() error {
	return q.view(func(tx *bolt.Tx) error {
		about := tx.Bucket(metaBucket)
		if about == nil || tx.Bucket(recordsBucket) == nil {
			return fmt.Errorf("%s: %w: a bbolt database with other contents", q.path, errNotQueue)
		}
		q.version, q.codec = string(about.Get(versionKey)), string(about.Get(codecKey))
		if q.version != versionRecords && q.version != versionLog {
			return fmt.Errorf("%s: unsupported format version %q (want at most %q)", q.path, q.version, versionLog)
		}
		return nil
	})
}

// setVersion changes the version, in one transaction.
func (q *boltFile) setVersion(version string) error {
	return catch(q.path, "write", func() error {
		return q.db.Update(func(tx *bolt.Tx) error {
			return tx.Bucket(metaBucket).Put(versionKey, []byte(version))
		})
	})
}

// view runs f in a transaction. bbolt panics at damaged pages; and because the file is
// mapped into memory, a missing page is a fault.
func (q *boltFile) view(f func(tx *bolt.Tx) error) error {
	return catch(q.path, "read", func() error { return q.db.View(f) })
}

// count counts the records, and checks their keys.
func (q *boltFile) count() (n int, err error) {
	err = q.view(func(tx *bolt.Tx) error {
		next := uint64(1)
		cursor := tx.Bucket(recordsBucket).Cursor()
		for k, v := cursor.First(); k != nil; k, v = cursor.Next() {
			if len(k) != 8 || seqOf(k) < next || seqOf(k) == math.MaxUint64 || len(v) < checksumSize {
				return fmt.Errorf("%s: damaged: invalid record with key %x and %d bytes", q.path, k, len(v))
			}
			next = seqOf(k) + 1
			n++
		}
		return nil
	})
	return n, err
}

// read returns records with sequence numbers from on, in order: about most bytes of them,
// and at least one if there is any. The caller owns the payloads.
func (q *boltFile) read(from uint64, most int64) (records []storedRecord, err error) {
	err = q.view(func(tx *bolt.Tx) error {
		var key [8]byte
		binary.BigEndian.PutUint64(key[:], from)
		cursor := tx.Bucket(recordsBucket).Cursor()
		for k, v := cursor.Seek(key[:]); k != nil && most > 0; k, v = cursor.Next() {
			payload, err := splitChecksum(v)
			r := storedRecord{seq: seqOf(k), payload: payload}
			if err != nil {
				r.damaged = fmt.Errorf("%s: damaged: record %d: %w", q.path, r.seq, err)
			}
			records = append(records, r)
			most -= r.size()
		}
		return nil
	})
	return records, err
}

// seqOf returns the sequence number of a key.
func seqOf(key []byte) uint64 { return binary.BigEndian.Uint64(key) }

const checksumSize = 4

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

// catch runs f, and returns a panic or a fault as an error.
func catch(path, operation string, f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("spill: %s %s: %w: %v", operation, path, errDamaged, p)
		}
	}()
	return f()
}

var errNotQueue = errors.New("not a queue")
