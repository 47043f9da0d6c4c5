package spill

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
)

// A walk goes over the pages of a bbolt file that are in use, and checks that each is
// where and what it should be. bbolt does so too when it opens a file, but in a
// goroutine of its own, whose panic ends the process: a damaged queue is to be an
// error. It knows the format of the file that bbolt has had since 2013: a page begins
// with its number (8 bytes), its kind (2), the count of its elements (2) and how many
// pages more it has (4), and its elements follow, 16 bytes each; numbers are in the
// order of the machine's bytes.
type scan struct {
	file     io.ReaderAt
	pageSize int64
	end      uint64 // pages below it are in use, or free
	seen     map[uint64]bool
}

const (
	pageHeader  = 16
	pageElement = 16

	branchPage = 1
	leafPage   = 2

	bucketElement = 1 // of a leaf: its value is the root of a bucket, and what counts in it
	bucketHeader  = 16

	metaLength = 64

	deepest = 64 // levels of pages; a tree of the largest file has 8
)

var errDamaged = errors.New("damaged")

// walkFile walks over a file whose meta pages bbolt has found to be right.
func scanFile(file io.ReaderAt, pageSize int) error {
	w := &scan{file: file, pageSize: int64(pageSize), seen: map[uint64]bool{}}
	root, err := w.meta()
	if err == nil {
		err = w.page(root, 0, bounds{})
	}
	return err
}

// meta reads both meta pages, and returns the root of the newer one.
func (w *scan) meta() (root uint64, err error) {
	newest, found := uint64(0), false
	for i := range int64(2) {
		buf := make([]byte, metaLength)
		if _, err := w.file.ReadAt(buf, i*w.pageSize+pageHeader); err != nil {
			return 0, err
		}
		sum := fnv.New64a()
		_, _ = sum.Write(buf[:metaLength-8])
		if binary.NativeEndian.Uint64(buf[metaLength-8:]) != sum.Sum64() {
			continue // half written by a process that died: the other one counts
		}
		if id := binary.NativeEndian.Uint64(buf[48:]); !found || id > newest {
			newest, found = id, true
			root, w.end = binary.NativeEndian.Uint64(buf[16:]), binary.NativeEndian.Uint64(buf[40:])
		}
	}
	if !found {
		return 0, fmt.Errorf("%w: no meta page is right", errDamaged)
	}
	return root, nil
}

// bounds are what keys must not be below, and must be below; nil is no bound.
type bounds struct{ first, end []byte }

// page walks over a page and those below it.
func (w *scan) page(id uint64, depth int, keys bounds) error {
	head := make([]byte, pageHeader)
	if id < 2 || id >= w.end || depth > deepest {
		return fmt.Errorf("%w: page %d at depth %d, of %d", errDamaged, id, depth, w.end)
	}
	if _, err := w.file.ReadAt(head, int64(id)*w.pageSize); err != nil {
		return fmt.Errorf("%w: page %d: %w", errDamaged, id, err)
	}
	more := uint64(binary.NativeEndian.Uint32(head[12:]))
	if binary.NativeEndian.Uint64(head) != id || more >= w.end-id {
		return fmt.Errorf("%w: page %d says that it is page %d, and %d more", errDamaged, id, binary.NativeEndian.Uint64(head), more)
	}
	for i := id; i <= id+more; i++ {
		if w.seen[i] {
			return fmt.Errorf("%w: page %d is used twice", errDamaged, i)
		}
		w.seen[i] = true
	}
	page := make([]byte, int64(1+more)*w.pageSize)
	if _, err := w.file.ReadAt(page, int64(id)*w.pageSize); err != nil {
		return fmt.Errorf("%w: page %d: %w", errDamaged, id, err)
	}
	return w.elements(id, page, depth, keys)
}

// elements walks over what is in a page, or in a bucket that is part of one.
func (w *scan) elements(id uint64, page []byte, depth int, keys bounds) error {
	kind, count := binary.NativeEndian.Uint16(page[8:]), int(binary.NativeEndian.Uint16(page[10:]))
	if kind != branchPage && kind != leafPage || pageHeader+count*pageElement > len(page) || kind == branchPage && count == 0 {
		return fmt.Errorf("%w: page %d has kind %#x and %d elements", errDamaged, id, kind, count)
	}
	var before *element
	for i := range count {
		e, err := elementOf(page, kind, i)
		if err != nil {
			return fmt.Errorf("%w: element %d of page %d: %w", errDamaged, i, id, err)
		}
		if before == nil && bytes.Compare(e.key, keys.first) < 0 ||
			before != nil && bytes.Compare(e.key, before.key) <= 0 ||
			keys.end != nil && bytes.Compare(e.key, keys.end) >= 0 {
			return fmt.Errorf("%w: element %d of page %d is not in order", errDamaged, i, id)
		}
		if before != nil {
			if err := w.below(id, before, depth, e.key); err != nil {
				return err
			}
		}
		before = &e
	}
	if before == nil {
		return nil
	}
	return w.below(id, before, depth, keys.end)
}

// An element is one of a page: of a branch, the first key of the page that it leads
// to; of a leaf, a key and its value.
type element struct {
	key, value []byte
	bucket     bool   // the value is one
	child      uint64 // not 0 in a branch
}

var errOutside = errors.New("outside of its page")

func elementOf(page []byte, kind uint16, i int) (e element, err error) {
	at := pageHeader + i*pageElement
	fields := page[at : at+pageElement]
	if kind == branchPage {
		position, key := intAt(fields), intAt(fields[4:])
		if e.child = binary.NativeEndian.Uint64(fields[8:]); position+key > len(page)-at || e.child == 0 {
			return e, errOutside
		}
		e.key = page[at+position:][:key]
		return e, nil
	}
	position, key, value := intAt(fields[4:]), intAt(fields[8:]), intAt(fields[12:])
	if position+key+value > len(page)-at {
		return e, errOutside
	}
	e.key, e.value = page[at+position:][:key], page[at+position+key:][:value]
	e.bucket = intAt(fields)&bucketElement != 0
	return e, nil
}

// below walks over what an element of page id leads to, whose keys are below end.
func (w *scan) below(id uint64, e *element, depth int, end []byte) error {
	if e.child != 0 {
		return w.page(e.child, depth+1, bounds{e.key, end})
	}
	if !e.bucket {
		return nil
	}
	// A bucket has pages of its own, or is part of this one.
	if len(e.value) >= bucketHeader {
		if root := binary.NativeEndian.Uint64(e.value); root != 0 {
			return w.page(root, depth+1, bounds{})
		}
	}
	if len(e.value) < bucketHeader+pageHeader || depth > deepest {
		return fmt.Errorf("%w: a bucket of %d bytes in page %d", errDamaged, len(e.value), id)
	}
	return w.elements(id, e.value[bucketHeader:], depth+1, bounds{})
}

// number32 is a length or a position: at most a quarter of what an int holds, or more
// than any page has.
func intAt(b []byte) int { return int(min(binary.NativeEndian.Uint32(b), 1<<29)) }
