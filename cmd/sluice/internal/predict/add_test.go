package predict

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
)

var mine = Curve{
	Source: "me, myself", Machine: `the "big" one`, Version: "Go 1.26", Workload: "one chan", Note: "at night",
	Kind: Shared, Design: ChannelDesign, CPUs: 8, Domain: 4, Points: points(1, 3.25e7, 2, 1e7, 8, 5e6),
}

// points returns points of one repetition, from pairs of a count and a throughput.
func points(pairs ...float64) (all []Point) {
	for pair := range slices.Chunk(pairs, 2) {
		all = append(all, Point{int(pair[0]), pair[1], pair[1], pair[1], 1})
	}
	return all
}

// A curve is added to no file yet, and to a file of any form that can be read: with its
// own names, separator and unit of throughput, with a byte order mark, a malformed row,
// or without a line feed at the end. What it had stays.
func TestAdd(t *testing.T) {
	const labels = "Source;Machine;Version;Workload;Threads;"
	for _, before := range []string{
		"", labels + "ns/op", labels + "OPS\n", labels + "ops_per_s_or_ns;unit\n", header + "\ns,m,v,w,1,1,ops/s,",
		"\ufeff" + header + "\ns,m,v,w,1,1,ops/s,\ns,m,v,w,x,1,ops/s,\n",
	} {
		content := []byte(before)
		if before == "" {
			content = nil
		}
		other := mine
		other.Machine = "another"
		for _, c := range []Curve{mine, other} {
			after, err := Add(content, "f", c)
			if err != nil || !strings.HasPrefix(string(after), strings.TrimSuffix(string(content), "\n")) {
				t.Fatalf("%q: %v\n%s", before, err, after)
			}
			content = after
		}
		got, skipped, err := ReadOwn(content, "f")
		if err != nil || len(got) < 2 || len(skipped) != strings.Count(before, ",x,") {
			t.Fatalf("%q: %+v, skipped %v, %v", before, got, skipped, err)
		}
		for i, want := range []Curve{mine, other} {
			c := got[len(got)-2+i]
			if !c.same(want) || len(c.Points) != 3 || !closeTo(c.Points[2].X, 5e6, 1e-9) {
				t.Errorf("%q: read back %+v, want %+v", before, c, want)
			}
			if before == "" && (c.Note != want.Note || c.Kind != want.Kind || c.Design != want.Design || c.CPUs != want.CPUs || c.Domain != want.Domain) {
				t.Errorf("read back %+v, want %+v", c, want)
			}
		}
	}
}

func TestAddRefuses(t *testing.T) {
	change := func(f func(*Curve)) Curve { c := mine; f(&c); return c }
	full, err := Add(nil, "f", mine)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, content string
		curve         Curve
		is            error
		says          string
	}{
		{"a foreign file", "name,age\nx,3\n", mine, ErrForeign, "no throughput"},
		{"a text", "# Diary\n\nToday, I\n", mine, ErrForeign, "no throughput"},
		{"a broken file", header + "\ns,m,v,w,x,1,ops/s,\n", mine, ErrNoRow, "line 2"},
		{"an empty file", "", mine, ErrForeign, "it is empty"},
		{"twice", string(full), mine, nil, "already has a curve"},
		{"no source", string(full), change(func(c *Curve) { c.Source = "" }), nil, "set -source"},
		{"no machine", string(full), change(func(c *Curve) { c.Machine = "" }), nil, "set -machine"},
		{"no throughput", string(full), change(func(c *Curve) { c.Machine, c.Points = "x", points(1, 1, 2, math.NaN()) }), nil, "cannot store this curve"},
		{"twice but for a space", string(full), change(func(c *Curve) { c.Source += " " }), nil, "already has a curve"},
		{"a source of spaces", string(full), change(func(c *Curve) { c.Source = "  " }), nil, "set -source"},
		{"separate parts as one thing", header + "\n", change(func(c *Curve) { c.Kind = Sharded }), nil, "cannot store this curve as one of kind sharded"},
		{"one count", string(full), change(func(c *Curve) { c.Machine, c.Points = "x", c.Points[:1] }), ErrTooFew, "a curve has at least two"},
	} {
		_, err := Add([]byte(tt.content), "f", tt.curve)
		if err == nil || tt.is != nil && !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: error %v, want one with %q", tt.name, err, tt.says)
		}
	}
}
