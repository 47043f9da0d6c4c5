package spill

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
)

// A scan visits the pages in use of a bbolt file, and checks their structure. bbolt does
// the same when it opens a file, but in a goroutine of its own, whose panic would end
// the process; a damaged queue should be an error.
//
// bbolt has used the same file format since 2013. A page begins with its number (8
// bytes), its kind (2), its number of elements (2), and its number of overflow pages
// (4). The elements follow, 16 bytes each. Integers are in native byte order.
type scan struct {
	file     io.ReaderAt
	pageSize int64
	end      uint64 // the number of pages, in use or free
	seen     map[uint64]bool
}

const (
	pageHeader  = 16
	pageElement = 16

	branchPage = 1
	leafPage   = 2

	bucketElement = 1 // flag of a leaf element: its value is a bucket
	bucketHeader  = 16

	metaLength = 64

	maxDepth = 64 // levels of pages; the tree of the largest file has 8
)

var errDamaged = errors.New("damaged")

// scanFile scans a file whose meta pages bbolt has accepted.
func scanFile(file io.ReaderAt, pageSize int) error {
	s := &scan{file: file, pageSize: int64(pageSize), seen: map[uint64]bool{}}
	root, err := s.meta()
	if err == nil {
		err = s.page(root, 0, bounds{})
	}
	return err
}

// meta reads both meta pages, and returns the root page of the newer valid one.
func (s *scan) meta() (root uint64, err error) {
	newest, found := uint64(0), false
	for i := range int64(2) {
		buf := make([]byte, metaLength)
		if _, err := s.file.ReadAt(buf, i*s.pageSize+pageHeader); err != nil {
			return 0, err
		}
		sum := fnv.New64a()
		_, _ = sum.Write(buf[:metaLength-8])
		if binary.NativeEndian.Uint64(buf[metaLength-8:]) != sum.Sum64() {
			continue // torn by a process that died: use the other one
		}
		if id := binary.NativeEndian.Uint64(buf[48:]); !found || id > newest {
			newest, found = id, true
			root, s.end = binary.NativeEndian.Uint64(buf[16:]), binary.NativeEndian.Uint64(buf[40:])
		}
	}
	if !found {
		return 0, fmt.Errorf("%w: no valid meta page", errDamaged)
	}
	return root, nil
}

// bounds limit keys: first <= key < end. Nil means no bound.
type bounds struct{ first, end []byte }

// page scans a page and its children.
func (s *scan) page(id uint64, depth int, keys bounds) error {
	head := make([]byte, pageHeader)
	if id < 2 || id >= s.end || depth > maxDepth {
		return fmt.Errorf("%w: invalid reference to page %d at depth %d (the file has %d pages)", errDamaged, id, depth, s.end)
	}
	if _, err := s.file.ReadAt(head, int64(id)*s.pageSize); err != nil {
		return fmt.Errorf("%w: page %d: %w", errDamaged, id, err)
	}
	more := uint64(binary.NativeEndian.Uint32(head[12:]))
	if binary.NativeEndian.Uint64(head) != id || more >= s.end-id {
		return fmt.Errorf("%w: the header of page %d has number %d and %d overflow pages", errDamaged, id, binary.NativeEndian.Uint64(head), more)
	}
	for i := id; i <= id+more; i++ {
		if s.seen[i] {
			return fmt.Errorf("%w: two references to page %d", errDamaged, i)
		}
		s.seen[i] = true
	}
	page := make([]byte, int64(1+more)*s.pageSize)
	if _, err := s.file.ReadAt(page, int64(id)*s.pageSize); err != nil {
		return fmt.Errorf("%w: page %d: %w", errDamaged, id, err)
	}
	return s.elements(id, page, depth, keys)
}

// elements scans the elements of a page, or of a bucket inside a page.
func (s *scan) elements(id uint64, page []byte, depth int, keys bounds) error {
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
			return fmt.Errorf("%w: element %d of page %d is out of order", errDamaged, i, id)
		}
		if before != nil {
			if err := s.child(id, before, depth, e.key); err != nil {
				return err
			}
		}
		before = &e
	}
	if before == nil {
		return nil
	}
	return s.child(id, before, depth, keys.end)
}

// An element of a branch page has a child page and its first key; an element of a leaf
// page has a key and its value.
type element struct {
	key, value []byte
	bucket     bool   // the value is a bucket
	child      uint64 // of a branch; 0 in a leaf
}

var errPosition = errors.New("invalid position or length")

func elementOf(page []byte, kind uint16, i int) (e element, err error) {
	at := pageHeader + i*pageElement
	fields := page[at : at+pageElement]
	if kind == branchPage {
		position, key := intAt(fields), intAt(fields[4:])
		if e.child = binary.NativeEndian.Uint64(fields[8:]); position+key > len(page)-at || e.child == 0 {
			return e, errPosition
		}
		e.key = page[at+position:][:key]
		return e, nil
	}
	position, key, value := intAt(fields[4:]), intAt(fields[8:]), intAt(fields[12:])
	if position+key+value > len(page)-at {
		return e, errPosition
	}
	e.key, e.value = page[at+position:][:key], page[at+position+key:][:value]
	e.bucket = intAt(fields)&bucketElement != 0
	return e, nil
}

// child scans the child of an element of page id, whose keys are below end.
func (s *scan) child(id uint64, e *element, depth int, end []byte) error {
	if e.child != 0 {
		return s.page(e.child, depth+1, bounds{e.key, end})
	}
	if !e.bucket {
		return nil
	}
	// A bucket has a root page, or is stored inside this page.
	if len(e.value) >= bucketHeader {
		if root := binary.NativeEndian.Uint64(e.value); root != 0 {
			return s.page(root, depth+1, bounds{})
		}
	}
	if len(e.value) < bucketHeader+pageHeader || depth > maxDepth {
		return fmt.Errorf("%w: invalid bucket of %d bytes in page %d", errDamaged, len(e.value), id)
	}
	return s.elements(id, e.value[bucketHeader:], depth+1, bounds{})
}

// intAt returns the length or position at the start of b. Larger values are reduced to
// 1<<29, which exceeds any page, so that the sum of three does not overflow.
func intAt(b []byte) int { return int(min(binary.NativeEndian.Uint32(b), 1<<29)) }
