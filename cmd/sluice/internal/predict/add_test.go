package predict

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var mine = Curve{
	Source: "me, myself", Machine: `the "big" one`, Version: "Go 1.26", Workload: "one chan", Note: "at night",
	Kind: Shared, Design: ChannelDesign, CPUs: 8, Domain: 4, Points: reads(Point{1, 3.25e7}, Point{2, 1e7}, Point{8, 5e6}),
}

// reads returns counts of one repetition.
func reads(points ...Point) (counts []Count) {
	for _, p := range points {
		counts = append(counts, Count{p.Procs, p.X, p.X, p.X, 1})
	}
	return counts
}

func TestAdd(t *testing.T) {
	file := filepath.Join(t.TempDir(), "new", "curves.csv")
	other := mine
	other.Machine = "another"
	for _, c := range []Curve{mine, other} {
		if err := Add(file, c); err != nil {
			t.Fatal(err)
		}
	}
	got, _, err := ReadOwn(file)
	if err != nil || len(got) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	for i, want := range []Curve{mine, other} {
		if c := got[i]; !c.same(want) || c.Note != want.Note || c.Kind != want.Kind || c.Design != want.Design ||
			c.CPUs != want.CPUs || c.Domain != want.Domain || !slices.Equal(c.Points, want.Points) {
			t.Errorf("read back %+v, want %+v", c, want)
		}
	}
	if names, _ := filepath.Glob(filepath.Join(filepath.Dir(file), ".*")); len(names) > 0 {
		t.Errorf("left behind: %v", names)
	}
}

// A curve is added to a file with a byte order mark, and with a malformed row,
// which stays.
func TestAddToOthers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "curves.csv")
	before := "\ufeff" + header + "\ns,m,v,w,1,1,ops/s,\ns,m,v,w,x,1,ops/s,\n"
	if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Add(file, mine); err != nil {
		t.Fatal(err)
	}
	curves, skipped, err := ReadOwn(file)
	if err != nil || len(curves) != 2 || !curves[1].same(mine) || len(skipped) != 1 || skipped[0].Line != 3 {
		t.Errorf("%+v, skipped %v, %v", curves, skipped, err)
	}
}

// A curve is added to a file of any form that can be read, with its own names,
// separator and unit of throughput.
func TestAddToOtherForms(t *testing.T) {
	const labels = "Source;Machine;Version;Workload;Threads;"
	for _, header := range []string{labels + "ns/op", labels + "OPS", labels + "ops_per_s_or_ns;unit"} {
		file := filepath.Join(t.TempDir(), "curves.csv")
		if err := os.WriteFile(file, []byte(header+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := Add(file, mine); err != nil {
			t.Fatal(err)
		}
		curves, _, err := ReadOwn(file)
		if err != nil || len(curves) != 1 || !curves[0].same(mine) || !closeTo(curves[0].Points[2].X, 5e6, 1e-9) {
			t.Errorf("%s: %+v, %v", header, curves, err)
		}
	}
}

// A file keeps its columns, and its last line without a line feed.
func TestAddKeepsTheForm(t *testing.T) {
	file := filepath.Join(t.TempDir(), "curves.csv")
	before := header + "\ns,m,v,w,1,1,ops/s,"
	if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Add(file, mine); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(file)
	if err != nil || !strings.HasPrefix(string(after), before+"\n") || strings.Count(string(after), "\n") != 5 {
		t.Errorf("%v\n%s", err, after)
	}
	if curves, _, err := ReadOwn(file); err != nil || len(curves) != 2 || !curves[1].same(mine) {
		t.Errorf("%+v, %v", curves, err)
	}
}

func TestAddRefuses(t *testing.T) {
	dir := t.TempDir()
	path := func(name, content string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	change := func(f func(*Curve)) Curve { c := mine; f(&c); return c }
	full := filepath.Join(dir, "full.csv")
	if err := Add(full, mine); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, file string
		curve      Curve
		is         error
		says       string
	}{
		{"a foreign file", path("foreign.csv", "name,age\nx,3\n"), mine, ErrForeign, "no throughput"},
		{"a text", path("text", "# Diary\n\nToday, I\n"), mine, ErrForeign, "no throughput"},
		{"a broken file", path("broken.csv", header+"\ns,m,v,w,x,1,ops/s,\n"), mine, ErrNoRow, "line 2"},
		{"an empty file", path("empty.csv", ""), mine, ErrForeign, "it is empty"},
		{"a directory", dir, mine, nil, "directory"},
		{"twice", full, mine, nil, "already has a curve"},
		{"no source", full, change(func(c *Curve) { c.Source = "" }), nil, "set -source"},
		{"no machine", full, change(func(c *Curve) { c.Machine = "" }), nil, "set -machine"},
		{"no throughput", full, change(func(c *Curve) { c.Machine, c.Points = "x", reads(Point{1, 1}, Point{2, math.NaN()}) }), nil, "cannot store this curve"},
		{"twice but for a space", full, change(func(c *Curve) { c.Source += " " }), nil, "already has a curve"},
		{"a source of spaces", full, change(func(c *Curve) { c.Source = "  " }), nil, "set -source"},
		{"separate parts as one thing", path("plain.csv", header+"\n"), change(func(c *Curve) { c.Kind = Sharded }), nil, "cannot store this curve as one of kind sharded"},
		{"one count", full, change(func(c *Curve) { c.Machine, c.Points = "x", c.Points[:1] }), ErrTooFew, "a curve has at least two"},
	}
	for _, tt := range tests {
		before, _ := os.ReadFile(tt.file)
		err := Add(tt.file, tt.curve)
		if err == nil || tt.is != nil && !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: error %v, want one with %q", tt.name, err, tt.says)
		}
		if after, _ := os.ReadFile(tt.file); string(after) != string(before) {
			t.Errorf("%s: the file was changed to %q", tt.name, after)
		}
	}
}
