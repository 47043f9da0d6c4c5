package spill

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// pages is a file of bbolt in memory.
type pages []byte

func (p pages) page(id uint64) []byte { return p[id*4096:][:4096] }

// element returns the 16 bytes that say where element i of a page is.
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

// TestWalkFinds: each thing that can be wrong with a page is found, and said.
func TestWalkFinds(t *testing.T) {
	file, err := os.ReadFile(filepath.Join(queueOf(t, 500), queueFile))
	if err != nil {
		t.Fatal(err)
	}
	whole := pages(file)
	w := &walk{file: bytes.NewReader(whole), pageSize: 4096}
	root, err := w.meta()
	if err != nil {
		t.Fatal(err)
	}
	// The root has two buckets: the records, in pages of their own, and about, inside.
	records, err := elementOf(whole.page(root), leafPage, 0)
	if err != nil || string(records.key) != string(recordsBucket) {
		t.Fatalf("%q, %v", records.key, err)
	}
	branch := binary.NativeEndian.Uint64(records.value)
	child := func(i int) uint64 { return binary.NativeEndian.Uint64(whole.element(branch, i)[8:]) }
	first, second := child(0), child(1)
	last := child(whole.count(branch) - 1)

	put16, put32, put64 := binary.NativeEndian.PutUint16, binary.NativeEndian.PutUint32, binary.NativeEndian.PutUint64
	for _, test := range []struct {
		what, says string
		spoil      func(p pages)
	}{
		{"nothing", "", func(pages) {}},
		{"a meta page that was half written", "", func(p pages) { p[4096+pageHeader+20] ^= 1 }},
		{"both meta pages", "no meta page is right", func(p pages) { p[pageHeader+20] ^= 1; p[4096+pageHeader+20] ^= 1 }},
		{"a page that is a meta page", "page 1 at depth", func(p pages) { put64(p.element(branch, 0)[8:], 1) }},
		{"a page beyond the end", "at depth", func(p pages) { put64(p.element(branch, 0)[8:], w.end) }},
		{"a page that says it is another", "says that it is page", func(p pages) { p.page(first)[0]++ }},
		{"a page that goes on beyond the end", "more", func(p pages) { put32(p.page(first)[12:], uint32(w.end-first)) }},
		{"a page in two places", "is used twice", func(p pages) { put64(p.element(branch, 1)[8:], first) }},
		{"a page below itself", "is used twice", func(p pages) { put64(p.element(branch, 0)[8:], branch) }},
		{"a kind that there is not", "has kind", func(p pages) { put16(p.page(first)[8:], 0x10) }},
		{"more elements than there is room for", "elements", func(p pages) { put16(p.page(first)[10:], 256) }},
		{"a branch without any", "0 elements", func(p pages) { put16(p.page(branch)[10:], 0) }},
		{"a key twice", "element 1 of page", func(p pages) { copy(p.key(t, first, 1), p.key(t, first, 0)) }},
		{"a key before its page", "element 0 of page", func(p pages) { clear(p.key(t, second, 0)) }},
		{"a key of the next page", "is not in order", func(p pages) {
			copy(p.key(t, first, p.count(first)-1), p.key(t, second, 0))
		}},
		{"a leaf's value outside", "outside of its page", func(p pages) { put32(p.element(first, 0)[12:], 4096) }},
		{"a leaf's value just outside", "outside of its page", func(p pages) {
			e := p.element(first, 0)
			put32(e[12:], uint32(4096-pageHeader-number32(e[4:])-number32(e[8:])+1))
		}},
		{"a branch's key outside", "outside of its page", func(p pages) { put32(p.element(branch, 0), 4090) }},
		{"a branch that leads to page 0", "outside of its page", func(p pages) { put64(p.element(branch, 1)[8:], 0) }},
		{"the last page", "has kind", func(p pages) { put16(p.page(last)[8:], 0) }},
		{"a bucket cut short", "a bucket of 20 bytes", func(p pages) { put32(p.element(root, 1)[12:], 20) }},
		{"a bucket of nothing", "a bucket of 8 bytes", func(p pages) { put32(p.element(root, 0)[12:], 8) }},
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
		err := walkFile(bytes.NewReader(spoilt), 4096)
		if test.says == "" {
			if err != nil {
				t.Errorf("%s: %v", test.what, err)
			}
		} else if !errors.Is(err, errDamaged) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v, want %q", test.what, err, test.says)
		}
	}
	if err := walkFile(bytes.NewReader(whole[:second*4096]), 4096); err == nil {
		t.Error("a file that ends in the middle: no error")
	}
}
