package capture

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

var errNoProfile = errors.New("not a profile")

// A message is the encoded fields of a protocol buffer.
type message []byte

// A decoder reads profile.proto: the fields that a Capture needs, and nothing else, each
// named by its number. It takes everything that it builds from the budget, and stops
// when that is spent or at the first error.
type decoder struct {
	*budget
	Profile
	err error

	kind         kind
	count, value int // which values of a sample; count is -1 without one
	at           time.Time

	types     [][2]string // name and unit of each value of a sample
	strings   []message
	functions map[uint64]Frame
	locations map[uint64]Stack // a frame, and one more for each inlined call
	stack     Stack            // of the last sample
}

// each calls f for each field of m, with an encoded number or the content of what has a
// length. The format has no other fields.
func (d *decoder) each(m message, f func(field int, data message)) {
	for len(m) > 0 && d.err == nil && d.left >= 0 {
		key, n := binary.Uvarint(m)
		field, sized := key>>3, key&7 == 2
		if n <= 0 || field == 0 || field > 32 || key&7 != 0 && !sized { // profile.proto ends at 15
			d.err = errNoProfile
			return
		}
		m = m[n:]
		number, n := binary.Uvarint(m)
		size := uint64(max(n, 0))
		if sized {
			m, size = m[size:], number
		}
		if n <= 0 || size > uint64(len(m)) {
			d.err = errTruncated
			return
		}
		f(int(field), m[:size])
		m = m[size:]
	}
}

// numbers calls f for each number of a field, packed or not.
func (d *decoder) numbers(m message, f func(uint64)) {
	for len(m) > 0 && d.err == nil {
		number, n := binary.Uvarint(m)
		if n <= 0 {
			d.err = errTruncated
			return
		}
		f(number)
		m = m[n:]
	}
}

// record returns the numbers in the first fields of m.
func (d *decoder) record(m message) (numbers [5]uint64) {
	d.each(m, func(field int, data message) {
		if field < len(numbers) {
			numbers[field], _ = binary.Uvarint(data)
		}
	})
	return numbers
}

// text returns a string by its index.
func (d *decoder) text(i uint64) (text string) {
	if i < uint64(len(d.strings)) {
		if d.take(1, len(d.strings[i])); d.left >= 0 {
			text = string(d.strings[i])
		}
	}
	return text
}

// decode reads a profile in pprof format. Its tables may come in any order, so each has a
// pass.
func decode(raw message, b *budget) (part, error) {
	d := &decoder{budget: b, functions: map[uint64]Frame{}, locations: map[uint64]Stack{}}
	for _, table := range []int{6, 1, 5, 4, 2} {
		if table == 5 && d.err == nil && d.left >= 0 {
			d.err = d.choose()
		}
		d.each(raw, func(field int, data message) {
			number, _ := binary.Uvarint(data)
			switch {
			case field == 9 && number > 0:
				d.at = time.Unix(0, int64(number)).UTC()
			case field == 10:
				d.Window = time.Duration(number)
			case field == table:
				d.add(field, data)
			}
		})
	}
	if d.err == nil && d.left >= 0 {
		return partOf(d.kind, d.at, &d.Profile)
	}
	return part{}, cmp.Or(d.err, errCost)
}

// add adds a row to a table.
func (d *decoder) add(table int, m message) {
	switch table {
	case 6:
		d.strings = append(d.strings, m)
		d.take(grown, sliceSize)
	case 1:
		r := d.record(m)
		d.types = append(d.types, [2]string{d.text(r[1]), d.text(r[2])})
		d.take(grown, 2*sliceSize)
	case 5:
		r := d.record(m)
		d.functions[r[1]] = Frame{Function: d.text(r[2]), File: d.text(r[4])}
		d.take(1, entrySize+frameSize)
	case 4:
		var s Stack
		d.each(m, func(field int, data message) {
			if field == 4 {
				line := d.record(data)
				f := d.functions[line[1]]
				f.Line = int(min(line[2], math.MaxInt32))
				s = append(s, f)
				d.take(grown, frameSize)
			}
		})
		d.locations[d.record(m)[1]] = s
		d.take(1, entrySize)
	case 2:
		d.addSample(m)
	}
}

func (d *decoder) addSample(m message) {
	s, column := Sample{}, 0
	d.stack = d.stack[:0]
	d.each(m, func(field int, data message) {
		switch field {
		case 1:
			d.numbers(data, func(id uint64) {
				frames := d.locations[id]
				d.stack = append(d.stack, frames[:min(len(frames), maxFrames-len(d.stack))]...)
			})
		case 2:
			d.numbers(data, func(number uint64) {
				if column == d.count {
					s.Count = int64(number)
				}
				if column == d.value {
					s.Value = int64(number)
				}
				column++
			})
		}
	})
	if column != len(d.types) && d.err == nil && d.left >= 0 {
		d.err = fmt.Errorf("invalid profile: a sample with %d values of %d types", column, len(d.types))
	}
	s.Stack = slices.Clone(d.stack)
	d.Samples = append(d.Samples, s)
	d.take(len(s.Stack), frameSize)
	d.take(1, grown*sampleSize+goroutineSize) // of a dump, later
}
