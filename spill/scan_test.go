package spill

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// pages is a bbolt file in memory.
type pages []byte

func (p pages) page(id uint64) []byte { return p[id*4096:][:4096] }

// element returns the 16 bytes of element i of a page.
func (p pages) element(id uint64, i int) []byte {
	return p.page(id)[pageHeader+i*pageElement:][:pageElement]
}

// key returns the key of element i of a leaf.
func (p pages) key(t *testing.T, id uint64, i int) []byte {
	t.Helper()
	e, err := elementOf(p.page(id), leafPage, i)
	if err != nil {
		t.Fatal(err)
	}
	return e.key
}

func (p pages) count(id uint64) int { return int(binary.NativeEndian.Uint16(p.page(id)[10:])) }

// TestScanFinds: every kind of damage to a page is found and reported.
func TestScanFinds(t *testing.T) {
	dir, large := oldQueueOf(t, 500), []byte{6: 9, 7: 9} // the last record spans several pages
	about(t, dir, func(tx *bolt.Tx) error { return tx.Bucket(recordsBucket).Put(large, make([]byte, 3*4096)) })
	file, err := os.ReadFile(filepath.Join(dir, queueFile))
	if err != nil {
		t.Fatal(err)
	}
	whole := pages(file)
	w := &scan{file: bytes.NewReader(whole), pageSize: 4096}
	root, err := w.meta()
	if err != nil {
		t.Fatal(err)
	}
	// The transaction ID of a meta page, not its position, shows which one is newer.
	swapped := pages(bytes.Clone(whole))
	copy(swapped[pageHeader:][:metaLength], whole[4096+pageHeader:])
	copy(swapped[4096+pageHeader:][:metaLength], whole[pageHeader:])
	if other, err := (&scan{file: bytes.NewReader(swapped), pageSize: 4096}).meta(); other != root || err != nil {
		t.Errorf("the root is page %d, and %d if the meta pages change places: %v", root, other, err)
	}
	// The root has two buckets: the records, in pages of their own, and the metadata, inside.
	records, err := elementOf(whole.page(root), leafPage, 0)
	if err != nil || string(records.key) != string(recordsBucket) {
		t.Fatalf("%q, %v", records.key, err)
	}
	branch := binary.NativeEndian.Uint64(records.value)
	child := func(i int) uint64 { return binary.NativeEndian.Uint64(whole.element(branch, i)[8:]) }
	first, second := child(0), child(1)
	last := child(whole.count(branch) - 1)
	if more := whole.page(last)[12]; more == 0 {
		t.Fatal("the last page is one, not several")
	}

	put16, put32, put64 := binary.NativeEndian.PutUint16, binary.NativeEndian.PutUint32, binary.NativeEndian.PutUint64
	for _, test := range []struct {
		what, says string
		spoil      func(p pages)
	}{
		{"an intact file", "", func(pages) {}},
		{"a meta page that was half written", "", func(p pages) { p[4096+pageHeader+20] ^= 1 }},
		{"the other one that was", "", func(p pages) { p[pageHeader+20] ^= 1 }},
		{"both meta pages", "no valid meta page", func(p pages) { p[pageHeader+20] ^= 1; p[4096+pageHeader+20] ^= 1 }},
		{"a page that is a meta page", "page 1 at depth", func(p pages) { put64(p.element(branch, 0)[8:], 1) }},
		{"a page beyond the end", "at depth", func(p pages) { put64(p.element(branch, 0)[8:], w.end) }},
		{"a page with the number of another", "has number", func(p pages) { p.page(first)[0]++ }},
		{"a page whose overflow pages exceed the file", "overflow pages", func(p pages) { put32(p.page(first)[12:], uint32(w.end-first)) }},
		{"a page in two places", "two references to page", func(p pages) { put64(p.element(branch, 1)[8:], first) }},
		{"a page inside another", "two references to page", func(p pages) {
			inside := p.page(last + 1)
			put64(inside, last+1)
			put16(inside[8:], leafPage)
			put64(p.element(branch, 0)[8:], last+1)
		}},
		{"a page below itself", "two references to page", func(p pages) { put64(p.element(branch, 0)[8:], branch) }},
		{"an unknown kind", "has kind", func(p pages) { put16(p.page(first)[8:], 0x10) }},
		{"more elements than fit", "elements", func(p pages) { put16(p.page(first)[10:], 256) }},
		{"a branch without elements", "0 elements", func(p pages) { put16(p.page(branch)[10:], 0) }},
		{"a key twice", "element 1 of page", func(p pages) { copy(p.key(t, first, 1), p.key(t, first, 0)) }},
		{"a key before its page", "element 0 of page", func(p pages) { clear(p.key(t, second, 0)) }},
		{"a key of the next page", "is out of order", func(p pages) {
			copy(p.key(t, first, p.count(first)-1), p.key(t, second, 0))
		}},
		{"a leaf's value outside", "invalid position", func(p pages) { put32(p.element(first, 0)[12:], 4096) }},
		{"a leaf's value just outside", "invalid position", func(p pages) {
			e := p.element(first, 0)
			put32(e[12:], uint32(4096-pageHeader-intAt(e[4:])-intAt(e[8:])+1))
		}},
		{"a branch's key outside", "invalid position", func(p pages) { put32(p.element(branch, 0), 4090) }},
		{"a branch that leads to page 0", "invalid position", func(p pages) { put64(p.element(branch, 1)[8:], 0) }},
		{"the last page", "has kind", func(p pages) { put16(p.page(last)[8:], 0) }},
		{"a bucket cut short", "invalid bucket of 20 bytes", func(p pages) { put32(p.element(root, 1)[12:], 20) }},
		{"a bucket of nothing", "invalid bucket of 8 bytes", func(p pages) { put32(p.element(root, 0)[12:], 8) }},
		{"a bucket inside", "has kind", func(p pages) {
			e, err := elementOf(p.page(root), leafPage, 1)
			if err != nil {
				t.Fatal(err)
			}
			put16(e.value[bucketHeader+8:], 0)
		}},
	} {
		spoilt := pages(bytes.Clone(whole))
		test.spoil(spoilt)
		err := scanFile(bytes.NewReader(spoilt), 4096)
		if test.says == "" {
			if err != nil {
				t.Errorf("%s: %v", test.what, err)
			}
		} else if !errors.Is(err, errDamaged) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v, want %q", test.what, err, test.says)
		}
	}
	for _, n := range []uint64{root * 4096, root*4096 + pageHeader + 1} {
		if err := scanFile(bytes.NewReader(whole[:n]), 4096); !errors.Is(err, errDamaged) || !errors.Is(err, io.EOF) {
			t.Errorf("a file that ends in the middle: %v", err)
		}
	}
	w.seen = map[uint64]bool{}
	if err := w.page(branch, 0, bounds{end: large}); !errors.Is(err, errDamaged) {
		t.Errorf("the last key belongs to the next page: %v", err)
	}
}

// TestScanDeep: the scan does not follow a chain of pages, or of nested buckets,
// without limit.
func TestScanDeep(t *testing.T) {
	chain := make(pages, 4096*(maxDepth+10))
	end := uint64(len(chain) / 4096)
	for id := uint64(2); id < end; id++ {
		head, e := chain.page(id), chain.element(id, 0)
		binary.NativeEndian.PutUint64(head, id)
		binary.NativeEndian.PutUint16(head[8:], branchPage)
		binary.NativeEndian.PutUint16(head[10:], 1)
		binary.NativeEndian.PutUint64(e[8:], id+1)
	}
	w := &scan{file: bytes.NewReader(chain), pageSize: 4096, end: end, seen: map[uint64]bool{}}
	if err := w.page(2, 0, bounds{}); !errors.Is(err, errDamaged) || !strings.Contains(err.Error(), "at depth 65") {
		t.Errorf("a chain of pages: %v", err)
	}
	bucket := &element{bucket: true, value: make([]byte, bucketHeader+pageHeader)}
	binary.NativeEndian.PutUint16(bucket.value[bucketHeader+8:], leafPage)
	for depth, whole := range map[int]bool{maxDepth: true, maxDepth + 1: false} {
		if err := w.child(2, bucket, depth, nil); (err == nil) != whole {
			t.Errorf("a bucket at depth %d: %v", depth, err)
		}
	}
}
