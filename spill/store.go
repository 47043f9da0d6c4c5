package spill

import (
	"unsafe"

	"github.com/sluice-go/sluice/spill/internal/logstore"
)

// A store keeps the records of a Durable, ordered by sequence number. It is all that a
// Durable requires of a database; log.go implements it.
//
// write and close are called by one goroutine at a time; read, size and warning may be
// called concurrently with them.
type store interface {
	// write adds payloads with consecutive sequence numbers, beginning at first,
	// deletes the records with the numbers in deletes, and returns when the change is
	// durable. If it fails, no part of the change was made or will be made, unless the
	// error is errUnknown. If at is not 0, it is stored with the new records.
	write(first uint64, payloads [][]byte, deletes []uint64, at int64) error
	// read returns records with sequence numbers in [from, to), in order: about most
	// bytes of them, and at least one if there is any. The caller owns the payloads. A
	// damaged record is returned alone.
	read(from, to uint64, most int64) ([]storedRecord, error)
	// size returns the size of the records' files in bytes.
	size() int64
	// warning returns a line about what the store cannot do now, or "".
	warning() string
	close() error
}

// A storedRecord is a record of a store. The sequence number 0 is not used.
type storedRecord struct {
	seq     uint64
	at      int64 // when it was stored, in nanoseconds; 0 if that was not recorded
	payload []byte
	damaged error // if not nil, payload is not what was stored
}

// size returns the memory that a record uses, in bytes.
func (r storedRecord) size() int64 { return int64(len(r.payload)) + int64(unsafe.Sizeof(r)) }

// cost returns what DiskLimit counts for a record.
func (r storedRecord) cost() int64 {
	if r.at != 0 {
		return int64(len(r.payload)) + recordCost + timeCost
	}
	return int64(len(r.payload)) + recordCost
}

// contents describes what a store holds when it is opened.
type contents struct {
	first, next uint64 // sequence numbers of the oldest record and of the next new one
	records     int
	bytes       int64 // of payloads, and timeCost for each record with a time
}

// errUnknown is part of the error of a write that may or may not have been stored.
var errUnknown = logstore.ErrUnknown

// IsDiskFull reports whether err, of a channel of this package, means that there was no room for
// a record: on the disk, in a quota, or below a limit of file sizes. The same call can be tried
// again, and succeeds when there is room.
func IsDiskFull(err error) bool { return logstore.Full(err) }
