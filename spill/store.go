package spill

import (
	"errors"
	"unsafe"
)

// A store keeps the records of a Durable under ascending numbers. It is the whole of
// what is asked of a database; bolt.go has the one that is used.
//
// write and close are called by one goroutine at a time; read and size may be
// called meanwhile.
type store interface {
	// write adds forms under the numbers from first on, and removes those of
	// drops, and returns when all of it is on the disk for good. If it fails,
	// nothing of it was done, now or later; unless the error is errUnknown.
	write(first uint64, forms [][]byte, drops []uint64) error
	// read returns records with numbers from from up to, but not including, to,
	// in order: as many as have about most bytes, and one at least if there is
	// one. The forms are the caller's. One that is damaged comes alone.
	read(from, to uint64, most int64) ([]stored, error)
	// size is how many bytes the file has.
	size() int64
	close() error
}

// stored is a record of a store.
type stored struct {
	number  uint64
	form    []byte
	damaged error // the form is not what was stored; or nil
}

// size is the memory that a record takes, in bytes.
func (r stored) size() int64 { return int64(len(r.form)) + int64(unsafe.Sizeof(r)) }

// inventory is what a store holds when it is opened.
type inventory struct {
	first, next uint64 // the number of the oldest record, and of the one to come
	records     int
	bytes       int64 // of forms
}

// errUnknown is part of an error of write after which what was written may be there
// or not.
var errUnknown = errors.New("it is unknown whether the last change was stored; open the folder again to see")
