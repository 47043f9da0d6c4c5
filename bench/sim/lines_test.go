package sim

import (
	"reflect"
	"strings"
	"testing"
	"unsafe"
)

// The programs of our channels must change the cache lines that the channels change:
// these tests count the lines of the real ones, by comparing memory before and after a
// few operations, and the model's lines.

const lineSize = 64

// memory is the contents of all cache lines that are reachable from a channel, without
// its slots.
type memory map[uintptr][lineSize]byte

// add adds the bytes of one variable.
func (m memory) add(start unsafe.Pointer, size uintptr) {
	for i := range size {
		at := uintptr(start) + i
		line := m[at/lineSize]
		line[at%lineSize] = *(*byte)(unsafe.Add(start, i))
		m[at/lineSize] = line
	}
}

// walk adds what v refers to. Slices of values are slots and are left out.
func (m memory) walk(v reflect.Value, seen map[uintptr]bool) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() || seen[v.Pointer()] {
			return
		}
		seen[v.Pointer()] = true
		if v.Elem().Kind() == reflect.Struct {
			m.add(v.UnsafePointer(), v.Type().Elem().Size())
		}
		m.walk(v.Elem(), seen)
	case reflect.Interface:
		m.walk(v.Elem(), seen)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Pointer {
			for i := range v.Len() {
				m.walk(v.Index(i), seen)
			}
		}
	case reflect.Struct:
		if v.Type().PkgPath() == "sync/atomic" && strings.HasPrefix(v.Type().Name(), "Pointer[") {
			element := v.Type().Field(0).Type.Elem().Elem() // of [0]*T
			if at := v.FieldByName("v").UnsafePointer(); at != nil {
				m.walk(reflect.NewAt(element, at), seen)
			}
			return
		}
		for i := range v.NumField() {
			m.walk(v.Field(i), seen)
		}
	}
}

// changed returns the lines of a channel that f changes.
func changed(channel any, f func()) map[uintptr]bool {
	read := func() memory {
		m := memory{}
		m.walk(reflect.ValueOf(channel), map[uintptr]bool{})
		return m
	}
	return differ(read, f)
}

// hchan returns the memory of a built-in channel: its counters and its wait queues.
func hchan(ch chan uint64) memory {
	m := memory{}
	m.add(*(*unsafe.Pointer)(unsafe.Pointer(&ch)), 96)
	return m
}

func differ(read func() memory, f func()) map[uintptr]bool {
	before := read()
	f()
	lines := map[uintptr]bool{}
	for at, line := range read() {
		if old, ok := before[at]; ok && old != line {
			lines[at] = true
		}
	}
	return lines
}

// modelChanged returns the lines of the model that f changes, on one core.
func modelChanged(t *testing.T, all []*Line, f func(c *Core)) map[uintptr]bool {
	t.Helper()
	before := contentsOf(all)
	perform(t, f)
	return before.changed()
}

// contents is what lines of the model have.
type contents map[*Line]content

type content struct {
	word   uint64
	writes int
}

func contentsOf(all []*Line) contents {
	m := contents{}
	for _, l := range all {
		m[l] = content{l.word, l.writes}
	}
	return m
}

// changed returns the lines that have changed since.
func (m contents) changed() map[uintptr]bool {
	lines := map[uintptr]bool{}
	for l, before := range m {
		if before != (content{l.word, l.writes}) {
			lines[uintptr(unsafe.Pointer(l))] = true
		}
	}
	return lines
}

// perform runs f once, on one core.
func perform(t *testing.T, f func(c *Core)) {
	t.Helper()
	performed := false
	_, err := Run(Machine{}, []Program{func(c *Core) {
		f(c)
		performed = true
		for {
			c.Spin(1)
			c.turn()
		}
	}}, 1e5)
	if err != nil || !performed {
		t.Fatalf("the program did not end: %v", err)
	}
}

func both(a, b map[uintptr]bool) (n int) {
	for at := range a {
		if b[at] {
			n++
		}
	}
	return n
}
