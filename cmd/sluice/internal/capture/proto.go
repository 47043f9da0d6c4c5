package capture

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"
)

var errNoProfile = errors.New("not a profile")

// A message is the encoded fields of a protocol buffer.
type message []byte

// each calls f for each field, with the number of a varint or the content of a field
// that has a length.
func (m message) each(f func(field int, n uint64, data message) error) error {
	for len(m) > 0 {
		key, size := binary.Uvarint(m)
		if field := key >> 3; size <= 0 || field == 0 || field > 32 { // profile.proto ends at 15
			return errNoProfile
		}
		m = m[size:]
		var n uint64
		var data message
		switch key & 7 {
		case 0:
			n, size = binary.Uvarint(m)
		case 1:
			size = 8
		case 5:
			size = 4
		case 2:
			if n, size = binary.Uvarint(m); size <= 0 || n > uint64(len(m)-size) {
				return errTruncated
			}
			data, size = m[size:size+int(n)], size+int(n)
		default:
			return errNoProfile
		}
		if size <= 0 || size > len(m) {
			return errTruncated
		}
		if err := f(int(key>>3), n, data); err != nil {
			return err
		}
		m = m[size:]
	}
	return nil
}

// numbers calls f for each number of a repeated field, packed or not.
func (m message) numbers(field int, f func(uint64)) error {
	return m.each(func(number int, n uint64, data message) error {
		if number == field && data == nil {
			f(n)
		}
		for number == field && len(data) > 0 {
			n, size := binary.Uvarint(data)
			if size <= 0 {
				return errTruncated
			}
			f(n)
			data = data[size:]
		}
		return nil
	})
}

// number returns the last value of a field; 0 without one.
func (m message) number(field int) (value uint64) {
	_ = m.numbers(field, func(n uint64) { value = n })
	return value
}

// A decoder reads profile.proto: the fields that a Capture needs, and nothing else, each
// named by its number. It takes everything that it builds from the budget.
type decoder struct {
	*budget
	Profile
	columns
	types     [][2]string // name and unit of each value of a sample
	strings   []message
	used      map[uint64]string // strings that were converted, by index
	functions map[uint64]Frame
	locations map[uint64]Stack             // a frame, and one more for each inlined call
	labels    map[string]map[string]string // by their encoding: many samples have the same
}

// decode reads a profile. Its tables may come in any order.
func decode(raw message, b *budget) (*Profile, columns, error) {
	d := decoder{
		budget: b, used: map[uint64]string{}, functions: map[uint64]Frame{},
		locations: map[uint64]Stack{}, labels: map[string]map[string]string{},
	}
	for _, table := range []struct {
		field int // 0 for all
		read  func(field int, n uint64, data message) error
	}{{0, d.addString}, {1, d.addType}, {5, d.addFunction}, {4, d.addLocation}, {2, d.addSample}} {
		if table.field == 5 {
			if err := d.choose(d.types); err != nil {
				return nil, d.columns, err
			}
		}
		if err := raw.each(func(field int, n uint64, data message) error {
			if table.field != 0 && field != table.field {
				return nil
			}
			return table.read(field, n, data)
		}); err != nil {
			return nil, d.columns, err
		}
	}
	return &d.Profile, d.columns, nil
}

// addString also reads the numbers of the profile.
func (d *decoder) addString(field int, n uint64, text message) error {
	switch {
	case field == 6:
		d.strings = append(d.strings, text)
		return d.take(grown, sliceSize)
	case field == 9 && n > 0:
		d.at = time.Unix(0, int64(n)).UTC()
	case field == 10:
		d.Window = time.Duration(n)
	case field == 12:
		d.Period = int64(n)
	}
	return nil
}

// texts returns the strings that two fields refer to.
func (d *decoder) texts(m message, fields ...int) (found [2]string) {
	for at, field := range fields {
		i := m.number(field)
		s, known := d.used[i]
		if !known && i < uint64(len(d.strings)) {
			s = string(d.strings[i])
			d.used[i] = s
			_ = d.take(1, len(s)+entrySize)
		}
		found[at] = s
	}
	return found
}

func (d *decoder) addType(_ int, _ uint64, m message) error {
	d.types = append(d.types, d.texts(m, 1, 2))
	return d.take(2*grown, stringSize)
}

func (d *decoder) addFunction(_ int, _ uint64, m message) error {
	t := d.texts(m, 2, 4)
	d.functions[m.number(1)] = Frame{Function: t[0], File: t[1]}
	return d.take(1, entrySize+frameSize)
}

func (d *decoder) addLocation(_ int, _ uint64, m message) error {
	var s Stack
	err := m.each(func(field int, _ uint64, line message) error {
		if field != 4 {
			return nil
		}
		f := d.functions[line.number(1)]
		if n := line.number(2); n <= math.MaxInt32 {
			f.Line = int(n)
		}
		s = append(s, f)
		return d.take(grown, frameSize)
	})
	d.locations[m.number(1)] = s
	return cmp.Or(err, d.take(1, entrySize))
}

func (d *decoder) addSample(_ int, _ uint64, m message) error {
	var s Sample
	column, depth := 0, 0
	err := cmp.Or(m.numbers(2, func(v uint64) {
		if column == d.count {
			s.Count = int64(v)
		}
		if column == d.value {
			s.Value = int64(v)
		}
		column++
	}), m.numbers(1, func(id uint64) { depth = min(depth+len(d.locations[id]), maxFrames) }))
	if err == nil && column != len(d.types) {
		err = fmt.Errorf("invalid profile: a sample with %d values of %d types", column, len(d.types))
	}
	if err = cmp.Or(err, d.take(depth, frameSize)); err != nil {
		return err
	}
	s.Stack = make(Stack, 0, depth)
	_ = m.numbers(1, func(id uint64) {
		frames := d.locations[id]
		s.Stack = append(s.Stack, frames[:min(len(frames), depth-len(s.Stack))]...)
	})
	var labels []byte // with the length of each in front
	_ = m.each(func(field int, _ uint64, label message) error {
		if field == 3 && len(label) < 128 && len(labels) < maxLabels { // a label is two or more small numbers
			labels = append(append(labels, byte(len(label))), label...)
		}
		return nil
	})
	s.Labels = d.labelsIn(labels)
	d.Samples = append(d.Samples, s)
	return d.take(grown, sampleSize)
}

// labelsIn returns the labels with a text.
func (d *decoder) labelsIn(encoded message) map[string]string {
	labels, known := d.labels[string(encoded)]
	if known || len(encoded) == 0 {
		return labels
	}
	labels = map[string]string{}
	for rest := encoded; len(rest) > 0; rest = rest[1+rest[0]:] {
		if t := d.texts(rest[1:1+rest[0]], 1, 2); t[1] != "" { // others are numbers
			labels[t[0]] = t[1]
		}
	}
	d.labels[string(encoded)] = labels
	_ = d.take(1, mapSize+len(encoded)+len(labels)*entrySize)
	return labels
}
